// The program of a process that hashes passwords: performs one task after the other, until the server closes the channel.
import { setPriority } from 'node:os'
import { hashPassword, verifyHash } from '../password-hash.ts'
import { setAutogroupNiceness } from './autogroup.ts'
import type { HashResult, HashTask } from './hash-task.ts'

/**
 * When all CPUs are busy, the process gets about a thirtieth of what the thread of requests gets. On two CPUs, a flood of
 * sign-ins makes the 99th percentile of reads 1.5 to 2.1 times as long, and made it 1.9 to 2.6 times as long when threads
 * of the server with the same nice value hashed.
 */
const niceness = 15

function perform(task: HashTask): HashResult {
  try {
    return { result: task.kind === 'hash' ? hashPassword(task.password) : verifyHash(task.passwordHash, task.password) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

setPriority(niceness)
setAutogroupNiceness(niceness)
// The server may have ended meanwhile, which ends this process, too.
process.on('message', (task: HashTask) => process.send?.(perform(task), () => undefined))
process.on('disconnect', () => process.exit())
