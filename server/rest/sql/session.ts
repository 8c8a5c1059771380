// The check that the session which a token names is alive: see `auth.check_session` in `sql/migrations`.
import type { Identity } from '../../identity/identity.ts'
import type { SessionCheck } from '../../schema-cache/schema-cache.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** Arguments of the check: the session, its user, and the token's `app_role` where that can be checked. */
export type NamedSession =
  | readonly [session: string, user: string | null]
  | readonly [session: string, user: string | null, appRole: string | null]

/**
 * What to check of an identity. Undefined when its claims name no session (API keys, and tokens from elsewhere), and in a
 * database that cannot check.
 */
export function namedSession({ claims }: Identity, check: SessionCheck | null): NamedSession | undefined {
  const { session_id: session, sub, app_role: appRole } = claims
  if (check === null || typeof session !== 'string' || !uuid.test(session)) return undefined
  const user = typeof sub === 'string' && uuid.test(sub) ? sub : null
  return check === 'session' ? [session, user] : [session, user, typeof appRole === 'string' ? appRole : null]
}

const types = ['uuid', 'uuid', 'text'] as const

/**
 * An SQL expression that fails with PGRST303 (401) when the session has ended, its account is gone, or the account no
 * longer has the token's `app_role`.
 *
 * @param placeholders of the values of `NamedSession`
 */
export const checkSession = (placeholders: readonly string[]): string =>
  `auth.check_session(${placeholders.map((name, index) => `${name}::${types[index] ?? 'text'}`).join(', ')})`
