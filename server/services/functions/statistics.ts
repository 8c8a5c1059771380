// Counts of the service since the start, for metrics and the console.

/** How a call has ended, one of few words. `refused` calls have not reached a function. */
export type CallOutcome = 'answered' | 'failed' | 'refused' | 'aborted'

export type FunctionCounts = {
  /** Calls by outcome. */
  readonly calls: Readonly<Record<CallOutcome, number>>
  /** Total seconds of calls that were not refused. */
  readonly seconds: number
}

export type FunctionFigures = {
  /** Counts by the name of the function. */
  readonly functions: ReadonlyMap<string, FunctionCounts>
  /** Calls that run at the moment. */
  readonly running: number
  /** Requests that were refused, by reason: the code of the error. */
  readonly refusals: ReadonlyMap<string, number>
  /** Undefined as long as no worker process was started. */
  readonly workers: { readonly workers: number; readonly started: number; readonly killed: number } | undefined
}

/** Names that are counted. With a server of one's own, every name is a function, so that clients could use up memory. */
const mostNames = 1000
const otherNames = 'others'

type Counts = { calls: Record<CallOutcome, number>; seconds: number }

export class FunctionStatistics {
  running = 0
  readonly functions = new Map<string, Counts>()
  readonly refusals = new Map<string, number>()

  /** Records the end of a call. @param seconds its duration; 0 for a refused one */
  ended(name: string, outcome: CallOutcome, seconds: number): void {
    const known = this.functions.has(name) || this.functions.size < mostNames ? name : otherNames
    const counts = this.functions.get(known) ?? {
      calls: { answered: 0, failed: 0, refused: 0, aborted: 0 },
      seconds: 0,
    }
    counts.calls[outcome]++
    counts.seconds += seconds
    this.functions.set(known, counts)
  }

  /** Records a request that has not reached a function. */
  refused(code: string): void {
    this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1)
  }
}
