// What work costs, whatever else the machine does meanwhile.

/**
 * Milliseconds of processor time that this process takes for a piece of work. Unlike the time on the clock it does not
 * grow while other processes run.
 */
export function cpuTime(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
