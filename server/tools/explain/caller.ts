// For whom a request is explained: an account, an API key, or a role with claims.
import { createApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import type { Claims, Identity } from '../../identity/identity.ts'
import { CredentialError } from '../../identity/credential-error.ts'
import { CommandError } from '../command-line/command-error.ts'
import { accountIdentity } from '../../services/accounts/account-identity.ts'
import type { ScratchTransaction } from '../../postgres/scratch-transaction.ts'

export type CallerWish = {
  /** The address of an account. */
  readonly as?: string | undefined
  /** An API key. */
  readonly key?: string | undefined
  readonly role?: string | undefined
  /** Added to the claims of the account or key. */
  readonly claims?: Claims | undefined
}

type Query = ScratchTransaction['query']

/**
 * The identity that a request would have with a token of the account or with the key; with neither, the given role or
 * the anonymous one.
 *
 * @param query runs statements as the role that serves requests, in a transaction
 * @throws CommandError for an unknown account or key, and if there is no anonymous role
 */
export async function identityOf(
  query: Query,
  { as, key, role, claims = {} }: CallerWish,
  anonymousRole: string | null,
): Promise<Identity> {
  const found = await (as !== undefined ? ofAccount(query, as) : key !== undefined ? ofKey(query, key) : undefined)
  const all: Record<string, unknown> = { ...found?.claims, ...claims }
  const claimed = typeof claims.role === 'string' ? claims.role : undefined
  const chosen = role ?? claimed ?? found?.role ?? anonymousRole
  if (chosen === null) {
    throw new CommandError('Requests without credentials are rejected: name the caller with --as, --key or --role.')
  }
  return { role: chosen, claims: { ...all, role: chosen } }
}

async function ofKey(query: Query, key: string): Promise<Identity> {
  try {
    return await createApiKeyLookup({ query })(key)
  } catch (error) {
    if (error instanceof CredentialError) throw new CommandError(`${error.message}.`)
    throw error
  }
}

async function ofAccount(query: Query, address: string): Promise<Identity> {
  // The role of the sign-in service reads accounts; the one that serves requests may not.
  const [service] = await query(
    `select 1 from pg_roles
     where rolname = 'supabase_auth_admin' and pg_has_role(session_user, oid, 'member')`,
    [],
  )
  if (service) await query("select set_config('role', 'supabase_auth_admin', true)", [])
  const identity = await accountIdentity(query, { address })
  if (!identity) throw new CommandError(`There is no account with the address ${address}.`)
  return identity
}
