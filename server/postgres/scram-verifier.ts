// Computes what PostgreSQL stores for a password, so that the password itself appears in no statement and no server
// log.
// https://www.rfc-editor.org/rfc/rfc5802#section-3,
// https://www.postgresql.org/docs/current/catalog-pg-authid.html
import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

const iterations = 4096
const length = 32

// RFC 3454, tables C.1.2 (mapped to a space) and B.1 (mapped to nothing).
const blank = /[\u00A0\u1680\u2000-\u200B\u202F\u205F\u3000]/g
const leftOut = /\u00AD|\u034F|\u1806|[\u180B-\u180D]|\u200C|\u200D|\u2060|[\uFE00-\uFE0F]|\uFEFF/g

/**
 * Applies the mappings and the normalization of SASLprep, as clients do, but does not reject prohibited characters.
 * https://www.rfc-editor.org/rfc/rfc4013#section-2
 */
const prepared = (password: string): string => password.replace(blank, ' ').replace(leftOut, '').normalize('NFKC')

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/**
 * The SCRAM-SHA-256 verifier of a password, as `alter role … password` accepts it. It works with `scram-sha-256` and
 * with `md5` in `pg_hba.conf`, whatever `password_encryption` is set to.
 *
 * @param salt by default 16 random bytes
 */
export async function scramVerifier(password: string, salt: Buffer = randomBytes(16)): Promise<string> {
  const salted = await promisify(pbkdf2)(prepared(password), salt, iterations, length, 'sha256')
  const storedKey = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64')
  const serverKey = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
