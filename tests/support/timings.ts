// Durations, formatted for a test's output.

/** The quantile of values; NaN if there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((one, other) => one - other)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN
}

/** `p50 1.2 ms, p99 3.4 ms, longest 5.6 ms (100)` */
export const figures = (values: readonly number[]): string =>
  `p50 ${quantile(values, 0.5).toFixed(1)} ms, p99 ${quantile(values, 0.99).toFixed(1)} ms, longest ${Math.max(0, ...values).toFixed(1)} ms (${values.length})`

/** Calls `act` repeatedly, one call at a time, until `isOver`. Returns the milliseconds of each call. */
export async function timeAll(isOver: () => boolean, act: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  while (!isOver()) {
    const start = performance.now()
    await act()
    times.push(performance.now() - start)
  }
  return times
}
