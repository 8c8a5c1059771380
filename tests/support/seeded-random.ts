/** Random choices, determined by a seed. */
export type Random = {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly next: () => number
  /** True with this probability. */
  readonly chance: (probability: number) => boolean
  /** An integer from 0 (inclusive) to `end` (exclusive). */
  readonly below: (end: number) => number
  /** An integer, both bounds inclusive. */
  readonly integer: (from: number, to: number) => number
  readonly pick: <T>(choices: readonly [T, ...T[]]) => T
  /** Between `least` and `most` items, created one by one. */
  readonly some: <T>(least: number, most: number, make: () => T) => T[]
}

/** Mulberry32: small, and uniform enough for test inputs. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (end: number): number => Math.floor(next() * end)
  return {
    next,
    chance: (probability) => next() < probability,
    below,
    integer: (from, to) => from + below(to - from + 1),
    pick: (choices) => choices[below(choices.length)] ?? choices[0],
    some: (least, most, make) => Array.from({ length: least + below(most - least + 1) }, make),
  }
}

const printed = new Set<number>()

/**
 * The seed of a test's generated input: that of the environment variable `SEED`, or always the same one, so that a failure
 * belongs to a change. It is printed.
 */
export function testSeed(fixed = 1): number {
  const seed = Number(process.env.SEED ?? fixed)
  if (!printed.has(seed)) console.log(`# SEED=${seed}`)
  printed.add(seed)
  return seed
}
