// Checks that the session of a token is active (`auth.check_session` in `sql/migrations`).
import type { Identity } from '../../identity/identity.ts'
import type { SettingsCall } from '../../identity/settings-text.ts'
import { isUuid } from '../../text/uuid.ts'

/** The claims of a token about its session. */
export type NamedSession = {
  readonly session: string
  readonly user: string | null
  readonly appRole: string | null
}

/** Reads the session from the claims. Undefined for API keys, and for tokens from other issuers. */
export function namedSession({ claims }: Identity): NamedSession | undefined {
  const { session_id: session, sub, app_role: appRole } = claims
  if (typeof session !== 'string' || !isUuid(session)) return undefined
  const user = typeof sub === 'string' && isUuid(sub) ? sub : null
  return { session, user, appRole: typeof appRole === 'string' ? appRole : null }
}

/**
 * An SQL expression that fails with PGRST303 (401) when the session has ended, its account is deleted, or the account
 * no longer has the token's `app_role`. All parameters are placeholders.
 */
export const checkSession = (session: string, user: string, appRole: string): string =>
  `auth.check_session(${session}::uuid, ${user}::uuid, ${appRole}::text)`

/** The same as the beginning of a settings statement, because only the login role may check sessions. */
export const requireSession: SettingsCall = (next) => checkSession(next(), next(), next())

/** The values of `checkSession`; none without a session. */
export const sessionValues = (named: NamedSession | undefined): readonly (string | null)[] =>
  named ? [named.session, named.user, named.appRole] : []
