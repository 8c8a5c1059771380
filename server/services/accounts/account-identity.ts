// The identity of an account, for those who look at the database as its user.
import type { Identity } from '../../identity/identity.ts'

type Query = (text: string, values: string[]) => Promise<readonly Record<string, unknown>[]>

/** The claims of an access token that signing in with a password gives, without session, times and hooks. */
const claimsOf = (condition: string): string => `
  select json_build_object(
    'sub', users.id, 'aud', coalesce(users.aud, ''), 'role', coalesce(nullif(users.role, ''), 'authenticated'),
    'email', case when users.email_confirmed_at is not null or users.email is null then coalesce(users.email, '') end,
    'phone', coalesce(users.phone, ''),
    'app_metadata', coalesce(users.raw_app_meta_data, '{}'), 'user_metadata', coalesce(users.raw_user_meta_data, '{}'),
    'is_anonymous', coalesce((to_jsonb(users) ->> 'is_anonymous')::boolean, false),
    'app_role', to_jsonb(users) ->> 'app_role'
  ) as claims
  from auth.users where ${condition}`

const byAddress = claimsOf(
  `lower(users.email collate "C") = lower($1 collate "C")
  order by users.email = lower($1 collate "C") desc, users.created_at limit 1`,
)
const byId = claimsOf('users.id::text = $1')

/**
 * @param query runs statements as a role that may read accounts
 * @returns undefined if there is no such account
 */
export async function accountIdentity(
  query: Query,
  account: { readonly address: string } | { readonly id: string },
): Promise<Identity | undefined> {
  const [row] = await ('id' in account ? query(byId, [account.id]) : query(byAddress, [account.address]))
  if (!row) return undefined
  const claims = row.claims as Record<string, unknown> & { readonly role: string }
  const { app_role: appRole, email, ...others } = claims
  return {
    role: claims.role,
    claims: {
      ...others,
      // An address that is not confirmed is no claim.
      ...(email === null ? {} : { email }),
      aal: 'aal1',
      amr: [{ method: 'password', timestamp: Math.floor(Date.now() / 1000) }],
      ...(appRole === null ? {} : { app_role: appRole }),
    },
  }
}
