// The secrets of a data folder, which are generated once.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { EmbeddedDatabaseError } from './embedded-error.ts'
import { createPrivate, readPrivate } from './private-file.ts'

export type Secrets = {
  readonly superuserPassword: string
  readonly authenticatorPassword: string
  /** Signs and verifies JWTs if no other secret is configured. */
  readonly jwtSecret: string
  /** Signs session cookies if no other secret is configured. */
  readonly sessionSecret: string
}

const random = (): string => randomBytes(32).toString('base64url')

const makeSecrets = (): Secrets => ({
  superuserPassword: random(),
  authenticatorPassword: random(),
  jwtSecret: random(),
  sessionSecret: random(),
})

/**
 * The secrets of a data folder, generated on first use. Concurrent processes get the same ones.
 * @throws {EmbeddedDatabaseError} when their file is damaged
 */
export async function ensureSecrets(dataDir: string): Promise<Secrets> {
  const file = join(dataDir, 'secrets.json')
  const kept = await readPrivate(file)
  if (kept !== null) return parseSecrets(file, kept)
  await createPrivate(file, `${JSON.stringify(makeSecrets(), null, 2)}\n`)
  return parseSecrets(file, (await readPrivate(file)) ?? '')
}

function parseSecrets(file: string, text: string): Secrets {
  const broken = (): EmbeddedDatabaseError =>
    new EmbeddedDatabaseError(
      `${file} does not contain valid secrets. Restore it, or remove the whole folder to start without its data.`,
    )
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw broken()
  }
  if (typeof value !== 'object' || value === null) throw broken()
  const known = value as Readonly<Record<keyof Secrets, unknown>>
  const secret = (name: keyof Secrets): string => {
    const found = known[name]
    // Secrets are inserted into connection strings unescaped.
    if (typeof found !== 'string' || !/^[\w-]{32,}$/.test(found)) throw broken()
    return found
  }
  return {
    superuserPassword: secret('superuserPassword'),
    authenticatorPassword: secret('authenticatorPassword'),
    jwtSecret: secret('jwtSecret'),
    sessionSecret: secret('sessionSecret'),
  }
}
