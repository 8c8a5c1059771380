// Processes that hash passwords, as tests see them.
import { readFileSync } from 'node:fs'
import { placeholderHash } from '../../server/services/accounts/password-hash.ts'
import { childProcesses } from './child-processes.ts'

/** Text that the command line of such a process contains. */
export const hashing = '/accounts/hash-program.'

/** The processes that hash passwords for this one since the call. */
export async function newHashProcesses(): Promise<() => Promise<readonly number[]>> {
  const before = await childProcesses(process.pid, hashing)
  return async () => (await childProcesses(process.pid, hashing)).filter((pid) => !before.includes(pid))
}

/** The nice values of the threads of a process; see proc_pid_stat(5). */
export function nicenessOf(pid: number | 'self'): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
}

/** Like a hash of ours that takes a second or more to compute. */
export const slowHash = (): string => placeholderHash().replace('m=19456,t=2', 'm=262144,t=8')
