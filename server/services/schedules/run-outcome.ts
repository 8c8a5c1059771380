// What is recorded of the end of a run, in the words of pg_cron: `1 row`, `INSERT 0 1`, `ERROR:  division by zero`.
import type { ResultHandlers } from '../../postgres/connection/simple-statement.ts'

export type RunOutcome = { readonly status: 'succeeded' | 'failed'; readonly message: string }

/** Characters of a message that are kept. */
const maxMessage = 10_000

export const failed = (message: string): RunOutcome => ({ status: 'failed', message: message.slice(0, maxMessage) })

/** Counts the rows of results without keeping them, and remembers what the last statement did. */
export class ResultCount {
  #hasRows = false
  #rows = 0
  #message = '0 rows'
  /** Receives the results. */
  readonly handlers: ResultHandlers

  /** @param onCopy called when a command wants to send or receive rows of `COPY`, for which there is no client */
  constructor(onCopy: () => void) {
    this.handlers = {
      onColumns: () => {
        this.#hasRows = true
        this.#rows = 0
      },
      onRow: () => void this.#rows++,
      onCopyData: onCopy,
      copyIn: () => Promise.reject(new Error(copyRefused)),
      onComplete: (tag) => {
        this.#message = this.#hasRows ? `${this.#rows} ${this.#rows === 1 ? 'row' : 'rows'}` : tag
        this.#hasRows = false
      },
    }
  }

  get outcome(): RunOutcome {
    return { status: 'succeeded', message: this.#message }
  }
}

export const copyRefused = 'COPY not supported'

/** The error of a command, as libpq writes it; or of the connection. */
export function failureOf(error: unknown): RunOutcome {
  if (!(error instanceof Error)) return failed(String(error))
  const { severity, detail, hint, where } = error as Error & Readonly<Record<string, string | undefined>>
  if (severity === undefined)
    return failed(error.message === copyRefused ? copyRefused : `connection lost: ${error.message}`)
  const lines = [`${severity}:  ${error.message}`]
  if (detail !== undefined) lines.push(`DETAIL:  ${detail}`)
  if (hint !== undefined) lines.push(`HINT:  ${hint}`)
  if (where !== undefined) lines.push(`CONTEXT:  ${where}`)
  return failed(lines.join('\n'))
}
