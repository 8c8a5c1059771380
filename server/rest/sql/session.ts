// The check that the session which a token names is alive: see `auth.check_session` in `sql/migrations`.
import type { Identity } from '../../identity/identity.ts'

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

/** The session that claims name, and its user: UUIDs. */
export type NamedSession = { readonly session: string; readonly user: string | null }

/** Undefined for an identity whose claims name no session: API keys, and tokens from elsewhere. */
export function namedSession({ claims }: Identity): NamedSession | undefined {
  const { session_id: session, sub: user } = claims
  if (typeof session !== 'string' || !uuid.test(session)) return undefined
  return { session, user: typeof user === 'string' && uuid.test(user) ? user : null }
}

/**
 * An SQL expression that fails with PGRST303 (401) when the session has ended or its account is gone.
 *
 * @param session placeholder
 * @param user placeholder
 */
export const checkSession = (session: string, user: string): string =>
  `auth.check_session(${session}::uuid, ${user}::uuid)`
