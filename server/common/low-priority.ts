// The priority of processes that requests must not wait for.
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { constants, setPriority } from 'node:os'

/**
 * Lets other processes, such as that of requests to the REST API, go before this one on a busy machine: it may get no
 * processor time at all there. On Linux a priority belongs to a thread: later threads inherit it from the one that starts
 * them, but images are decoded by threads of libuv's pool, which exist already.
 *
 * A process with a high nice value still runs to the end of its time slice while others wait, unlike one with the policy
 * SCHED_IDLE: with uploads all the time, the 99th percentile of reads was 1.42 times that without, with the policy 1.20,
 * and four fifths as many images were analysed.
 */
export function lowerPriority(): void {
  const { PRIORITY_LOW: priority } = constants.priority
  setPriority(priority)
  if (process.platform !== 'linux') return
  try {
    execFileSync('chrt', ['--idle', '--all-tasks', '--pid', '0', String(process.pid)], {
      stdio: 'ignore',
      timeout: 5000,
    })
  } catch {
    // util-linux is not installed, or a sandbox does not permit it.
  }
  for (const thread of readdirSync('/proc/self/task')) {
    try {
      setPriority(Number(thread), priority)
    } catch {
      // The thread has ended.
    }
  }
}
