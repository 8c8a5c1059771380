// A small psql: runs SQL statements and the most important commands with a backslash.
import { createReadStream } from 'node:fs'
import { access } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import type { Client } from '../../../postgres/connection/client.ts'
import { runSimple, transactionStatus } from '../../../postgres/connection/simple-statement.ts'
import { SqlSplitter } from '../../../text/sql-splitter.ts'
import { columnsOf, describedRelations, detailsOf, lists } from './describe-sql.ts'
import { describeError, describeNotice } from './error-report.ts'
import { help } from './help.ts'
import { copyFrom, linesOf, type Lines } from './lines.ts'
import { ResultTable, type Format, type Row } from './result-table.ts'

export type ShellOptions = {
  readonly output: Writable
  readonly errors: Writable
  readonly format: Format
  readonly timing: boolean
  /** Whether to print no command tags, such as `INSERT 0 1`. */
  readonly quiet: boolean
  /** Whether the first error ends a script. */
  readonly stopsOnError: boolean
}

/** Rows and characters that are formatted and printed together. */
const part = { rows: 1000, characters: 1_000_000 }
const maxIncludes = 50

/** How a script ended: regularly, by `\q`, or at an error that stops it. */
export type Ending = 'end' | 'quit' | 'error'

export class Shell {
  readonly #client: Client
  readonly #options: ShellOptions
  #format: Format
  #timing: boolean
  #splitter = new SqlSplitter({ commands: true })
  #isRunning = false
  #includes = 0
  #place: string | undefined
  #failed = false
  readonly #database: string
  readonly #sign: string

  private constructor(client: Client, options: ShellOptions, database: string, isSuperuser: boolean) {
    this.#client = client
    this.#options = options
    this.#format = options.format
    this.#timing = options.timing
    this.#database = database
    this.#sign = isSuperuser ? '#' : '>'
    client.on('notice', (notice) => void options.errors.write(describeNotice(notice)))
    client.on('notification', ({ channel, payload = '', processId }) => {
      const text = payload === '' ? '' : ` with payload "${payload}"`
      options.output.write(`Asynchronous notification "${channel}"${text} received from server process ${processId}.\n`)
    })
  }

  /** @param client a connection that is used for nothing else */
  static async on(client: Client, options: ShellOptions): Promise<Shell> {
    const { rows } = await client.query<{ database: string; superuser: string; strings: string }>(
      `select pg_catalog.current_database() as database, pg_catalog.current_setting('is_superuser') as superuser,
         pg_catalog.current_setting('standard_conforming_strings') as strings`,
    )
    const [row] = rows
    const shell = new Shell(client, options, row?.database ?? '', row?.superuser === 'on')
    shell.#splitter.standardConformingStrings = row?.strings !== 'off'
    return shell
  }

  /** Whether a statement is running, which `cancel` of the connection would end. */
  get isRunning(): boolean {
    return this.#isRunning
  }

  /** Whether the last statement failed. */
  get hasFailed(): boolean {
    return this.#failed
  }

  /** psql's prompt: the database, `-` within a statement, `*` in a transaction, `!` in a failed one. */
  get prompt(): string {
    const { waitsFor, isOpen } = this.#splitter
    const open = isOpen ? (waitsFor === ';' ? '-' : waitsFor) : '='
    const transaction = { I: '', T: '*', E: '!' }[transactionStatus(this.#client)]
    return `${this.#database}${open}${transaction}${this.#sign} `
  }

  /** Forgets the statement that is being entered. */
  discard(): void {
    this.#splitter.reset()
  }

  /** Runs all lines. */
  async run(lines: Lines): Promise<Ending> {
    for (;;) {
      const line = await lines.next(this.prompt)
      if (line === undefined) break
      for (const piece of this.#splitter.push(line)) {
        if (piece.kind === 'command') {
          const ending = await this.#command(piece.text, lines)
          if (ending !== 'end') return ending
        } else await this.#statement(piece.text, piece.line, lines)
        if (this.#failed && this.#options.stopsOnError) return 'error'
      }
    }
    // As in psql, a last statement without a semicolon is run.
    const last = this.#splitter.end()
    if (last) await this.#statement(last.text, last.line, lines)
    return this.#failed && this.#options.stopsOnError ? 'error' : 'end'
  }

  /** Runs a file as `\i` does. Errors name the file and the line of the statement. */
  async include(file: string): Promise<Ending> {
    if (this.#includes >= maxIncludes) return this.#refuse(`\\i ${file}: too many files include each other`)
    try {
      await access(file)
    } catch (error) {
      return this.#refuse(`${file}: ${error instanceof Error ? error.message : String(error)}`)
    }
    const [splitter, place] = [this.#splitter, this.#place]
    this.#splitter = new SqlSplitter({ commands: true })
    this.#splitter.standardConformingStrings = splitter.standardConformingStrings
    this.#place = file
    this.#includes++
    try {
      const ending = await this.run(linesOf(createReadStream(file)))
      return ending === 'error' ? 'error' : 'end'
    } catch (error) {
      return this.#refuse(`${file}: ${error instanceof Error ? error.message : String(error)}`)
    } finally {
      ;[this.#splitter, this.#place] = [splitter, place]
      this.#includes--
    }
  }

  #refuse(message: string): Ending {
    this.#options.errors.write(`${message}\n`)
    this.#failed = true
    return this.#options.stopsOnError ? 'error' : 'end'
  }

  async #statement(text: string, line: number, lines: Lines): Promise<void> {
    const start = performance.now()
    this.#isRunning = true
    this.#failed = false
    try {
      await this.#print(text, this.#format, lines)
    } catch (error) {
      this.#failed = true
      const place = this.#place === undefined ? '' : `${this.#place}:${line}: `
      this.#options.errors.write(`${place}${describeError(error, text)}`)
      // The server says when it ends a connection; otherwise the next statement would say so.
      if (!this.#isConnected(error)) throw error
    } finally {
      this.#isRunning = false
    }
    if (this.#timing) this.#options.output.write(`Time: ${(performance.now() - start).toFixed(3)} ms\n`)
    if (/^\s*(?:set|reset|discard)\b/i.test(text)) await this.#readStringSetting()
  }

  #isConnected(error: unknown): boolean {
    return error instanceof Error && 'severity' in error && error.severity === 'ERROR'
  }

  /** The setting changes where quotations end. */
  async #readStringSetting(): Promise<void> {
    if (transactionStatus(this.#client) === 'E') return
    const { rows } = await this.#client.query<{ value: string }>(
      "select pg_catalog.current_setting('standard_conforming_strings') as value",
    )
    this.#splitter.standardConformingStrings = rows[0]?.value !== 'off'
  }

  /** Runs a statement, and prints its result while it arrives. */
  #print(text: string, format: Format, lines: Lines, title?: string): Promise<void> {
    const { output } = this.#options
    return runSimple(this.#client, text, (writeTo) => {
      let table: ResultTable | undefined
      let rows: Row[] = []
      let characters = 0
      let isCopy = false
      const write = (chunk: string | Buffer): void => writeTo(output, chunk)
      const flush = (): void => {
        if (!table || rows.length === 0) return
        write(table.part(rows))
        rows = []
        characters = 0
      }
      return {
        onColumns: (columns) => {
          table = new ResultTable(columns, format)
          if (title !== undefined) write(`${title}\n`)
        },
        onRow: (values) => {
          rows.push(values)
          for (const value of values) characters += value?.length ?? 0
          if (rows.length >= part.rows || characters >= part.characters) flush()
        },
        onCopyData: (chunk) => {
          isCopy = true
          write(chunk)
        },
        copyIn: (sink) => copyFrom(lines, sink),
        onComplete: (tag) => {
          flush()
          if (table) write(table.end())
          else if (!this.#options.quiet && !format.tuplesOnly && !isCopy) write(`${tag}\n`)
          table = undefined
        },
      }
    })
  }

  async #command(text: string, lines: Lines): Promise<Ending> {
    const [word = '', ...words] = text.split(/\s+/)
    const argument = words.join(' ').replace(/;$/, '')
    const name = word.replace(/[+S;]+$/, '')
    const { output } = this.#options
    if (name === 'q' || name === 'quit') return 'quit'
    if (name === '?' || name === 'h') output.write(help)
    else if (name === 'x') this.#toggle('expanded', 'Expanded display', argument)
    else if (name === 't') this.#toggle('tuplesOnly', 'Tuples only', argument)
    else if (name === 'a') this.#toggle('unaligned', 'Unaligned output', argument)
    else if (name === 'timing') {
      this.#timing = switched(this.#timing, argument)
      output.write(`Timing is ${this.#timing ? 'on' : 'off'}.\n`)
    } else if (name === 'i' || name === 'include') {
      return argument === '' ? this.#refuse('\\i: missing required argument') : this.include(unquoted(argument))
    } else if (name === 'echo' || name === 'qecho') output.write(`${argument}\n`)
    else if (name === 'r') this.#splitter.reset()
    else if (name === 'p') output.write(`${this.#splitter.text.trimEnd()}\n`)
    else if (name === 'g' || name === 'gx') await this.#send(name === 'gx', lines)
    else if (name === 'd' && argument !== '') return this.#describe(argument, lines)
    else {
      const list = lists[name === 'z' ? 'dp' : name]
      if (!list) return this.#refuse(`invalid command \\${word}\nTry \\? for help.`)
      const { title, sql } = list(argument)
      await this.#catalogue(() => this.#print(sql, { ...this.#format, expanded: false }, lines, title))
    }
    return 'end'
  }

  async #send(expanded: boolean, lines: Lines): Promise<void> {
    const statement = this.#splitter.end()
    if (!statement) return
    const format = this.#format
    if (expanded) this.#format = { ...format, expanded }
    await this.#statement(statement.text, statement.line, lines)
    this.#format = format
  }

  #toggle(key: keyof Format, name: string, argument: string): void {
    const isOn = switched(this.#format[key], argument)
    this.#format = { ...this.#format, [key]: isOn }
    this.#options.output.write(`${name} is ${isOn ? 'on' : 'off'}.\n`)
  }

  async #describe(pattern: string, lines: Lines): Promise<Ending> {
    let isFound = false
    await this.#catalogue(async () => {
      type Relation = { readonly oid: string; readonly kind: string; readonly name: string }
      const { rows } = await this.#client.query<Relation>(describedRelations(pattern))
      isFound = rows.length > 0
      for (const { oid, kind, name } of rows) {
        const title = `${kind.charAt(0).toUpperCase()}${kind.slice(1)} "${name}"`
        await this.#print(columnsOf(oid), { ...this.#format, expanded: false, tuplesOnly: false }, lines, title)
        const { rows: details } = await this.#client.query<{ heading: string; line: string }>(detailsOf(oid))
        let heading = ''
        for (const detail of details) {
          if (detail.heading !== heading) this.#options.output.write(`${detail.heading}\n`)
          heading = detail.heading
          this.#options.output.write(`    ${detail.line.replaceAll('\n', '\n    ')}\n`)
        }
        if (details.length > 0) this.#options.output.write('\n')
      }
    })
    if (isFound || this.#failed) return 'end'
    return this.#refuse(`Did not find any relation named "${pattern}".`)
  }

  /** Reports errors of statements that the user did not write. */
  async #catalogue(run: () => Promise<void>): Promise<void> {
    this.#failed = false
    this.#isRunning = true
    try {
      await run()
    } catch (error) {
      this.#failed = true
      this.#options.errors.write(describeError(error, ''))
      if (!this.#isConnected(error)) throw error
    } finally {
      this.#isRunning = false
    }
  }
}

function switched(before: boolean, argument: string): boolean {
  if (/^(?:on|true|1)$/i.test(argument)) return true
  if (/^(?:off|false|0)$/i.test(argument)) return false
  return !before
}

const unquoted = (text: string): string => /^'(.*)'$/.exec(text)?.[1]?.replaceAll("''", "'") ?? text
