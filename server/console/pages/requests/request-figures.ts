// Rate, errors and latency of the last minutes, in steps of a few seconds.
import type { RequestEntry, RequestEvent } from '../../../services/console/request-protocol.ts'

/** Seconds of a step, and number of steps. */
const step = 2
const steps = 90
/** Durations of one step from which percentiles are determined. */
const mostDurations = 500

type Step = { count: number; errors: number; readonly durations: number[] }

/** Columns for a chart: times in seconds since 1970, then the series. */
export type Figures = {
  readonly rate: readonly (readonly (number | null)[])[]
  readonly latency: readonly (readonly (number | null)[])[]
}

export class RequestFigures {
  readonly #steps = new Map<number, Step>()

  add({ entries, lost }: RequestEvent, counts: (entry: RequestEntry) => boolean): void {
    for (const entry of entries) if (counts(entry)) this.#addOne(entry)
    // They are known by their number only.
    if (lost > 0) this.#stepOf(Date.now()).count += lost
    const oldest = this.#index(Date.now()) - steps
    for (const index of this.#steps.keys()) if (index < oldest) this.#steps.delete(index)
  }

  clear(): void {
    this.#steps.clear()
  }

  /** @param now in milliseconds since 1970 */
  at(now: number): Figures {
    const last = this.#index(now)
    const indexes = Array.from({ length: steps }, (_, position) => last - steps + 1 + position)
    const times = indexes.map((index) => index * step)
    const found = indexes.map((index) => this.#steps.get(index))
    const percentile = (share: number): (number | null)[] => found.map((it) => (it ? percentileOf(it, share) : null))
    return {
      rate: [times, found.map((it) => (it?.count ?? 0) / step), found.map((it) => (it?.errors ?? 0) / step)],
      latency: [times, percentile(0.5), percentile(0.95), percentile(0.99)],
    }
  }

  #addOne({ at, status, duration }: RequestEntry): void {
    const found = this.#stepOf(at)
    found.count++
    if (status >= 500) found.errors++
    if (found.durations.length < mostDurations) found.durations.push(duration)
  }

  #stepOf(time: number): Step {
    const index = this.#index(time)
    const found = this.#steps.get(index) ?? { count: 0, errors: 0, durations: [] }
    this.#steps.set(index, found)
    return found
  }

  #index(time: number): number {
    return Math.floor(time / 1000 / step)
  }
}

function percentileOf({ durations }: Step, share: number): number | null {
  if (durations.length === 0) return null
  const sorted = durations.toSorted((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? null
}
