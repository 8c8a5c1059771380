// The error of one statement of a pipeline, with its position.
import type { DatabaseFailure, PipelineStatement, RestTransaction, ServerError } from '../../rest/database.ts'
import { mostParameters } from './message-writer.ts'

/** Where in a transaction an error occurred. */
export type ErrorPosition = {
  readonly part: number
  /** Number of the statement in its part. All statements before it were executed. */
  readonly statement: number
  /** Whether the statement was bound: its execution had begun. */
  readonly isBound: boolean
}

/**
 * An error that the server sent for a statement, or that prevents sending it. The connection stays usable, unless the
 * severity is FATAL.
 */
export class StatementError extends Error {
  readonly kind = 'statement failed' satisfies DatabaseFailure['kind']
  readonly server: ServerError
  readonly position: ErrorPosition
  /** Number of the statement among those of a request; see `DatabaseFailure`. */
  statement: number | undefined
  /** Number of the statement among those of a precheck. */
  checked: number | undefined
  #failed: PipelineStatement | undefined

  constructor(server: ServerError, position: ErrorPosition, cause?: unknown) {
    super(server.message, ...(cause === undefined ? [] : [{ cause }]))
    this.name = 'StatementError'
    this.server = server
    this.position = position
  }

  /** Notes which statement failed. */
  noteFailed(parts: readonly (readonly PipelineStatement[])[]): void {
    this.#failed = parts[this.position.part]?.[this.position.statement]
  }

  /** Sets the number of the statement among those of a request, or of its precheck. */
  numberIn({ statements, precheck }: Pick<RestTransaction, 'statements' | 'precheck'>): void {
    this.statement = this.#numberIn(statements)
    this.checked = this.#numberIn(precheck?.statements ?? [])
  }

  #numberIn(statements: readonly PipelineStatement[]): number | undefined {
    const number = this.#failed ? statements.indexOf(this.#failed) : -1
    return number < 0 ? undefined : number
  }
}

/** Not an error of the connection: it goes on working, and the statement would fail on any other one, too. */
export function unsendable(parts: readonly (readonly PipelineStatement[])[], error: unknown): StatementError {
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

/** @param progress how many statements of the part were bound, and how many have completed */
export const statementError = (
  part: number,
  { bound, completed }: { readonly bound: number; readonly completed: number },
  server: ServerError,
): StatementError => new StatementError(server, { part, statement: completed, isBound: bound > completed })
