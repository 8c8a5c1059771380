// A call that this process has to send, and what became of it.

export type ClaimedCall = {
  readonly id: string
  /** Which attempt this is, from 1. */
  readonly attempt: number
  /** The trigger that has caused it; null for calls of `net.http_*`. */
  readonly webhook: string | null
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: string | null
  /** Milliseconds. */
  readonly timeout: number
  /** The secret that signs it; null for calls without a signature. */
  readonly secretName: string | null
  /** The values of the secret, newest first. */
  readonly secrets: readonly string[]
  /** How many calls have caused each other, with this one. */
  readonly depth: number
  /** Whether it is sent again after an error. */
  readonly retries: boolean
  /** Place in the log of the database when it was caused. */
  readonly position: string | null
}

/** What became of an attempt, with the names that `rowhouse.finish_calls` reads. */
export type Outcome = {
  readonly id: string
  readonly attempt: number
  readonly state: 'delivered' | 'waiting' | 'dead'
  /** Milliseconds until the next attempt, of those that wait. */
  readonly pause_ms?: number
  readonly status?: number
  /** Why it was not delivered. */
  readonly error?: string
  /** The same for net._http_response, in the words of pg_net. */
  readonly net_error?: string
  readonly timed_out?: boolean
  readonly headers?: Readonly<Record<string, string>>
  readonly content_type?: string
  readonly response?: string
  readonly duration_ms: number
}
