// The protocol's side of a pipeline: a connection that runs one turn after the other, each of which may be sent before
// the one ahead of it has been answered.
// https://www.postgresql.org/docs/current/protocol-flow.html#PROTOCOL-FLOW-PIPELINING
import type pg from 'pg'
import type { DatabaseFailure, PipelineStatement, Row, ServerError } from '../../rest/database.ts'
import { StreamedField } from './streamed-field.ts'
import { intercept, type GiveBack } from './incoming.ts'
import type { StatementStats } from '../../common/statement-stats.ts'
import { statementName, type StatementCache } from './statement-cache.ts'
import { MessageReader, MessageWriter, mostParameters, readError, readRow } from './wire.ts'

/** Statements that share one Sync, and so one implicit transaction. */
export type PipelinePart = readonly PipelineStatement[]

/**
 * Takes a row that is so large that it has not arrived as a whole: its fields but the last, and the last one. Such a row is
 * not among the results.
 */
export type OnLargeRow = (fields: Row, last: StreamedField) => void

/** Where in a turn an error came up. */
export type ErrorPosition = {
  readonly part: number
  /** Number of the statement in its part. All statements before it were executed. */
  readonly statement: number
  /** Whether the statement was bound, so that its execution had begun. */
  readonly isBound: boolean
}

/**
 * An error that the server sent for a statement, or that keeps it from being sent. The connection goes on working, unless
 * the severity is FATAL.
 */
export class StatementError extends Error {
  readonly kind = 'statement failed' satisfies DatabaseFailure['kind']
  readonly server: ServerError
  readonly position: ErrorPosition

  constructor(server: ServerError, position: ErrorPosition, cause?: unknown) {
    super(server.message, ...(cause === undefined ? [] : [{ cause }]))
    this.name = 'StatementError'
    this.server = server
    this.position = position
  }
}

/** What is run for one caller. */
export type Turn = {
  /** Each one an implicit transaction, unless a part begins with BEGIN. */
  readonly parts: readonly PipelinePart[]
  /** Takes a large row before the transaction has ended; without it, it is waited for. */
  readonly onLargeRow?: OnLargeRow | undefined
  /** Where it is noted how the turn went. */
  readonly history?: StatementStats | undefined
  /** Hears that the turn ahead has ended, or that there is none. */
  onBegin?(): void
  /** The rows of every statement in order; or the first error of the server, or that of a lost connection. */
  settle(error: Error | undefined, results: Row[][]): void
}

/** A Parse or Close that was sent; an empty name is that of the unnamed statement. */
type Preparation = { readonly kind: 'parse' | 'close'; readonly name: string }

/** A part on its way. After an error the server skips all that was sent for the part. */
type PartProgress = {
  /** What was sent, and how much of it the server has answered. */
  readonly preparations: Preparation[]
  prepared: number
  bound: number
  completed: number
}

/** A turn on its way. */
type Running = {
  readonly turn: Turn
  readonly results: Row[][]
  rows: Row[]
  syncs: number
  readonly parts: PartProgress[]
  /** Of its rows. */
  bytes: number
  error: Error | undefined
  streamed: StreamedField | undefined
}

const code = {
  parseComplete: 0x31,
  bindComplete: 0x32,
  closeComplete: 0x33,
  dataRow: 0x44,
  commandComplete: 0x43,
  emptyQuery: 0x49,
  error: 0x45,
  ready: 0x5a,
}

const allText: readonly (0 | 1)[] = []
const writer = new MessageWriter()

/**
 * A query object for `pg`: while it is active it reads the socket itself, so that values stay bytes. The last
 * ReadyForQuery is left to `pg`, whose bookkeeping so stays right.
 */
export class PipelineQuery implements pg.Submittable {
  readonly #cache: StatementCache | undefined
  readonly #onEnd: (error: Error | undefined) => void
  readonly #reader: MessageReader
  /** Turns in order; the first one is being answered. */
  readonly #turns: Running[] = []
  #unsent: Running[] = []
  #isFlushing = false
  /** When the first turn that is being answered could begin, in milliseconds. */
  #since = 0
  /** Turns that were answered by the bytes that are being read. */
  #answered: Running[] = []
  #giveBack: GiveBack | undefined
  #stream: pg.Connection['stream'] | undefined

  /**
   * @param cache the statements of the connection; without it they are not prepared
   * @param onEnd hears when nothing is left to do, or that the connection is lost
   */
  constructor(cache: StatementCache | undefined, onEnd: (error: Error | undefined) => void) {
    this.#cache = cache
    this.#onEnd = onEnd
    this.#reader = new MessageReader({
      wants: () => this.#turns[0]?.turn.onLargeRow !== undefined,
      begin: (fields, length) => this.#beginLargeRow(fields, length),
    })
  }

  /** Adds a turn. Those that are added while the process does something else are sent together. */
  add(turn: Turn): void {
    const running: Running = {
      turn,
      results: [],
      rows: [],
      syncs: 0,
      parts: [],
      bytes: 0,
      error: undefined,
      streamed: undefined,
    }
    this.#unsent.push(running)
    if (this.#turns.push(running) === 1) turn.onBegin?.()
    if (!this.#stream || this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(this.#flush)
  }

  submit(connection: pg.Connection): void {
    const { stream } = connection
    this.#stream = stream
    this.#giveBack = intercept(stream, this.#receive)
    this.#flush()
  }

  readonly #flush = (): void => {
    this.#isFlushing = false
    if (!this.#stream || this.#unsent.length === 0) return
    if (this.#unsent.length === this.#turns.length) this.#since = performance.now()
    for (const running of this.#unsent) this.#writeOrFail(running)
    this.#unsent = []
    writer.sendTo(this.#stream)
  }

  /**
   * Writes a turn. One that cannot be written fails alone: nothing of it stays in the writer, which all connections share,
   * and the server gets a Sync for each of its parts, so that its answers go on matching the turns.
   */
  #writeOrFail(running: Running): void {
    const { mark } = writer
    try {
      this.#write(running)
    } catch (error) {
      writer.undoTo(mark)
      const { parts, turn } = running
      for (const progress of parts.splice(0)) this.#skip(progress)
      running.error = unsendable(turn.parts, error)
      parts.push(...turn.parts.map(() => ({ preparations: [], prepared: 0, bound: 0, completed: 0 })))
      parts.forEach(() => writer.sync())
    }
  }

  #write({ turn, parts }: Running): void {
    for (const part of turn.parts) {
      const progress: PartProgress = { preparations: [], prepared: 0, bound: 0, completed: 0 }
      parts.push(progress)
      let next = 0
      let isChecked = false
      for (const statement of part) {
        next++
        if (!isChecked && statement.hasNoEffect !== true) {
          isChecked = true
          this.#checkRest(part, next)
        }
        const { values, resultFormats } = statement
        writer.bind(this.#prepare(statement, progress), values, resultFormats ?? allText)
        writer.execute()
      }
      writer.sync()
    }
  }

  /**
   * Has the server look at the prepared statements that follow one with an effect, before that one is executed: should
   * one of them be stale, the whole part can be run again. Describing does not plan, so it costs little.
   */
  #checkRest(part: PipelinePart, from: number): void {
    if (!this.#cache) return
    for (let index = from; index < part.length; index++) {
      const statement = part[index]
      if (!statement || statement.isUnprepared === true) continue
      const name = statementName(statement.text)
      if (this.#cache.use(name) === 'prepared') writer.describeStatement(name)
    }
  }

  /**
   * The name to bind a statement by. A statement of which the server has not yet said that it is prepared is not relied
   * on by another part: what comes before it may fail, and it would be skipped.
   */
  #prepare({ text, isUnprepared }: PipelineStatement, { preparations }: PartProgress): string {
    const cache = isUnprepared === true ? undefined : this.#cache
    if (cache) {
      const name = statementName(text)
      const state = cache.use(name)
      if (state === 'prepared') return name
      if (state === 'preparing' && preparations.some((sent) => sent.name === name)) return name
      const { hasRoom, evicted } = state === undefined ? cache.reserve(name) : { hasRoom: false }
      if (evicted !== undefined) {
        writer.closeStatement(evicted)
        preparations.push({ kind: 'close', name: evicted })
      }
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

  readonly #receive = (chunk: Buffer): void => {
    const rest = this.#reader.read(chunk, this.#onMessage)
    if (rest) this.#stopReading(rest)
    if (this.#answered.length > 0) this.#noteRuns()
  }

  /** What is answered together cannot be told apart: each has an equal part of the time. */
  #noteRuns(): void {
    const now = performance.now()
    const each = (now - this.#since) / this.#answered.length
    this.#since = now
    for (const { turn, bytes, error } of this.#answered) if (!error) turn.history?.record(each, bytes)
    this.#answered = []
  }

  #stopReading(rest?: Buffer): void {
    const giveBack = this.#giveBack
    this.#giveBack = undefined
    giveBack?.(rest)
  }

  readonly #onMessage = (messageCode: number, buffer: Buffer, start: number, end: number): boolean => {
    const [running] = this.#turns
    const progress = running?.parts[running.syncs]
    if (!running || !progress) return true
    switch (messageCode) {
      case code.parseComplete:
      case code.closeComplete:
        this.#prepared(progress.preparations[progress.prepared++])
        return true
      case code.bindComplete:
        progress.bound++
        return true
      case code.dataRow:
        running.rows.push(readRow(buffer, start, end))
        running.bytes += end - start
        return true
      case code.commandComplete:
      case code.emptyQuery:
        running.results.push(running.rows)
        running.rows = []
        progress.completed++
        return true
      case code.error:
        running.error ??= statementError(running.syncs, progress, readError(buffer, start, end))
        this.#skip(progress)
        return true
      case code.ready:
        if (++running.syncs < running.turn.parts.length) return true
        // The last turn ends with what `pg` reads: the connection is free by then.
        if (this.#turns.length === 1) return false
        this.#turns.shift()
        this.#finish(running, running.error)
        this.#turns[0]?.turn.onBegin?.()
        return true
      default:
        // Descriptions, and what may come at any time: notices, notifications, parameters.
        return true
    }
  }

  #prepared(preparation: Preparation | undefined): void {
    if (!preparation || preparation.name === '') return
    if (preparation.kind === 'parse') this.#cache?.prepared(preparation.name)
    else this.#cache?.removed(preparation.name)
  }

  /** The server has skipped what it has not answered. */
  #skip(progress: PartProgress): void {
    for (const { kind, name } of progress.preparations.slice(progress.prepared)) {
      if (name === '') continue
      if (kind === 'parse') this.#cache?.removed(name)
      else this.#cache?.prepared(name)
    }
    progress.prepared = progress.preparations.length
  }

  #beginLargeRow(fields: Row, length: number): StreamedField {
    const flow = { pause: () => this.#stream?.pause(), resume: () => this.#stream?.resume() }
    const field = new StreamedField(length, flow)
    const [running] = this.#turns
    if (running) {
      running.streamed = field
      running.bytes += length
      running.turn.onLargeRow?.(fields, field)
    }
    return field
  }

  handleReadyForQuery(): void {
    const running = this.#turns.shift()
    this.#onEnd(undefined)
    if (running) this.#finish(running, running.error)
  }

  /** The connection was lost, or `pg` could not send. */
  handleError(error: Error): void {
    this.#stopReading()
    this.#onEnd(error)
    for (const running of this.#turns.splice(0)) this.#finish(running, running.error ?? error)
  }

  #finish(running: Running, error: Error | undefined): void {
    const { turn, results, streamed } = running
    this.#answered.push(running)
    streamed?.end(error)
    turn.settle(error, results)
  }
}

/** Not an error of the connection: it goes on working, and the statement would fail on any other one, too. */
function unsendable(parts: readonly PipelinePart[], error: unknown): StatementError {
  const values = Math.max(...parts.flat().map((statement) => statement.values.length))
  const server: ServerError =
    values > mostParameters
      ? // program_limit_exceeded
        {
          severity: 'ERROR',
          code: '54000',
          message: `a statement has at most ${mostParameters} parameters, but this one needs ${values}`,
        }
      : { severity: 'ERROR', code: 'XX000', message: 'the statement could not be sent' }
  return new StatementError(server, { part: 0, statement: 0, isBound: false }, error)
}

const statementError = (part: number, { bound, completed }: PartProgress, server: ServerError): StatementError =>
  new StatementError(server, { part, statement: completed, isBound: bound > completed })
