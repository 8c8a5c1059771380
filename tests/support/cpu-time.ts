// Measures work independently of other load on the machine.

/**
 * Milliseconds of processor time that this process spends on a piece of work. Unlike wall-clock time, it does not
 * grow while other processes run.
 */
export function cpuTime(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
