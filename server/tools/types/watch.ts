// Follows changes of a database's schema. PostgreSQL has no notification of all of them, so the catalogue is read again and
// again.
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalogue } from './catalogue.ts'

export type Watch = {
  /** Connects, and runs `use` with a function that reads the current catalogue. */
  readonly connect: (use: (read: () => Promise<Catalogue>) => Promise<void>) => Promise<void>
  /** Called with the first catalogue and each that differs from the one before. */
  readonly onChange: (catalogue: Catalogue) => Promise<void>
  /** Called with the error that interrupts watching; once for an error that repeats itself. */
  readonly onError: (error: unknown) => void
  /** Ends watching. */
  readonly signal: AbortSignal
  /** Milliseconds between two readings. */
  readonly pause?: number
}

/**
 * Watches until the signal. Connects again when the connection is lost.
 *
 * @throws the error of the first reading or `onChange`: of a wrong setting rather than of a database that restarts
 */
export async function watchCatalogue({ connect, onChange, onError, signal, pause = 1000 }: Watch): Promise<void> {
  let last: string | undefined
  let reported: string | undefined
  const rest = (): Promise<unknown> => delay(pause, undefined, { signal }).catch(() => undefined)
  const follow = async (read: () => Promise<Catalogue>): Promise<void> => {
    while (!signal.aborted) {
      const catalogue = await read()
      const text = JSON.stringify(catalogue)
      if (text !== last) await onChange(catalogue)
      last = text
      reported = undefined
      await rest()
    }
  }
  while (!signal.aborted) {
    try {
      await connect(follow)
    } catch (error) {
      if (last === undefined) throw error
      const message = String(error)
      if (message !== reported) onError(error)
      reported = message
      await rest()
    }
  }
}
