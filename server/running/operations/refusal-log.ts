// Logs that requests are refused because the server is overloaded: a line from time to time instead of one per request.
import type { LoadShedding, Overload } from './load-shedding.ts'
import type { Log } from './log.ts'

/** Milliseconds between two lines. */
const pause = 5000

/** @returns stops it */
export function logRefusals(shedding: LoadShedding, log: Log): () => void {
  const logged: Record<Overload, number> = { pool: 0, processor: 0 }
  const look = (): void => {
    for (const reason of ['pool', 'processor'] as const) {
      const refused = shedding.refusals[reason] - logged[reason]
      logged[reason] = shedding.refusals[reason]
      if (refused > 0) log.write({ kind: 'overloaded', reason, refused })
    }
  }
  const timer = setInterval(look, pause)
  timer.unref()
  return () => {
    clearInterval(timer)
    look()
  }
}
