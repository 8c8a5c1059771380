// The program of a process that hashes passwords: performs one task after the other, until the server closes the channel.
import { constants, setPriority } from 'node:os'
import { lowerPriority } from '../../../common/low-priority.ts'
import { Pace } from '../../../common/pace.ts'
import { hashPassword, verifyHash } from '../password-hash.ts'
import { setAutogroupNiceness } from './autogroup.ts'
import type { HashPriority, HashResult, HashTask } from './hash-task.ts'

const lowNiceness = 15
/** Milliseconds between two tasks, on a busy processor. Shorter than the patience of the server. */
const longestRest = 100

function perform(task: HashTask): HashResult {
  try {
    return { result: task.kind === 'hash' ? hashPassword(task.password) : verifyHash(task.passwordHash, task.password) }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

const isLowest = (process.argv[2] as HashPriority) === 'lowest'
if (isLowest) lowerPriority()
else setPriority(lowNiceness)
setAutogroupNiceness(isLowest ? constants.priority.PRIORITY_LOW : lowNiceness)
const pace = new Pace(isLowest ? longestRest : 0)

async function answer(task: HashTask): Promise<void> {
  const result = await pace.run(() => Promise.resolve(perform(task)))
  // The server may have ended meanwhile, which ends this process, too.
  process.send?.(result, () => undefined)
}

process.on('message', (task: HashTask) => void answer(task))
process.on('disconnect', () => process.exit())
