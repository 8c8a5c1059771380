// Measures work independently of other load on the machine.

/**
 * Milliseconds of processor time that this process spends on a piece of work. Unlike wall-clock time, it does not
 * grow while other processes run.
 */
export function cpuTime(work: () => void): number {
  const before = process.cpuUsage()
  work()
  return millisecondsSince(before)
}

/** The same for work that ends with a promise. Includes the work of other threads, such as hashing. */
export async function cpuTimeUntil(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  return millisecondsSince(before)
}

function millisecondsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
