// Recovery codes, which replace a lost second factor.
import { createHash, randomBytes } from 'node:crypto'

/** RFC 4648's Base32 in lower case: 32 characters, none of which look alike. */
const alphabet = 'abcdefghijklmnopqrstuvwxyz234567'
/** 80 bits: a hash can be stored without a salt or stretching. */
const length = 16
const amount = 10

/** Ten new codes, `abcd-efgh-ijkl-mnop`. */
export const createRecoveryCodes = (): readonly string[] =>
  Array.from({ length: amount }, () => grouped(Array.from(randomBytes(length), (byte) => alphabet[byte % 32]).join('')))

const grouped = (text: string): string => text.replaceAll(/(.{4})(?!$)/g, '$1-')

/**
 * The code that a user has typed, without regard to case, dashes and white space. Undefined for other text, such as a
 * code of an authenticator app.
 */
export function recoveryCodeIn(text: string): string | undefined {
  const code = text.toLowerCase().replaceAll(/[\s-]/g, '')
  return /^[a-z2-7]{16}$/.test(code) ? grouped(code) : undefined
}

/** What is stored: a hexadecimal SHA-256, different for each user. */
export const hashRecoveryCode = (userId: string, code: string): string =>
  createHash('sha256')
    .update(JSON.stringify([userId, code]))
    .digest('hex')
