// Repeatable random data: the same seed gives the same numbers.

export type Random = {
  /** A number from 0 (inclusive) to 1 (exclusive). */
  readonly next: () => number
  /** An integer, both bounds inclusive. */
  readonly integer: (from: number, to: number) => number
  readonly pick: <T>(items: readonly [T, ...T[]]) => T
}

/** The generator "mulberry32". */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const integer = (from: number, to: number): number => from + Math.floor(next() * (to - from + 1))
  return { next, integer, pick: (items) => items[integer(0, items.length - 1)] ?? items[0] }
}
