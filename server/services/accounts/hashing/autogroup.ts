// The scheduling group that Linux makes of a session of processes: sched(7), "The autogroup feature".
import { writeFileSync } from 'node:fs'

/** Milliseconds. Users other than root may change one such priority of the whole system in a tenth of a second. */
const retryInterval = 150

/**
 * Sets the nice value of the session of this process, which must be its own. Outside of control groups, Linux distributes
 * processor time by session, and the nice values of processes count only within one. Where another process changes such a
 * value at the same moment, this one is set a little later. Has no effect on other systems, and in control groups.
 *
 * @param niceness -20 to 19
 */
export function setAutogroupNiceness(niceness: number): void {
  try {
    writeFileSync('/proc/self/autogroup', String(niceness))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return
    setTimeout(() => setAutogroupNiceness(niceness), retryInterval).unref()
  }
}
