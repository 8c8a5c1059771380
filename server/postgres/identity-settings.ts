// The settings of a service's transaction: role and claims. REST requests have more settings; see
// `rest/sql/settings.ts`.
import type { Identity } from '../identity/identity.ts'
import {
  identityValues,
  resetRole,
  setIdentity,
  setReadOnly,
  setSessionUser,
  SettingsText,
  type SettingsCall,
} from '../identity/settings-text.ts'
import type { SettingsStatement } from '../rest/database.ts'
import type { Access } from './admission.ts'

/**
 * The owner of a cookie's session, who is looked up by the settings of the transaction: they set the role and claims of
 * that user, or fail.
 */
export type SessionOwner = {
  /** SHA-256 of the session's secret id. */
  readonly sessionHash: Buffer
  /** Seconds that the session must last from now on. */
  readonly remaining: number
  /** The limits of the settings as JSON text; null without any. */
  readonly limits: string | null
}

/** For whom a transaction acts. */
export type Actor = Identity | SessionOwner

export const isSessionOwner = (actor: Actor | undefined): actor is SessionOwner =>
  actor !== undefined && 'sessionHash' in actor

/**
 * The settings of a transaction for the owner of a session failed. No other statement was executed. Find the session by
 * a statement of its own, which says whether it has ended, is about to end, or why it cannot be looked up.
 */
export class SessionNotApplied extends Error {
  override readonly name = 'SessionNotApplied'

  constructor(cause: unknown) {
    super('the session could not be applied to the transaction', { cause })
  }
}

const texts = (actor: readonly SettingsCall[]): Readonly<Record<Access, SettingsText>> => ({
  read: new SettingsText([setReadOnly, resetRole, ...actor]),
  write: new SettingsText([resetRole, ...actor]),
})
const asIdentity = texts(setIdentity)
const asOwner = texts(setSessionUser)
const asLogin = texts([])

/**
 * The statement that applies the settings of a service's transaction.
 *
 * @param actor for whom the transaction acts; undefined for the login role of the program
 */
export function identitySettings(actor: Actor | undefined, access: Access): SettingsStatement {
  if (isSessionOwner(actor)) {
    const { sessionHash, remaining, limits } = actor
    return statementOf(asOwner[access], [sessionHash, String(remaining), limits], true)
  }
  if (actor) return statementOf(asIdentity[access], identityValues(actor), false)
  return statementOf(asLogin[access], [], false)
}

const statementOf = (
  texts: SettingsText,
  values: SettingsStatement['values'],
  checksSession: boolean,
): SettingsStatement => ({ text: texts.plain, values, hasNoEffect: true, texts, checksSession })
