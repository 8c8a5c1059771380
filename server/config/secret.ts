// Resolves the JWT secret.
import { SecretError, verificationKeys } from '../identity/jwt/jwt-keys.ts'

/**
 * Reads `@file`, decodes base64, and checks that the result contains valid keys. A newline at the end of a file is not
 * part of the secret.
 *
 * @throws SecretError; the error of `readFile`
 */
export function resolveSecret(given: string, isBase64: boolean, readFile: (path: string) => Buffer): string | Buffer {
  const bytes = given.startsWith('@') ? withoutLineEnd(readFile(given.slice(1))) : Buffer.from(given)
  const secret = isBase64 ? decodeBase64(bytes.toString()) : bytes
  verificationKeys(secret)
  return isBase64 ? secret : textOrBytes(secret)
}

const withoutLineEnd = (bytes: Buffer): Buffer => (bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes)

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
