// The program of a process that hashes passwords.
import { serveTasks } from '../background/program.ts'
import { hashPassword, verifyHash } from './password-hash.ts'

export type HashTask =
  | { readonly kind: 'hash'; readonly password: string }
  | { readonly kind: 'verify'; readonly passwordHash: string; readonly password: string }

const perform = (task: HashTask): string | boolean =>
  task.kind === 'hash' ? hashPassword(task.password) : verifyHash(task.passwordHash, task.password)

serveTasks(() => Promise.resolve({ state: null, work: (task: HashTask) => Promise.resolve(perform(task)) }))
