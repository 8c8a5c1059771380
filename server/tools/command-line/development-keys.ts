// A user and three keys for development, stored in the data folder.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { readPrivate, replacePrivate } from '../../postgres/embedded/private-file.ts'
import type { NewKey } from './dependencies.ts'

export type DevelopmentKeys = {
  /** Acts as `anon`. */
  readonly publishableKey: string
  /** Acts as `service_role`, which bypasses all policies. */
  readonly secretKey: string
  /** The user of the examples. The secret key belongs to no user, so it has no `auth.uid()`. */
  readonly user: {
    readonly id: string
    readonly email: string
    readonly password: string
    /** Acts as `authenticated`, as this user. */
    readonly key: string
  }
}

export type DevelopmentAccounts = {
  /** Registers a user. Returns null when the address is taken. */
  readonly createUser: (email: string, password: string) => Promise<string | null>
  /** Creates an API key and returns its secret. */
  readonly createKey: (wanted: NewKey) => Promise<string>
  /** Whether a key is still valid. */
  readonly isValidKey: (key: string) => Promise<boolean>
}

/** The file of the development keys in the data folder. */
export const keysFile = 'keys.json'

/** The keys to print: passwords belong into no output. */
export const withoutPassword = ({ user: { id, email, key }, ...keys }: DevelopmentKeys): object => ({
  ...keys,
  user: { id, email, key },
})

/**
 * The development keys of a data folder, from its `keys.json`. Creates new ones if the file is missing or a key is invalid
 * (because it was revoked or the database is new).
 */
export async function ensureDevelopmentKeys(dataDir: string, accounts: DevelopmentAccounts): Promise<DevelopmentKeys> {
  const file = join(dataDir, keysFile)
  const kept = await readDevelopmentKeys(file)
  if (kept && (await allValid(kept, accounts))) return kept
  const keys = await makeKeys(accounts)
  await replacePrivate(file, `${JSON.stringify(keys, null, 2)}\n`)
  return keys
}

/** The keys of a file; null if it is missing or not valid. */
export const readDevelopmentKeys = async (file: string): Promise<DevelopmentKeys | null> =>
  parseKeys(await readPrivate(file))

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

/** Registers a new user. The password of an earlier development user may be lost with the file. */
async function makeUser(password: string, { createUser }: DevelopmentAccounts): Promise<{ id: string; email: string }> {
  for (let attempt = 0; attempt < 5; attempt++) {
    const email = attempt === 0 ? 'developer@example.com' : `developer-${randomBytes(3).toString('hex')}@example.com`
    const id = await createUser(email, password)
    if (id !== null) return { id, email }
  }
  throw new Error('Registering the development user failed: all tried addresses are taken.')
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
  // An invalid file is replaced, because new development keys are no loss.
  return all.every((text) => typeof text === 'string') ? (value as DevelopmentKeys) : null
}

const asRecord = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
