// Turns the caller of a test into the identity that its request has.
import type { Identity } from '../../identity/identity.ts'
import { isApiKey } from '../../identity/api-key/api-key.ts'
import { createApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import type { CallerFields, CallerName } from './test-file.ts'

/** Runs one statement as the owner of the database. */
export type RunOwnerQuery = (text: string, values: unknown[]) => Promise<Record<string, unknown>[]>

/** There is no such caller. The message says what is allowed. */
export class UnknownCaller extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnknownCaller'
  }
}

/**
 * The identity of a caller. A text is, in this order: a name in `named`, an e-mail address of an account, an API key, a
 * role, the label of an API key.
 *
 * @throws UnknownCaller; the error of the database
 */
export async function identityOf(
  caller: CallerName,
  named: Readonly<Record<string, CallerFields>>,
  query: RunOwnerQuery,
): Promise<Identity> {
  if (typeof caller !== 'string') return identityOfFields(caller, query)
  const fields = Object.hasOwn(named, caller) ? named[caller] : undefined
  if (fields) return identityOfFields(fields, query)
  if (caller.includes('@')) return identityOfAccount(caller, {}, query)
  if (isApiKey(caller)) return identityOfKey(caller, query)
  if (await hasRole(caller, query)) return { role: caller, claims: { role: caller } }
  const hash = await hashOfLabel(caller, query)
  if (hash) return identityOfHash(hash, query)
  throw new UnknownCaller(
    `There is no caller "${caller}": it is not a name under \`callers\`, the e-mail address of an account, an API key or ` +
      'the label of one, or a role.',
  )
}

async function identityOfFields(
  { role, claims = {}, email, key }: CallerFields,
  query: RunOwnerQuery,
): Promise<Identity> {
  if (email !== undefined) return identityOfAccount(email, claims, query, role)
  if (key !== undefined) {
    if (isApiKey(key)) return identityOfKey(key, query)
    const hash = await hashOfLabel(key, query)
    if (hash) return identityOfHash(hash, query)
    throw new UnknownCaller(`There is no valid API key with the label "${key}".`)
  }
  if (role === undefined) throw new UnknownCaller('A caller needs one of role, email, key.')
  if (!(await hasRole(role, query))) throw new UnknownCaller(`There is no role "${role}".`)
  return { role, claims: { role, ...claims } }
}

const hasRole = async (name: string, query: RunOwnerQuery): Promise<boolean> =>
  (await query('select from pg_catalog.pg_roles where rolname = $1', [name])).length === 1

type Account = {
  readonly id: string
  readonly role: string | null
  /** Null if it is not confirmed. */
  readonly email: string | null
  readonly phone: string | null
  readonly aud: string | null
  readonly app_metadata: unknown
  readonly user_metadata: unknown
  readonly is_anonymous: boolean
}

/** The claims that the sign-in of an account puts into its tokens, apart from its session and the times. */
async function identityOfAccount(
  email: string,
  claims: Readonly<Record<string, unknown>>,
  query: RunOwnerQuery,
  role?: string,
): Promise<Identity> {
  if (!(await hasRelation('auth.users', query))) {
    throw new UnknownCaller(
      `"${email}" cannot be looked up, because the database has no accounts (table auth.users). Give the caller a role and ` +
        'claims under `callers`.',
    )
  }
  const rows = await query(
    `select to_jsonb(account) as account from (
      select id, aud, role, case when email_confirmed_at is not null then email::text end as email, phone, coalesce(raw_app_meta_data, '{}') as app_metadata,
        coalesce(raw_user_meta_data, '{}') as user_metadata, is_anonymous
      from auth.users where lower(email::text collate "C") = lower($1 collate "C")
    ) as account`,
    [email],
  )
  const account = rows[0]?.account as Account | undefined
  if (!account) throw new UnknownCaller(`There is no account with the address ${email}. Add it to seed.sql.`)
  const { id, email: confirmed, phone, aud, ...more } = account
  const acting = role ?? nonEmpty(account.role, 'authenticated')
  return {
    role: acting,
    claims: {
      ...more,
      ...(confirmed === null ? {} : { email: confirmed }),
      sub: id,
      aud: nonEmpty(aud, 'authenticated'),
      phone: phone ?? '',
      aal: 'aal1',
      ...claims,
      role: acting,
    },
  }
}

const nonEmpty = (text: string | null, fallback: string): string => (text === null || text === '' ? fallback : text)

const hasRelation = async (name: string, query: RunOwnerQuery): Promise<boolean> =>
  (await query('select to_regclass($1) is not null as found', [name]))[0]?.found === true

const identityOfKey = async (key: string, query: RunOwnerQuery): Promise<Identity> => createApiKeyLookup({ query })(key)

async function hashOfLabel(label: string, query: RunOwnerQuery): Promise<Buffer | undefined> {
  if (!(await hasRelation('auth.api_keys', query))) return undefined
  const rows = await query('select key_hash from auth.api_keys where label = $1 order by key_hash limit 1', [label])
  return rows[0]?.key_hash as Buffer | undefined
}

async function identityOfHash(hash: Buffer, query: RunOwnerQuery): Promise<Identity> {
  const [key] = await query('select role, user_id, email from auth.find_api_key($1)', [hash])
  if (!key) throw new UnknownCaller('The API key has expired or was revoked.')
  if (key.user_id === null) return { role: String(key.role), claims: {} }
  return { role: 'authenticated', claims: { sub: key.user_id, email: key.email } }
}
