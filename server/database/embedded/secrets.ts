// The secrets of a data folder: made once, kept, and readable by nobody else.
import { randomBytes } from 'node:crypto'
import { chmod, link, open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { EmbeddedDatabaseError, isFault } from './fault.ts'

export type Secrets = {
  readonly superuserPassword: string
  readonly authenticatorPassword: string
  /** Signs and verifies JWTs where no other secret is configured. */
  readonly jwtSecret: string
  /** Signs session cookies where no other secret is configured. */
  readonly sessionSecret: string
}

const random = (): string => randomBytes(32).toString('base64url')

const makeSecrets = (): Secrets => ({
  superuserPassword: random(),
  authenticatorPassword: random(),
  jwtSecret: random(),
  sessionSecret: random(),
})

/** The secrets of a data folder, made when it has none yet. */
export async function ensureSecrets(dataDir: string): Promise<Secrets> {
  const file = join(dataDir, 'secrets.json')
  try {
    return await readSecrets(file)
  } catch (error) {
    if (!isFault(error, 'ENOENT')) throw error
    await createOnce(file, `${JSON.stringify(makeSecrets(), null, 2)}\n`)
    return readSecrets(file)
  }
}

async function readSecrets(file: string): Promise<Secrets> {
  const text = await readFile(file, 'utf8')
  await keepPrivate(file)
  const broken = (): EmbeddedDatabaseError =>
    new EmbeddedDatabaseError(
      `${file} does not hold the secrets it should. Restore it, or remove the whole folder to begin anew without its data.`,
    )
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw broken()
  }
  if (typeof value !== 'object' || value === null) throw broken()
  const known = value as Record<keyof Secrets, unknown>
  const secret = (name: keyof Secrets): string => {
    const found = known[name]
    if (typeof found !== 'string' || found.length < 32) throw broken()
    return found
  }
  return {
    superuserPassword: secret('superuserPassword'),
    authenticatorPassword: secret('authenticatorPassword'),
    jwtSecret: secret('jwtSecret'),
    sessionSecret: secret('sessionSecret'),
  }
}

/** Takes away what others may do with a file of secrets; a copy made by hand often has too much. */
export async function keepPrivate(file: string): Promise<void> {
  const { mode } = await stat(file)
  if ((mode & 0o077) !== 0) await chmod(file, 0o600)
}

/** Writes a private file whole or not at all. One that is there already stays as it is. */
export async function createOnce(file: string, text: string): Promise<void> {
  const draft = `${file}.${randomBytes(6).toString('hex')}`
  try {
    await writeDraft(draft, text)
    await link(draft, file).catch((error: unknown) => {
      if (!isFault(error, 'EEXIST')) throw error
    })
  } finally {
    await rm(draft, { force: true })
  }
}

async function writeDraft(draft: string, text: string): Promise<void> {
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
}
