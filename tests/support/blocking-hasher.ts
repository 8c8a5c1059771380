// Hashes passwords in the process of the test, which starts no other one for it.
import type { PasswordHasher } from '../../server/services/accounts/hash-processes.ts'
import { hashPassword, verifyHash } from '../../server/services/accounts/password-hash.ts'

export const blockingHasher: PasswordHasher = {
  hash: (password) => Promise.resolve(hashPassword(password)),
  verify: (passwordHash, password) => Promise.resolve(verifyHash(passwordHash, password)),
}
