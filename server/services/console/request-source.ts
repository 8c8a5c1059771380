// The requests of this process, as the console watches them.
import type { RequestDetails, RequestEntry, SlowStatement } from './request-protocol.ts'

export type RequestWatcher = {
  readonly onRequest: (entry: RequestEntry) => void
  /** The server ends. */
  readonly onEnd: () => void
}

export type RequestSource = {
  /** This process among several, from 0; null if there is only one. */
  readonly worker: number | null
  /** Requests are recorded while there is a watcher. @returns ends watching */
  readonly watch: (watcher: RequestWatcher) => () => void
  /** Undefined for a request that is not recorded, or no more. */
  readonly details: (number: number) => Promise<RequestDetails | undefined>
  /** Statements of the recorded requests, those first that have taken the most time. */
  readonly statements: () => readonly SlowStatement[]
}
