// Times the statements of one transaction in a pipeline for an observer.
import type { ServerError, StatementObserver } from '../../rest/database.ts'
import type { PipelinePart } from './pipeline-part.ts'

/**
 * The server buffers its responses up to a Sync, so that the end of a single statement is known only if the server is asked to
 * send each response at once (`StatementObserver.timesStatements`).
 */
export class StatementTimer {
  readonly #observer: StatementObserver
  #parts: readonly PipelinePart[]
  /** When the server could begin with the part, and with the statement; undefined before. */
  #partSince: number | undefined
  #statementSince = 0

  /** @param parts the statements to report, at the same positions as those that are sent */
  constructor(observer: StatementObserver, parts: readonly PipelinePart[]) {
    this.#observer = observer
    this.#parts = parts
  }

  get timesStatements(): boolean {
    return this.#observer.timesStatements
  }

  /** Call this when the transaction was sent, and when no other one is ahead: the later call counts. */
  begin(): void {
    this.#partSince = this.#statementSince = performance.now()
  }

  /** Call this when another text has run in place of a statement. */
  replace(part: number, statement: number, text: string): void {
    this.#parts = this.#parts.map((statements, index) =>
      index === part ? statements.map((one, at) => (at === statement ? { ...one, text } : one)) : statements,
    )
  }

  endStatement(part: number, statement: number, error: ServerError | undefined): void {
    const ended = this.#observer.timesStatements ? this.#parts[part]?.[statement] : undefined
    if (!ended) return
    const now = performance.now()
    this.#observer.statementEnded(ended, this.#statementSince, now, error)
    this.#statementSince = now
  }

  /** Call this when the server is ready for the next part, or the connection was lost. */
  endPart(part: number, error: Error | undefined): void {
    const statements = this.#parts[part]
    if (!statements || this.#partSince === undefined) return
    const now = performance.now()
    this.#observer.roundTripEnded(statements, this.#partSince, now, error)
    this.#partSince = this.#statementSince = now
  }
}
