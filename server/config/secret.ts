// The JWT secret as the verifier takes it.
import { SecretError, verificationKeys } from '../identity/jwt/jwt-keys.ts'

/**
 * Reads `@file`, decodes base64, and makes sure that keys can be made of the result. The last line end of a file does not
 * belong to the secret.
 *
 * @throws SecretError; what `readFile` throws
 */
export function resolveSecret(given: string, isBase64: boolean, readFile: (path: string) => Buffer): string | Buffer {
  const bytes = given.startsWith('@') ? withoutLineEnd(readFile(given.slice(1))) : Buffer.from(given)
  const secret = isBase64 ? decodeBase64(bytes.toString()) : bytes
  verificationKeys(secret)
  return isBase64 ? secret : textOrBytes(secret)
}

const withoutLineEnd = (bytes: Buffer): Buffer => (bytes.at(-1) === 0x0a ? bytes.subarray(0, -1) : bytes)

const base64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/

/** The alphabet for URLs is welcome, too, also with a dot for padding. */
function decodeBase64(text: string): Buffer {
  const standard = text.trim().replaceAll('_', '/').replaceAll('-', '+').replaceAll('.', '=')
  if (!base64.test(standard)) throw new SecretError('the secret is not valid base64')
  return Buffer.from(standard, 'base64')
}

function textOrBytes(bytes: Buffer): string | Buffer {
  const text = bytes.toString()
  return Buffer.from(text).equals(bytes) ? text : bytes
}
