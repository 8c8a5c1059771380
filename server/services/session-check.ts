// Whether the session of a token is active, for services that run no statement of the caller.
import { resetRole, setReadOnly, SettingsText } from '../identity/settings-text.ts'
import { sqlState } from '../postgres/database-error.ts'
import type { Database } from '../postgres/database.ts'
import { JsonStatement } from '../postgres/json-statement.ts'
import type { SettingsStatement } from '../rest/database.ts'
import { requireSession, sessionValues, type NamedSession } from '../rest/sql/session.ts'

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
