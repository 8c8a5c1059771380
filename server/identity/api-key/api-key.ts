// API keys: opaque and random. The database stores only their hash.
import { createHash, randomBytes } from 'node:crypto'
import { isInternalRole } from '../internal-role.ts'
import { keyLimitNames, parseLimits, type LimitName } from '../limits.ts'

/** A publishable key has the rights of anonymous users and may appear in a web page. A secret key must stay on a server. */
export type ApiKeyKind = 'publishable' | 'secret'

export type NewApiKey = {
  /** A role that `authenticator` may switch to; `authenticated` for a key that belongs to a user. */
  readonly role: string
  /** The user that the key acts as. */
  readonly userId?: string | undefined
  readonly label: string
  readonly expiresAt?: Date | undefined
}

export type ApiKey = {
  readonly id: string
  /** The first characters of the key, for recognising it. */
  readonly hint: string
  readonly label: string
  readonly role: string
  readonly userId: string | null
  readonly createdAt: Date
  readonly expiresAt: Date | null
  readonly revokedAt: Date | null
  /** Null for none. */
  readonly limits: ApiKeyLimits | null
}

const shape = /^sb_(?:publishable|secret)_([\w-]{43})([\w-]{6})$/

/** Detects truncated or mistyped keys without a database query. */
const checksum = (secret: string): string => createHash('sha256').update(secret).digest('base64url').slice(0, 6)

/** `sb_secret_`, 256 random bits, six characters of checksum. */
export function makeApiKey(kind: ApiKeyKind): string {
  const secret = randomBytes(32).toString('base64url')
  return `sb_${kind}_${secret}${checksum(secret)}`
}

/** Whether a credential has the prefix of an API key. Otherwise it is a JWT. */
export const isApiKey = (credential: string): boolean =>
  credential.startsWith('sb_publishable_') || credential.startsWith('sb_secret_')

/** Whether the text has the format of a key and a correct checksum. */
export function isWellFormed(key: string): boolean {
  const [, secret, sum] = shape.exec(key) ?? []
  return secret !== undefined && checksum(secret) === sum
}

export const hashApiKey = (key: string): Buffer => createHash('sha256').update(key).digest()

/** A connection with the `query` method of node-postgres's clients. */
export type KeyClient = {
  query<R extends Record<string, unknown>>(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: R[]; readonly rowCount: number | null }>
}

/**
 * Creates a key and stores its hash. Only the result contains the key itself.
 *
 * @param client connected as the owner of the schema `auth`
 * @throws Error that says what is wrong with the role, the user, the label or the expiry
 */
export async function createApiKey(client: KeyClient, wanted: NewApiKey): Promise<ApiKey & { readonly key: string }> {
  const { role, userId, label, expiresAt } = wanted
  if (userId !== undefined && role !== 'authenticated') {
    throw new Error('a key that belongs to a user must have the role authenticated')
  }
  if (label.length < 1 || label.length > 200) throw new Error('the label must have 1 to 200 characters')
  if (expiresAt && !(expiresAt.getTime() > Date.now())) throw new Error('the expiry must be in the future')
  await checkRole(client, role)
  if (userId !== undefined) await checkUser(client, userId)
  const kind = role === 'anon' ? 'publishable' : 'secret'
  const key = makeApiKey(kind)
  const { rows } = await client.query<ApiKeyRow>(
    `insert into auth.api_keys (key_hash, hint, label, role, user_id, expires_at)
     values ($1, $2, $3, $4, $5, $6) returning ${columns}`,
    [hashApiKey(key), key.slice(0, `sb_${kind}_`.length + 4), label, role, userId ?? null, expiresAt ?? null],
  )
  const [row] = rows
  if (!row) throw new Error('the database did not store the key')
  return { ...apiKeyOf(row), key }
}

/** All keys, newest first, including revoked and expired ones. */
export async function listApiKeys(client: KeyClient): Promise<ApiKey[]> {
  const { rows } = await client.query<ApiKeyRow>(`select ${columns} from auth.api_keys order by created_at desc, id`)
  return rows.map(apiKeyOf)
}

/** Revokes a key permanently and notifies running servers. Returns false for an unknown or already revoked key. */
export async function revokeApiKey(client: KeyClient, id: string): Promise<boolean> {
  // Compares as text, so that an `id` that is not a UUID is not found instead of an error.
  const { rowCount } = await client.query(
    'update auth.api_keys set revoked_at = now() where id::text = lower($1) and revoked_at is null',
    [id],
  )
  return rowCount === 1
}

/** Limits of a key by their names, as stored. */
export type ApiKeyLimits = Readonly<Partial<Record<LimitName, number>>>

/**
 * Replaces the limits of a key, and notifies running servers. Returns false for an unknown key.
 *
 * @param limits undefined for none
 * @throws Error that names a limit that keys cannot have, or its allowed values
 */
export async function setApiKeyLimits(
  client: KeyClient,
  id: string,
  limits: ApiKeyLimits | undefined,
): Promise<boolean> {
  const entries = Object.entries(limits ?? {})
  const { problems } = parseLimits(entries.map(([name, value]) => [name, String(value)]))
  const [unknown] = entries.filter(([name]) => !keyLimitNames.some((known) => known === name))
  if (unknown) throw new Error(`${unknown[0]}: keys have no such limit`)
  if (problems[0] !== undefined) throw new Error(problems[0])
  const { rowCount } = await client.query('update auth.api_keys set limits = $2 where id::text = lower($1)', [
    id,
    entries.length === 0 ? null : JSON.stringify(limits),
  ])
  return rowCount === 1
}

async function checkRole(client: KeyClient, role: string): Promise<void> {
  if (isInternalRole(role)) throw new Error(`the role ${role} is the server's own: no key can have it`)
  const { rows } = await client.query<{ usable: boolean }>(
    `select rolname <> 'authenticator' and pg_has_role('authenticator', oid, 'member') as usable
     from pg_roles where rolname = $1`,
    [role],
  )
  if (!rows[0]) throw new Error(`there is no role ${role}`)
  if (!rows[0].usable) throw new Error(`authenticator cannot switch to the role ${role}: it is not granted`)
}

async function checkUser(client: KeyClient, userId: string): Promise<void> {
  const { rowCount } = await client.query('select from auth.users where id::text = lower($1)', [userId])
  if (rowCount === 0) throw new Error(`there is no user ${userId}`)
}

const columns = 'id, hint, label, role, user_id, created_at, expires_at, revoked_at, limits'

type ApiKeyRow = {
  id: string
  hint: string
  label: string
  role: string
  user_id: string | null
  created_at: Date
  expires_at: Date | null
  revoked_at: Date | null
  limits: ApiKeyLimits | null
}

const apiKeyOf = (row: ApiKeyRow): ApiKey => ({
  id: row.id,
  hint: row.hint,
  label: row.label,
  role: row.role,
  userId: row.user_id,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  limits: row.limits,
})
