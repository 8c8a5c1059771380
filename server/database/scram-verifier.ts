// What PostgreSQL stores for a password, so that the password itself is in no statement and no server log.
// https://www.rfc-editor.org/rfc/rfc5802#section-3,
// https://www.postgresql.org/docs/current/catalog-pg-authid.html
import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'

const iterations = 4096
const length = 32

const hmac = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest()

/**
 * The SCRAM-SHA-256 verifier of a password, as `alter role … password` takes it. It works with `scram-sha-256` and with
 * `md5` in `pg_hba.conf`, whatever `password_encryption` is set to.
 *
 * @param salt 16 random bytes unless given
 */
export async function scramVerifier(password: string, salt: Buffer = randomBytes(16)): Promise<string> {
  const salted = await promisify(pbkdf2)(password.normalize('NFKC'), salt, iterations, length, 'sha256')
  const storedKey = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64')
  const serverKey = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${storedKey}:${serverKey}`
}
