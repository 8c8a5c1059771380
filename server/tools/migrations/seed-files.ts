// The files beside the folder of migrations: seeds, and the roles of a project of Supabase.
import { existsSync } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path'
import { parseToml, tomlSection } from '../../text/toml.ts'
import { CommandError } from '../command-line/command-error.ts'

export type Seeds = {
  /** Paths of the files that exist, in the order in which they are applied. */
  readonly files: readonly string[]
  /** Sentences about names for which there is no file. */
  readonly notes: readonly string[]
}

/**
 * Finds the seeds beside a folder of migrations. That is `seed.sql`; in a folder `supabase`, what the section `[db.seed]` of
 * `config.toml` names: paths relative to that folder, in which `*`, `?` and `[…]` stand for other characters.
 * https://supabase.com/docs/guides/local-development/seeding-your-database
 *
 * @throws CommandError when `config.toml` cannot be read
 */
export async function findSeeds(migrations: string): Promise<Seeds> {
  const folder = dirname(migrations)
  // Elsewhere, `config.toml` belongs to some other program.
  const configFile = isOfSupabase(migrations) ? join(folder, 'config.toml') : undefined
  const patterns = configFile === undefined ? undefined : await readPatterns(configFile)
  const [files, notes] = [new Set<string>(), [] as string[]]
  for (const pattern of patterns ?? [usualSeed]) {
    const found = await expand(folder, pattern)
    // Supabase writes the usual name into each new project.
    if (found.length === 0 && join(pattern) !== usualSeed) notes.push(`${configFile}: there is no seed ${pattern}.`)
    for (const path of found) files.add(path)
  }
  return { files: [...files], notes }
}

/** The path of `roles.sql` of a project of Supabase, if there is one. It is applied before the migrations. */
export function findRoles(migrations: string): string | undefined {
  const path = join(dirname(migrations), 'roles.sql')
  return isOfSupabase(migrations) && existsSync(path) ? path : undefined
}

/** The name of a seed in the record: its path from the folder that the migrations are in. */
export const seedName = (migrations: string, path: string): string =>
  relative(dirname(resolve(migrations)), resolve(path)).replaceAll('\\', '/')

const usualSeed = 'seed.sql'

/** Whether a folder of migrations is that of a project of Supabase: `supabase/migrations`. */
export const isOfSupabase = (migrations: string): boolean => basename(dirname(resolve(migrations))) === 'supabase'

/** Names of the seeds, or undefined if the file names none. */
async function readPatterns(path: string): Promise<readonly string[] | undefined> {
  if (!existsSync(path)) return undefined
  const document = await parseToml(path, await readFile(path, 'utf8'), failed)
  const { enabled = true, sql_paths: paths } = tomlSection(path, document, ['db', 'seed'], failed)
  if (typeof enabled !== 'boolean') throw new CommandError(`${path}: enabled in [db.seed] is true or false.`)
  if (paths !== undefined && !(Array.isArray(paths) && paths.every((it): it is string => typeof it === 'string'))) {
    throw new CommandError(`${path}: sql_paths in [db.seed] is a list of paths, such as ["./seed.sql"].`)
  }
  return enabled ? paths : []
}

const failed = (message: string, cause?: unknown): Error => new CommandError(message, { cause })

/** The files that a pattern names, in the order of their names. */
async function expand(folder: string, pattern: string): Promise<readonly string[]> {
  let found = [isAbsolute(pattern) ? '/' : folder]
  for (const part of pattern.split('/').filter((it) => it !== '' && it !== '.')) {
    const next = await Promise.all(found.map((path) => matching(path, part)))
    found = next.flat()
  }
  const files = await Promise.all(found.map(async (path) => ((await stat(path)).isFile() ? [path] : [])))
  return files.flat().sort()
}

async function matching(folder: string, part: string): Promise<readonly string[]> {
  if (!/[*?[\\]/.test(part)) return existsSync(join(folder, part)) ? [join(folder, part)] : []
  const names = await readdir(folder).catch(() => [])
  const expression = expressionOf(part)
  return names.filter((name) => expression.test(name)).map((name) => join(folder, name))
}

/** The regular expression of a part between slashes. */
const expressionOf = (part: string): RegExp =>
  new RegExp(
    `^${part.replace(/\*+|\?|\[\^?[^\]]+\]|\\.|[^]/gu, (symbol) => {
      if (symbol.startsWith('*')) return '.*'
      if (symbol === '?') return '.'
      if (symbol.length > 2 && symbol.startsWith('[')) return symbol.replaceAll('\\', '\\\\')
      return symbol.replace(/^\\(?=.)/u, '').replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')
    })}$`,
    'su',
  )
