// Creates accounts and keys for development, on a connection of the database's owner.
import { randomUUID } from 'node:crypto'
import type { Client } from '../../postgres/connection/client.ts'
import { createAccount } from '../../services/accounts/account.ts'
import { hashPassword } from '../../services/accounts/password-hash.ts'
import { createApiKey, hashApiKey } from '../../identity/api-key/api-key.ts'
import type { DevelopmentAccounts } from './development-keys.ts'

export function developmentAccounts(client: Client): DevelopmentAccounts {
  const query = async (text: string, values: unknown[]) =>
    (await client.query<Record<string, unknown>>(text, values)).rows
  return {
    createUser: async (email, password) => {
      const passwordHash = hashPassword(password)
      const account = await createAccount(query, {
        email,
        passwordHash,
        firstName: 'Developer',
        lastName: null,
        parts: { id: randomUUID(), audience: 'authenticated', role: 'authenticated', confirms: true },
      })
      return account?.id ?? null
    },
    createKey: async (wanted) => (await createApiKey(client, wanted)).key,
    isValidKey: async (key) => (await query('select 1 from auth.find_api_key($1)', [hashApiKey(key)])).length === 1,
  }
}
