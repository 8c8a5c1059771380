// Hashes passwords in the process of the test, which starts no other one for it.
import { hashPassword, verifyHash } from '../../server/services/accounts/password-hash.ts'
import { rememberHashes } from './remembered-hashes.ts'

export const blockingHasher = rememberHashes({
  hash: (password) => Promise.resolve(hashPassword(password)),
  verify: (passwordHash, password) => Promise.resolve(verifyHash(passwordHash, password)),
})
