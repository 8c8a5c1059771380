// Checks the secrets and keys of tokens.
import { checkKeys } from '../identity/jwt/key-set.ts'
import { SecretError, verificationKeys } from '../identity/jwt/jwt-keys.ts'
import type { Reading } from './setting.ts'
import { invalid, value } from './setting-reading.ts'

/**
 * Decodes base64, and checks that the result contains valid keys.
 *
 * @throws SecretError
 */
export function decodeSecret(given: string | Buffer, isBase64: boolean): string | Buffer {
  const secret = isBase64 ? decodeBase64(String(given)) : Buffer.from(given)
  verificationKeys(secret)
  return isBase64 ? secret : textOrBytes(secret)
}

/** A secret that is not encoded. */
export const checkedSecret = (given: string | Buffer): Reading<string> =>
  checked(String(given), () => decodeSecret(given, false))

/** JSON Web Keys as JSON text. */
export const checkedKeys = (text: string): Reading<string> => checked(text, () => checkKeys(text))

/** A newline at the end of a file is not part of its secret. */
export const withoutLineEnd = (bytes: Buffer): Buffer => (bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes)

function checked(text: string, check: () => unknown): Reading<string> {
  try {
    check()
    return value(text)
  } catch (error) {
    return invalid(error instanceof Error ? error.message : String(error))
  }
}

const base64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/

/** Also accepts base64url, and dots as padding. */
function decodeBase64(text: string): Buffer {
  const standard = text.trim().replaceAll('_', '/').replaceAll('-', '+').replaceAll('.', '=')
  if (!base64.test(standard)) throw new SecretError('the secret is not valid base64')
  return Buffer.from(standard, 'base64')
}

function textOrBytes(bytes: Buffer): string | Buffer {
  const text = bytes.toString()
  return Buffer.from(text).equals(bytes) ? text : bytes
}
