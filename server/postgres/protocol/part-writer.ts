// Writes the parts of a pipeline: binds prepared statements where the connection has them, and prepares others.
import type { PipelineStatement } from '../../rest/database.ts'
import type { ColumnDescription, RowsRequest } from '../../rest/row-transfer.ts'
import { MessageWriter } from './message-writer.ts'
import type { PartProgress, Preparation } from './queued-transaction.ts'
import type { PipelinePart } from './pipeline-part.ts'
import { RowsRun, runsRows } from './rows-run.ts'
import { knownName, statementName, type StatementCache } from './statement-cache.ts'

const allText: readonly (0 | 1)[] = []

/** The writer of all connections. */
export const writer = new MessageWriter()

const noRoom = { hasRoom: false, evicted: [] as readonly string[] } as const

const nothingSent = (): PartProgress => ({
  preparations: [],
  prepared: 0,
  checks: 0,
  bound: 0,
  completed: 0,
  rows: undefined,
})

export class PartWriter {
  readonly #cache: StatementCache | undefined

  /** @param cache the prepared statements of the connection; without it, statements are not prepared */
  constructor(cache: StatementCache | undefined) {
    this.#cache = cache
  }

  /**
   * Writes the statements of a part, and a Sync.
   *
   * @param parts gets the progress of the part before anything is written
   * @param flushes whether the server sends the response to each statement at once
   * @param usesRows whether rows may run in place of statements
   * @throws RangeError for a statement that cannot be written
   */
  write(part: PipelinePart, parts: PartProgress[], flushes = false, usesRows = false): void {
    const progress = nothingSent()
    parts.push(progress)
    if (this.#cache?.hasSkipped === true) this.#close(this.#cache.closeSkipped(), progress)
    let next = 0
    let isChecked = false
    for (const statement of part) {
      next++
      if (!isChecked && statement.hasNoEffect !== true) {
        isChecked = true
        progress.checks = this.#checkRest(part, next)
      }
      const { values, resultFormats, receiver, rows } = statement
      if (rows && runsRows(rows, usesRows && this.#cache !== undefined)) {
        this.#writeRows(statement, rows, next - 1, progress)
        if (flushes) writer.flush()
        continue
      }
      if (receiver?.namesOf) {
        writer.parse('', receiver.namesOf.text)
        progress.preparations.push({ kind: 'parse', name: '' })
        writer.describeStatement('')
      }
      writer.bind(this.#prepare(statement, progress), values, resultFormats ?? allText)
      if (receiver) writer.describePortal()
      writer.execute()
      if (flushes) writer.flush()
    }
    writer.sync()
  }

  /** Writes a statement whose rows are encoded, or what runs in its place. The server describes the columns unless they are known. */
  #writeRows(statement: PipelineStatement, request: RowsRequest, index: number, progress: PartProgress): void {
    const { plan } = request
    const name = this.#prepare(plan.isOnlyForm ? statement : plan, progress)
    const encoded = name === '' ? undefined : this.#cache?.beginRows(name, plan)
    ;(progress.rows ??= []).push(new RowsRun(request, index, name, encoded))
    if (!encoded) writer.describeStatement(name)
    writer.bind(name, plan.isOnlyForm ? statement.values : request.values, allText)
    writer.execute()
  }

  /** Call this when the server has described the columns of rows. */
  describe(run: RowsRun, columns: readonly ColumnDescription[]): void {
    const { plan } = run.request
    if (run.name !== '') this.#cache?.describe(run.name, columns)
    run.encoded = plan.encoderOf(columns)?.begin()
    if (!run.encoded) plan.refuse()
  }

  #close(names: readonly string[], { preparations }: PartProgress): void {
    for (const name of names) {
      writer.closeStatement(name)
      preparations.push({ kind: 'close', name })
    }
  }

  /** Writes a Sync in place of a part. */
  writeEmpty(parts: PartProgress[]): void {
    parts.push(nothingSent())
    writer.sync()
  }

  /**
   * Describes the prepared statements that follow one with an effect, before that one is executed: if one of them is
   * stale, the whole part can run again. Describing does not plan, so it costs little.
   *
   * @returns the number of descriptions
   */
  #checkRest(part: PipelinePart, from: number): number {
    if (!this.#cache) return 0
    let checks = 0
    for (let index = from; index < part.length; index++) {
      const statement = part[index]
      if (!statement || statement.isUnprepared === true) continue
      const name = knownName(statement.text)
      if (name === undefined || this.#cache.use(name) !== 'prepared') continue
      writer.describeStatement(name)
      checks++
    }
    return checks
  }

  /**
   * The name to bind a statement by. A part does not use a statement that another part prepares before the server has
   * confirmed it: the server skips the Parse when something before it fails.
   */
  #prepare({ text, isUnprepared }: Pick<PipelineStatement, 'text' | 'isUnprepared'>, progress: PartProgress): string {
    const { preparations } = progress
    const cache = isUnprepared === true ? undefined : this.#cache
    const name = cache && statementName(text)
    if (cache && name !== undefined) {
      const state = cache.use(name)
      if (state === 'prepared') return name
      if (state === 'preparing' && preparations.some((sent) => sent.name === name)) return name
      const { hasRoom, evicted } = state === undefined ? cache.reserve(name, text.length) : noRoom
      if (evicted.length > 0) this.#close(evicted, progress)
      if (hasRoom) {
        writer.parse(name, text)
        preparations.push({ kind: 'parse', name })
        return name
      }
    }
    writer.parse('', text)
    preparations.push({ kind: 'parse', name: '' })
    return ''
  }

  /** Call this when the server has confirmed a preparation. */
  confirm(preparation: Preparation | undefined): void {
    if (!preparation || preparation.name === '') return
    if (preparation.kind === 'parse') this.#cache?.prepared(preparation.name)
    else this.#cache?.removed(preparation.name)
  }

  /** Call this when the server skips the rest of a part after an error. */
  skip(progress: PartProgress): void {
    for (const { name } of progress.preparations.slice(progress.prepared)) {
      if (name !== '') this.#cache?.skip(name)
    }
    progress.prepared = progress.preparations.length
  }

  /** Reverts the preparations of a part that is not sent. */
  revert({ preparations }: PartProgress): void {
    for (const { kind, name } of preparations) {
      if (name === '') continue
      if (kind === 'parse') this.#cache?.removed(name)
      else this.#cache?.skip(name)
    }
  }
}
