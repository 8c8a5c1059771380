// The files of a folder of migrations: plain SQL, named by a number or a timestamp.
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { splitStatements, type SqlStatement } from '../../text/sql-statements.ts'
import { CommandError } from '../command-line/command-error.ts'

/** A file with SQL statements: a migration or a seed. */
export type SqlFile = {
  /** File name without folders. */
  readonly name: string
  /** Path for messages, relative to the working folder if the folder was given so. */
  readonly path: string
  /** Whole text, without a byte order mark. */
  readonly text: string
  readonly statements: readonly SqlStatement[]
  /** Whether each statement runs by itself: a comment `-- migrate:no-transaction` before the first statement. */
  readonly withoutTransaction: boolean
}

export type MigrationFile = SqlFile & {
  /** The number of the file, without leading zeros. */
  readonly version: string
}

export type MigrationFolder = {
  /** In the order of their numbers. */
  readonly files: readonly MigrationFile[]
  /** Names of SQL files that are not migrations. */
  readonly ignored: readonly string[]
}

const named = /^(\d+)(?:[_.-].*)?\.sql$/
const noTransaction = /^--[ \t]*migrate:no-transaction[ \t\r]*$/m
/** Markers of other tools that put statements to undo a migration into the same file. */
const undoMarker = /^--[ \t]*(?:migrate:down|\+goose Down|rollback:?|Down Migration)[ \t\r]*$/im

/**
 * Reads the migrations of a folder. Other files and subfolders are not read.
 *
 * @throws CommandError when the folder cannot be read, two files have the same number, or a file is no text
 */
export async function readMigrations(folder: string): Promise<MigrationFolder> {
  const names = (await readFolder(folder)).filter((name) => name.endsWith('.sql')).sort()
  const [files, ignored]: [MigrationFile[], string[]] = [[], []]
  for (const name of names) {
    // Other tools keep a file to undo a migration beside it.
    const version = name.endsWith('.down.sql') ? undefined : named.exec(name)?.[1]
    if (version === undefined) ignored.push(name)
    else files.push({ ...(await readSqlFile(join(folder, name))), version: version.replace(/^0+(?=\d)/, '') })
  }
  files.sort((a, b) => compareVersions(a.version, b.version))
  for (const [index, file] of files.entries()) {
    const before = files[index - 1]
    if (before?.version === file.version) {
      throw new CommandError(`${before.path} and ${file.name} have the same number: rename one of them.`)
    }
    const marker = undoMarker.exec(file.text)
    if (marker) {
      const line = lineOf(file.text, marker.index)
      throw new CommandError(
        `${file.path}:${line}: the file has statements to undo it after "${marker[0].trim()}". ` +
          'Migrations have one direction here: remove that part.',
      )
    }
  }
  return { files, ignored }
}

async function readFolder(folder: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name)
  } catch (error) {
    // A new project of Supabase does not have it yet.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && existsSync(join(dirname(folder), 'config.toml')))
      return []
    throw new CommandError(`The folder of migrations cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

/**
 * Reads a file and splits it into its statements.
 *
 * @throws CommandError when it is no UTF-8 text
 */
export async function readSqlFile(path: string): Promise<SqlFile> {
  const bytes = await readFile(path)
  let text: string
  try {
    // Removes a byte order mark.
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (error) {
    throw new CommandError(`${path} is not UTF-8 text.`, { cause: error })
  }
  const nul = text.indexOf('\0')
  if (nul !== -1) throw new CommandError(`${path}:${lineOf(text, nul)}: the file has the character NUL.`)
  const statements = splitStatements(text)
  const head = text.slice(0, statements[0]?.start)
  return { name: basename(path), path, text, statements, withoutTransaction: noTransaction.test(head) }
}

/** Compares numbers of any length. */
export const compareVersions = (a: string, b: string): number => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)

/** Number of the line of a character, from 1. */
export const lineOf = (text: string, index: number): number => text.slice(0, index).split('\n').length

/**
 * SHA-256 of the first statements, in hexadecimal. Comments and blanks between statements, and the line ends of the system,
 * do not matter.
 */
export function checksumOf({ statements }: Pick<SqlFile, 'statements'>, count = statements.length): string {
  const texts = statements.slice(0, count).map(({ text, rows = '' }) => [unix(text), unix(rows)])
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex')
}

const unix = (text: string): string => text.replaceAll('\r\n', '\n')
