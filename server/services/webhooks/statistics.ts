// What the sender of this process has done.
import type { Outcome } from './claimed-call.ts'

export class SenderStatistics {
  /** Attempts that have ended. */
  attempts = 0
  /** Their duration, in seconds. */
  attemptSeconds = 0
  delivered = 0
  /** Attempts after which a call waits for another one. */
  failed = 0
  /** Calls that were put aside. */
  dead = 0
  /** Calls that are being sent. */
  sending = 0
  /** Whether this process is the one that sends calls. */
  isSender = false

  count({ state, duration_ms }: Outcome): void {
    this.attempts++
    this.attemptSeconds += duration_ms / 1000
    if (state === 'delivered') this.delivered++
    else if (state === 'dead') this.dead++
    else this.failed++
  }
}
