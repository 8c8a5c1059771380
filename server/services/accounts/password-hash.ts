// Hashes of passwords: argon2id for new ones. Imported and seeded accounts may have hashes of bcrypt, argon2i or Firebase.
// All of this blocks its thread for some 30 ms, imported hashes for longer: servers call it through `password.ts`.
import { randomBytes } from 'node:crypto'
import { isFirebaseScrypt, verifyFirebaseScrypt } from './firebase-scrypt.ts'
import { argon2Package, bcryptPackage } from './native-hashes.ts'

/**
 * Argon2id is the library's default.
 * https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id
 */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const currentPrefix = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$`

const argon2 = /^\$argon2id?\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/
/** KiB, passes and threads. GoTrue has the same limits. */
const argon2Limits = [1024 * 1024, 20, 16] as const
const bcrypt = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/
/** A cost of 16 takes about 4 s. */
const maxBcryptCost = 16

/** Other keyboards may send the same password in another normal form (RFC 8265, section 4.2). */
const normalised = (password: string): string => password.normalize('NFC')

/** The argon2id hash of a password, in PHC string format. */
export const hashPassword = (password: string): string => argon2Package().hashSync(normalised(password), cost)

/** Text in the format of our own hashes that belongs to no known password. */
export const placeholderHash = (): string =>
  currentPrefix + [16, 32].map((bytes) => randomBytes(bytes).toString('base64').replace(/=+$/, '')).join('$')

/** Whether a hash was computed with another algorithm or cost than `hashPassword` uses. */
export const isOutdated = (passwordHash: string): boolean => !passwordHash.startsWith(currentPrefix)

/**
 * Whether the text is a hash that `verifyHash` can compare: bcrypt (`$2a$`, `$2b$`, `$2y$`), argon2i, argon2id, or
 * Firebase's scrypt (`$fbscrypt$`), with a cost that takes seconds at most.
 */
export const isPasswordHash = (text: string): boolean => isArgon2(text) || isBcrypt(text) || isFirebaseScrypt(text)

/** Compares a password with a hash; false for a text that is not a hash. */
export function verifyHash(passwordHash: string, password: string): boolean {
  if (isArgon2(passwordHash)) return verifyArgon2Hash(passwordHash, password)
  // These hashes were computed from the text as it was sent.
  if (isBcrypt(passwordHash)) return bcryptPackage().verifySync(password, passwordHash)
  return verifyFirebaseScrypt(passwordHash, password)
}

/** Our own hashes are of the normalised password, imported ones of the text as it was sent. */
function verifyArgon2Hash(passwordHash: string, password: string): boolean {
  const { verifySync } = argon2Package()
  if (verifySync(passwordHash, normalised(password))) return true
  return isOutdated(passwordHash) && normalised(password) !== password && verifySync(passwordHash, password)
}

function isArgon2(text: string): boolean {
  const [, ...parameters] = argon2.exec(text) ?? []
  return parameters.length > 0 && argon2Limits.every((limit, i) => Number(parameters[i]) <= limit)
}

function isBcrypt(text: string): boolean {
  const [, power] = bcrypt.exec(text) ?? []
  return power !== undefined && Number(power) <= maxBcryptCost
}
