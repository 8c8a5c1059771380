// A user and three keys for development, stored in the data folder.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { replacePrivate } from '../../postgres/embedded/private-file.ts'
import { keysFile, readDevelopmentKeys, type DevelopmentKeys } from '../../running/development-keys-file.ts'
import type { NewKey } from './dependencies.ts'

export type DevelopmentAccounts = {
  /** Registers a user. Returns null when the address is taken. */
  readonly createUser: (email: string, password: string) => Promise<string | null>
  /** Creates an API key and returns its secret. */
  readonly createKey: (wanted: NewKey) => Promise<string>
  /** Whether a key is still valid. */
  readonly isValidKey: (key: string) => Promise<boolean>
}

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
