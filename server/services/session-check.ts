// Whether the session of a token is active, for services that run no statement of the caller.
import type { ApiKeyLookup } from '../identity/api-key/api-key-lookup.ts'
import type { Identity } from '../identity/identity.ts'
import type { JwtVerifier } from '../identity/jwt/jwt.ts'
import { resetRole, setReadOnly, SettingsText } from '../identity/settings-text.ts'
import { sqlState } from '../postgres/database-error.ts'
import type { Database } from '../postgres/database.ts'
import { JsonStatement } from '../postgres/json-statement.ts'
import type { SettingsStatement } from '../rest/database.ts'
import { namedSession, requireSession, sessionValues, type NamedSession } from '../rest/sql/session.ts'

/** What the keys and tokens of requests are verified with. */
export type CredentialChecks = {
  /** Read at each use, because the settings can be reloaded. */
  readonly verifier: () => JwtVerifier
  readonly lookupApiKey: ApiKeyLookup
  readonly database: Pick<Database, 'runWith'>
  /** See `Snapshot`. */
  readonly checksSessions: () => boolean
}

const checkText = new SettingsText([setReadOnly, resetRole, requireSession])

/** For its settings only, which check the session. */
const nothing = new JsonStatement('select null', { access: 'read', hasNoEffect: true })

/**
 * Looks the session up.
 *
 * @returns false when it has ended, its account is deleted, or the account no longer has the token's `app_role`
 * @throws the error of the database
 */
export async function isActiveSession(session: NamedSession, database: Pick<Database, 'runWith'>): Promise<boolean> {
  const settings: SettingsStatement = {
    text: checkText.plain,
    values: sessionValues(session),
    hasNoEffect: true,
    texts: checkText,
    checksSession: true,
  }
  try {
    await database.runWith(nothing, settings, [])
    return true
  } catch (error) {
    if (sqlState(error) === 'PGRST') return false
    throw error
  }
}

/**
 * Whether the session of verified credentials is active, if they name one.
 *
 * @throws the error of the database
 */
export async function hasActiveSession(
  identity: Identity,
  { database, checksSessions }: Pick<CredentialChecks, 'database' | 'checksSessions'>,
): Promise<boolean> {
  const session = checksSessions() ? namedSession(identity) : undefined
  return session === undefined || isActiveSession(session, database)
}
