// Restores a dump in plain SQL, as `rowhouse dump` or pg_dump writes it, in one transaction.
import { runSimple, type CopyRows } from '../../postgres/connection/simple-statement.ts'
import type { Client } from '../../postgres/connection/client.ts'
import { SqlSplitter } from '../../text/sql-splitter.ts'
import { unavailableStandIn } from '../migrations/stand-in-extensions.ts'
import { dumpEnd, dumpHeader } from './dump.ts'
import { LineReader } from './line-reader.ts'
import { emptyingSql, occupantsSql } from './restore-sql.ts'

/** The file or the database does not allow it. Nothing was changed. */
export class RestoreError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'RestoreError'
  }
}

export type RestoreOptions = {
  /** The bytes of the file. */
  readonly input: AsyncIterable<Buffer>
  /** Name of the file, for messages. */
  readonly file: string
  /** Drops what is in the database. Otherwise it must be empty. */
  readonly replace: boolean
  /** Receives a sentence for each statement that is left out. */
  readonly onNotice?: (message: string) => void
}

export type RestoreCounts = { readonly statements: number; readonly rows: number }

/** pg_dump's header is preceded by a line with two hyphens only, and its end is the last line but a few. */
const pgDumpHeader = '-- PostgreSQL database dump'
const pgDumpEnd = '-- PostgreSQL database dump complete'
const headerLines = 10

/** Bytes of rows per message to the server. */
const batchSize = 64 * 1024

const transactionControl =
  /^(?:begin|start\s+transaction|commit|end|rollback|abort|savepoint|release|prepare\s+transaction)\b/i
const copyFromInput = /^copy\b[^]*\bfrom\s+stdin\b/i
/** The setting exists from PostgreSQL 17 on, and pg_dump sets it for every server. */
const newSetting = /^set transaction_timeout\b/i

/**
 * Restores a dump. Either everything is restored, or nothing is changed.
 *
 * @param client a connection without a transaction, whose role may create everything. Do not use it afterwards
 * @throws RestoreError with the line of the file
 */
export async function restoreDatabase(client: Client, options: RestoreOptions): Promise<RestoreCounts> {
  const { file, replace } = options
  const lines = new LineReader(options.input)
  const head = await readHead(lines, file)
  const { rows } = await client.query<{ version: number }>(
    "select current_setting('server_version_num')::integer as version",
  )
  await client.query('begin')
  try {
    if (replace) await client.query(emptyingSql)
    else await requireEmpty(client)
    const run = new Restoring(client, lines, options, rows[0]?.version ?? 0)
    const counts = await run.run(head)
    // Until autovacuum did so, the planner would know nothing of the rows.
    await client.query('analyze')
    await client.query("notify pgrst, 'reload schema'")
    await client.query('commit')
    return counts
  } catch (error) {
    await client.query('rollback').catch(() => undefined)
    throw error
  }
}

async function requireEmpty(client: Client): Promise<void> {
  const { rows } = await client.query<{ name: string }>(occupantsSql)
  if (rows.length === 0) return
  const names = rows.slice(0, 3).map(({ name }) => name)
  const more = rows.length > names.length ? ' and more' : ''
  throw new RestoreError(
    `The database is not empty: it has ${names.join(', ')}${more}. ` +
      'Restore into an empty database, or use --replace to drop everything in it first.',
  )
}

type Head = { readonly lines: readonly Buffer[]; readonly end: string }

/** The first lines, which say what the file is. */
async function readHead(reader: LineReader, file: string): Promise<Head> {
  const lines: Buffer[] = []
  while (lines.length < headerLines) {
    const line = await reader.next()
    if (!line) break
    lines.push(line)
    if (lines.length === 1 && line.subarray(0, 5).toString('latin1') === 'PGDMP') {
      throw new RestoreError(
        `${file} is an archive of pg_dump. Convert it to SQL first: pg_restore --file=dump.sql ${file}`,
      )
    }
    const text = line.toString('latin1').trimEnd()
    if (text.startsWith(dumpHeader)) return { lines, end: dumpEnd }
    if (text === pgDumpHeader) return { lines, end: pgDumpEnd }
  }
  throw new RestoreError(
    lines.length === 0
      ? `${file} is empty.`
      : `${file} is not a dump in SQL: it begins neither like those of \`rowhouse dump\` nor like those of pg_dump. ` +
          'Other SQL can be run with `rowhouse psql -f FILE`.',
  )
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

class Restoring {
  readonly #client: Client
  readonly #reader: LineReader
  readonly #file: string
  readonly #version: number
  readonly #onNotice: (message: string) => void
  readonly #splitter = new SqlSplitter({ commands: true })
  #statements = 0
  #rows = 0

  constructor(client: Client, reader: LineReader, { file, onNotice }: RestoreOptions, version: number) {
    this.#client = client
    this.#reader = reader
    this.#file = file
    this.#onNotice = onNotice ?? (() => undefined)
    this.#version = version
  }

  async run(head: Head): Promise<RestoreCounts> {
    let isComplete = false
    for (const line of head.lines) await this.#accept(line)
    for (;;) {
      const line = await this.#reader.next()
      if (!line) break
      const isOutside = !this.#splitter.isOpen
      const text = await this.#accept(line)
      isComplete ||= isOutside && text.trimEnd() === head.end
    }
    if (!isComplete || this.#splitter.isOpen) {
      throw new RestoreError(`${this.#file} is incomplete: its last line is not "${head.end}".`)
    }
    return { statements: this.#statements, rows: this.#rows }
  }

  /** Runs the statements that end in a line. Returns its text. */
  async #accept(line: Buffer): Promise<string> {
    const text = this.#decode(line)
    for (const piece of this.#splitter.push(text)) {
      if (piece.kind === 'command') this.#refuseCommand(piece.text, piece.line)
      else await this.#execute(piece.text, piece.line)
    }
    return text
  }

  #decode(line: Buffer): string {
    try {
      return utf8.decode(line)
    } catch (error) {
      throw new RestoreError(`${this.#file}:${this.#splitter.line + 1}: not UTF-8.`, { cause: error })
    }
  }

  /** Newer versions of pg_dump write `\restrict` and `\unrestrict`, which forbid psql all other commands. */
  #refuseCommand(text: string, line: number): void {
    if (/^(?:un)?restrict\b/.test(text)) return
    throw new RestoreError(`${this.#file}:${line}: \\${text} is a command of psql, not SQL.`)
  }

  async #execute(text: string, line: number): Promise<void> {
    if (transactionControl.test(text)) {
      throw new RestoreError(`${this.#file}:${line}: ${text}: a dump is restored in one transaction of its own.`)
    }
    if (newSetting.test(text) && this.#version < 170_000) return
    const extension = await unavailableStandIn(this.#client, text)
    if (extension !== undefined) {
      this.#onNotice(
        `${extension} is not available in this PostgreSQL: this server provides its functions, once it has migrated.`,
      )
      return
    }
    const isCopy = copyFromInput.test(text)
    try {
      await runSimple(this.#client, text, {
        ...(isCopy ? { copyIn: (rows: CopyRows) => this.#copy(rows) } : {}),
        onComplete: (tag) => (this.#rows += isCopy ? Number(tag.slice('COPY '.length)) : 0),
      })
      this.#statements++
    } catch (error) {
      if (error instanceof RestoreError) throw error
      throw new RestoreError(`${this.#file}:${line}: ${describe(error)}\nNothing was changed.`, { cause: error })
    }
  }

  /** Passes the rows on, up to the line `\.`. */
  async #copy(rows: CopyRows): Promise<void> {
    let batch: Buffer[] = []
    let size = 0
    for (;;) {
      const line = this.#reader.take() ?? (await this.#reader.next())
      if (!line) throw new RestoreError(`${this.#file} is incomplete: it ends within the rows of a table.`)
      this.#splitter.skipLine()
      const isEnd = line.length === 2 && line.toString('latin1') === '\\.'
      if (!isEnd) {
        batch.push(line, lineFeed)
        size += line.length + 1
      }
      if (size > 0 && (isEnd || size >= batchSize)) {
        await rows.write(Buffer.concat(batch, size))
        batch = []
        size = 0
      }
      if (isEnd) return
    }
  }
}

const lineFeed = Buffer.from('\n')

/** The message of an error of the server, with what it says beyond. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { detail, hint, where } = error as Error & { detail?: string; hint?: string; where?: string }
  return [error.message, detail, hint, where].filter((text) => text !== undefined && text !== '').join('\n')
}
