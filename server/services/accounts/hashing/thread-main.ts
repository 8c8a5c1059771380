// The thread that hashes passwords: performs one task after the other.
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { basename } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { hashPassword, verifyHash } from '../password-hash.ts'
import type { HashResult, HashTask } from './hash-task.ts'

/**
 * The nice value of the thread. When all CPUs are busy, it gets about a thirtieth of what the thread of requests gets.
 * With 0, a flood of sign-ins made the 99th percentile of reads twelve times as long on two CPUs, with 10 twice as long.
 */
const niceness = 15

/** On Linux, a priority belongs to a thread. On other systems the thread keeps that of the process. */
function lowerPriority(): void {
  if (process.platform !== 'linux') return
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), niceness)
  } catch {
    // There is no /proc, or a sandbox does not permit it.
  }
}

function perform(task: HashTask): HashResult {
  try {
    return { result: task.kind === 'hash' ? hashPassword(task.password) : verifyHash(task.passwordHash, task.password) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

lowerPriority()
parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(perform(task)))
