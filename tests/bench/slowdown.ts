// What other requests do to reads: rounds without them and with them, in turn.
import { setTimeout as pause } from 'node:timers/promises'
import { backgroundClients, type BackgroundLoad } from './background-clients.ts'
import type { Played } from './load.ts'
import { median } from './results.ts'

export type Slowdown = {
  /** Median 99th percentiles of the rounds, in milliseconds. */
  readonly alone: number
  readonly together: number
  readonly ratio: number
  /** How many of the other requests were answered while reads were measured. */
  readonly done: number
}

/** @param read plays reads for some seconds */
export async function measureSlowdown(
  read: () => Promise<Played>,
  load: BackgroundLoad,
  { rounds }: { readonly rounds: number },
): Promise<Slowdown> {
  const alone: number[] = []
  const together: number[] = []
  let done = 0
  const clients = backgroundClients(load)
  try {
    await read()
    for (let round = 0; round < rounds; round++) {
      alone.push((await read()).p99)
      clients.start()
      await pause(500)
      together.push((await read()).p99)
      done = await clients.stop()
      await pause(500)
    }
  } finally {
    clients.close()
  }
  const [before = NaN, during = NaN] = [median(alone), median(together)]
  return { alone: before, together: during, ratio: during / before, done }
}

/** A line for people, with the goal. */
export const slowdownLine = ({ alone, together, ratio, done }: Slowdown, what: string, goal: number): string =>
  `p99 of reads: ${alone.toFixed(1)} ms alone, ${together.toFixed(1)} ms during ${done} ${what}: ` +
  `${ratio.toFixed(2)} times (goal: ${goal})`
