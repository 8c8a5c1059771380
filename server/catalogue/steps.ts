// Work that is divided into steps, so that the event loop can do other work in between: building the schema cache of a
// large database takes longer than requests should wait.
import { setImmediate, setTimeout } from 'node:timers/promises'

/** A computation with the result `T`. It may be interrupted wherever it yields. */
export type Steps<T> = Generator<undefined, T, undefined>

/** Computes the result without interruption. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** Milliseconds of rest after work that took `elapsed` milliseconds, at least 0. Called after the work. */
export type Rest = (elapsed: number) => number

export const noRest: Rest = () => 0

/**
 * Computes the same result in slices: after each, the event loop handles what has arrived.
 *
 * @param slice milliseconds after which a slice ends with its current step
 */
export async function inSlices<T>(steps: Steps<T>, slice: number, restAfter: Rest = noRest): Promise<T> {
  for (;;) {
    const start = performance.now()
    let elapsed: number
    do {
      const step = steps.next()
      if (step.done === true) return step.value
      elapsed = performance.now() - start
    } while (elapsed < slice)
    const rest = restAfter(elapsed)
    await (rest > 0 ? setTimeout(rest) : setImmediate())
  }
}

/** Number of items that are handled in one step: a fraction of a millisecond. */
const itemsPerStep = 32

/** Calls `use` for every item. */
export function* eachOf<T>(items: Iterable<T>, use: (item: T) => void): Steps<undefined> {
  let left = itemsPerStep
  for (const item of items) {
    use(item)
    if (--left > 0) continue
    left = itemsPerStep
    yield
  }
  return undefined
}

/** `Array.flatMap` */
export function* flatMapOf<T, U>(items: Iterable<T>, use: (item: T) => readonly U[]): Steps<U[]> {
  const results: U[] = []
  yield* eachOf(items, (item) => {
    for (const result of use(item)) results.push(result)
  })
  return results
}

/** Whether the items are in ascending order. */
export function* isSorted<T>(items: readonly T[], compare: (a: T, b: T) => number): Steps<boolean> {
  let last: T | undefined
  let isSorted = true
  yield* eachOf(items, (item) => {
    if (last !== undefined && compare(last, item) > 0) isSorted = false
    last = item
  })
  return isSorted
}

/** `new Map(array.map(use))` */
export function* mapOf<T, K, V>(items: Iterable<T>, use: (item: T) => readonly [K, V]): Steps<Map<K, V>> {
  const results = new Map<K, V>()
  yield* eachOf(items, (item) => {
    const [key, value] = use(item)
    results.set(key, value)
  })
  return results
}

/** Lists of the items with the same key, in the order of the items. */
export function* groupsOf<T>(items: Iterable<T>, keyOf: (item: T) => string): Steps<Map<string, T[]>> {
  const groups = new Map<string, T[]>()
  yield* eachOf(items, (item) => {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  })
  return groups
}
