// Passwords: hashed with argon2id.
import { randomBytes } from 'node:crypto'
import { hash, verify } from '@node-rs/argon2'

/** https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html#argon2id (the default algorithm) */
const cost = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** The same password typed on another keyboard may come in another normal form (RFC 8265, section 4.2). */
const normalised = (password: string): string => password.normalize('NFC')

export const hashPassword = (password: string): Promise<string> => hash(normalised(password), cost)

export type PasswordVerifier = (passwordHash: string | undefined, password: string) => Promise<boolean>

/**
 * A verifier that takes as long for an account that does not exist (no hash: never right) as for a wrong password.
 */
export function createPasswordVerifier(): PasswordVerifier {
  // Made in advance: making it for the first such request would tell that request from others.
  const nobodys = hashPassword(randomBytes(16).toString('hex'))
  return async (passwordHash, password) => {
    const right = await verify(passwordHash ?? (await nobodys), normalised(password))
    return right && passwordHash !== undefined
  }
}
