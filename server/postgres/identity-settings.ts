// The settings of a service's transaction: role and claims. REST requests have more settings; see
// `rest/sql/settings.ts`.
import { claimsText, type Identity } from '../identity/identity.ts'
import type { SettingsStatement, WriteGuard } from '../rest/database.ts'
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

/**
 * Resets a role that a function has set for the whole session instead of its transaction. NULL resets to the default of
 * the login role.
 */
export const resetRole = "case when current_setting('role', true) <> 'none' then set_config('role', null, false) end"

/** The text of a settings statement, without and with a guard. The guard's placeholders are $1 and $2. */
export class SettingsText {
  readonly plain: string
  readonly #write: (guard: string | undefined) => string
  #guard: WriteGuard | undefined
  #guarded = ''

  /** @param write writes the text, with the guard's expression if there is one */
  constructor(write: (guard: string | undefined) => string) {
    this.#write = write
    this.plain = write(undefined)
  }

  guarded(guard: WriteGuard): string {
    if (this.#guard !== guard) {
      this.#guard = guard
      this.#guarded = this.#write(guard('$1', '$2'))
    }
    return this.#guarded
  }
}

/** Writes the calls that set role and claims. The parameters are placeholders. */
type ActorCalls = (first: string, second: string, third: string) => readonly string[]

const ofIdentity: ActorCalls = (role, claims) => [
  `set_config('role', ${role}, true)`,
  `set_config('request.jwt.claims', ${claims}, true)`,
]
/** The claims come first: the role of the user may not look up sessions. */
const ofSession: ActorCalls = (hash, remaining, limits) => [
  `set_config('request.jwt.claims', auth.session_claims(${hash}, ${remaining}, ${limits}), true)`,
  `set_config('role', 'authenticated', true)`,
]
const ofLogin: ActorCalls = () => []

/** @param actorCalls gets the last placeholders */
const settingsText = (access: Access, actorCalls: ActorCalls): SettingsText =>
  new SettingsText((guard) => {
    const first = guard === undefined ? 1 : 3
    const calls = [
      ...(guard === undefined ? [] : [guard]),
      ...(access === 'read' ? ["set_config('transaction_read_only', 'on', true)"] : []),
      resetRole,
      ...actorCalls(`$${first}`, `$${first + 1}`, `$${first + 2}`),
    ]
    // All arguments of a function are evaluated, in order. No row comes back.
    return `select where num_nonnulls(${calls.join(', ')}) < 0`
  })

const texts = (calls: ActorCalls): Readonly<Record<Access, SettingsText>> => ({
  read: settingsText('read', calls),
  write: settingsText('write', calls),
})
const asIdentity = texts(ofIdentity)
const asOwner = texts(ofSession)
const asLogin = texts(ofLogin)

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
  if (actor) return statementOf(asIdentity[access], [actor.role, claimsText(actor)], false)
  return statementOf(asLogin[access], [], false)
}

const statementOf = (
  texts: SettingsText,
  values: SettingsStatement['values'],
  checksSession: boolean,
): SettingsStatement => ({ text: texts.plain, values, hasNoEffect: true, texts, checksSession })
