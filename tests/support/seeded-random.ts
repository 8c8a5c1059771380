/** Choices that are the same for the same seed. */
export type Random = {
  /** Whether something happens that does so with this probability. */
  readonly chance: (probability: number) => boolean
  /** A whole number from 0 up to, and without, `end`. */
  readonly below: (end: number) => number
  readonly pick: <T>(choices: readonly [T, ...T[]]) => T
  /** Between `least` and `most` things, made one by one. */
  readonly some: <T>(least: number, most: number, make: () => T) => T[]
}

/** Mulberry32: small, and even enough to choose test inputs. */
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
    chance: (probability) => next() < probability,
    below,
    pick: (choices) => choices[below(choices.length)] ?? choices[0],
    some: (least, most, make) => Array.from({ length: least + below(most - least + 1) }, make),
  }
}
