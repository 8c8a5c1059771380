// What other work does to reads: rounds without it and with it, in turn.
import { setTimeout as pause } from 'node:timers/promises'
import type { Played } from './load.ts'
import { median } from './results.ts'

export type Slowdown = {
  /** Median 99th percentiles of the rounds, in milliseconds. */
  readonly alone: number
  readonly together: number
  readonly ratio: number
  /** How much of the other work was done while it was measured. */
  readonly done: number
}

/**
 * @param read plays reads for some seconds
 * @param work does some of the other work, and returns how much; several run at once, each again and again
 */
export async function measureSlowdown(
  read: () => Promise<Played>,
  work: () => Promise<number>,
  { rounds, atOnce }: { readonly rounds: number; readonly atOnce: number },
): Promise<Slowdown> {
  const alone: number[] = []
  const together: number[] = []
  let done = 0
  await read()
  for (let round = 0; round < rounds; round++) {
    alone.push((await read()).p99)
    let goesOn = true
    const workers = Array.from({ length: atOnce }, async () => {
      while (goesOn) {
        const more = await work()
        if (goesOn) done += more
      }
    })
    await pause(500)
    together.push((await read()).p99)
    goesOn = false
    await Promise.all(workers)
    await pause(500)
  }
  const [before = NaN, during = NaN] = [median(alone), median(together)]
  return { alone: before, together: during, ratio: during / before, done }
}

/** A line for people, with the goal. */
export const slowdownLine = ({ alone, together, ratio, done }: Slowdown, what: string, goal: number): string =>
  `p99 of reads: ${alone.toFixed(1)} ms alone, ${together.toFixed(1)} ms during ${done} ${what}: ` +
  `${ratio.toFixed(2)} times (goal: ${goal})`
