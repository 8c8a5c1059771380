// Processes that hash passwords, as tests see them.
import { readFileSync } from 'node:fs'
import { placeholderHash } from '../../server/services/accounts/password-hash.ts'
import { childProcesses } from './child-processes.ts'

/** Text that the command line of such a process contains. */
export const hashing = '/hashing/hash-program.'

/** The processes that hash passwords for this one since the call. */
export async function newHashProcesses(): Promise<() => Promise<readonly number[]>> {
  const before = await childProcesses(process.pid, hashing)
  return async () => (await childProcesses(process.pid, hashing)).filter((pid) => !before.includes(pid))
}

/** SCHED_OTHER and SCHED_IDLE; see sched(7). */
export const [ordinary, idle] = [0, 5]

/** Session, nice value and scheduling policy of a process; see proc_pid_stat(5). */
export function priorityOf(pid: number | 'self') {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { session: Number(fields[3]), niceness: Number(fields[16]), policy: Number(fields[38]) }
}

/** Those that all others go before. */
export const lowestOf = (pids: readonly number[]): readonly number[] =>
  pids.filter((pid) => priorityOf(pid).policy === idle)

/** Like a hash of ours that takes a second or more to compute. */
export const slowHash = (): string => placeholderHash().replace('m=19456,t=2', 'm=262144,t=8')
