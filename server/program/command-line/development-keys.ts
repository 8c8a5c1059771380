// What a developer needs to try the service at once: a user, and three keys, kept with the data.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readPrivate, replacePrivate } from '../../postgres/embedded/private-file.ts'
import type { NewKey } from './dependencies.ts'

export type DevelopmentKeys = {
  /** Acts as `anon`. */
  readonly publishableKey: string
  /** Acts as `service_role`, past every policy. */
  readonly secretKey: string
  /** Somebody whose rows the examples read and write; the secret key belongs to nobody, so it has no `auth.uid()`. */
  readonly user: {
    readonly id: string
    readonly email: string
    readonly password: string
    /** Acts as `authenticated`, as this user. */
    readonly key: string
  }
}

export type DevelopmentAccounts = {
  /** Registers a user; null when the address is taken. */
  readonly createUser: (email: string, password: string) => Promise<string | null>
  /** Makes an API key, and returns its secret. */
  readonly createKey: (wanted: NewKey) => Promise<string>
  /** Whether the database still knows a key. */
  readonly isValidKey: (key: string) => Promise<boolean>
}

/**
 * The development keys of a data folder: those in its `keys.json`, or new ones when there are none or one of them does
 * not work any more (revoked, or the database was made anew).
 */
export async function ensureDevelopmentKeys(dataDir: string, accounts: DevelopmentAccounts): Promise<DevelopmentKeys> {
  const file = join(dataDir, 'keys.json')
  const kept = parseKeys(await readPrivate(file))
  if (kept && (await allValid(kept, accounts))) return kept
  const keys = await makeKeys(accounts)
  await replacePrivate(file, `${JSON.stringify(keys, null, 2)}\n`)
  return keys
}

async function allValid(
  { publishableKey, secretKey, user }: DevelopmentKeys,
  accounts: DevelopmentAccounts,
): Promise<boolean> {
  for (const key of [publishableKey, secretKey, user.key]) if (!(await accounts.isValidKey(key))) return false
  return true
}

async function makeKeys(accounts: DevelopmentAccounts): Promise<DevelopmentKeys> {
  const password = randomBytes(12).toString('base64url')
  const { id, email } = await makeUser(password, accounts)
  return {
    publishableKey: await accounts.createKey({ role: 'anon', label: 'development, publishable' }),
    secretKey: await accounts.createKey({ role: 'service_role', label: 'development, secret' }),
    user: {
      id,
      email,
      password,
      key: await accounts.createKey({ role: 'authenticated', userId: id, label: `development, as ${email}` }),
    },
  }
}

/** The password of an earlier development user may be lost with its file, so that one is left alone. */
async function makeUser(password: string, { createUser }: DevelopmentAccounts): Promise<{ id: string; email: string }> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const email = attempt === 0 ? 'developer@example.com' : `developer-${randomBytes(3).toString('hex')}@example.com`
    const id = await createUser(email, password)
    if (id !== null) return { id, email }
  }
  throw new Error('The development user could not be registered: every address tried is taken.')
}

function parseKeys(text: string | null): DevelopmentKeys | null {
  if (text === null) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const { publishableKey, secretKey, user } = asRecord(value)
  const { id, email, password, key } = asRecord(user)
  const all = [publishableKey, secretKey, id, email, password, key]
  // A file that somebody has spoilt is as good as none: new keys are no loss.
  return all.every((text) => typeof text === 'string') ? (value as DevelopmentKeys) : null
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
