// The random texts of the OAuth server. The database has only hashes of those that are secrets.
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A secret of a client, or a code: 256 bits, in characters that no URL and no form encodes. */
export const newSecret = (): string => randomBytes(32).toString('base64url')

/** SHA-256 of a secret, as base64url. A secret that cannot be guessed needs no slow hash. GoTrue's form. */
export const hashOfSecret = (secret: string): string => createHash('sha256').update(secret).digest('base64url')

/** Whether a secret has a hash, in a time that does not depend on where they differ. */
export function hasHash(secret: string, hash: string): boolean {
  const given = Buffer.from(hashOfSecret(secret))
  const expected = Buffer.from(hash)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** The name of a request of a client for the page that asks the person: 192 bits. */
export const newAuthorizationId = (): string => randomBytes(24).toString('base64url')
