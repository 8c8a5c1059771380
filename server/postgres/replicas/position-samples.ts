// Positions of the primary over time, from which the lag of a replica follows. Uses the clock of this process only.
import type { WalPosition } from '../../common/wal-position.ts'

/** A position of the primary: whatever it had flushed by that time is before the position. */
type Sample = { readonly lsn: bigint; at: number }

const mostSamples = 10_000

export class PositionSamples {
  /** Ascending. */
  #samples: Sample[] = []
  #timeline: number | undefined
  readonly #keptFor: number

  /** @param keptFor milliseconds: a greater lag is infinite */
  constructor(keptFor: number) {
    this.#keptFor = keptFor
  }

  /** The timeline of the primary; undefined before the first sample. */
  get timeline(): number | undefined {
    return this.#timeline
  }

  /**
   * Records a position.
   *
   * @param at when the primary was asked for it, in milliseconds of any clock
   */
  add({ timeline, lsn }: WalPosition, at: number): void {
    const last = this.#samples.at(-1)
    // After a failover, earlier positions may be of writes that are lost.
    if (timeline !== this.#timeline || (last && lsn < last.lsn)) this.#samples = []
    this.#timeline = timeline
    if (last && this.#samples.length > 0 && lsn === last.lsn) last.at = at
    else this.#samples.push({ lsn, at })
    while (this.#samples.length > mostSamples || (this.#samples[1] && this.#samples[1].at < at - this.#keptFor)) {
      this.#samples.shift()
    }
  }

  /**
   * When the primary was last known to have nothing that a replica lacks: `now` if the replica has replayed the latest
   * sample, undefined if that is longer ago than samples are kept, or the replica follows another timeline.
   */
  currentAt({ timeline, lsn }: WalPosition, now: number): number | undefined {
    if (timeline !== this.#timeline) return undefined
    const index = this.#samples.findLastIndex((sample) => sample.lsn <= lsn)
    return index === this.#samples.length - 1 ? now : this.#samples[index]?.at
  }
}
