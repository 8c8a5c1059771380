// The text of the statement that sets role, claims and other settings for a transaction.
import { claimsText, type Identity } from './identity.ts'

/**
 * Writes an expression that fails unless the transaction may begin.
 *
 * @param gate placeholder of the gate's number
 * @param turn placeholder of the transaction's number in the queue of the connection
 */
export type WriteGuard = (gate: string, turn: string) => string

/** Writes a call of a settings statement. `next` returns the placeholder of the next value. */
export type SettingsCall = (next: () => string) => string

/** Sets one setting for the transaction. Its value is the next one. */
export const set =
  (name: string): SettingsCall =>
  (next) =>
    `set_config('${name}', ${next()}, true)`

/** Sets a setting whose name and value are the next two values. */
export const setNamed: SettingsCall = (next) => `set_config(${next()}, ${next()}, true)`

/** Makes the transaction read-only, which avoids a BEGIN. */
export const setReadOnly: SettingsCall = () => "set_config('transaction_read_only', 'on', true)"

/** For statements about the catalogue, whose compilation takes seconds, and far longer than running them. */
export const setJitOff: SettingsCall = () => "set_config('jit', 'off', true)"

/**
 * Resets a setting that a function has set for the session instead of the transaction, so that it does not affect the
 * next request on the connection. Reading a setting costs a tenth of setting it. NULL resets it to the default of the
 * login role.
 */
export const resetIfSet =
  (name: string, unset: string): SettingsCall =>
  () =>
    `case when current_setting('${name}', true) <> '${unset}' then set_config('${name}', null, false) end`

/** Returns to the login role. */
export const resetRole = resetIfSet('role', 'none')

/** Sets role and claims. The values are those of `identityValues`. */
export const setIdentity: readonly SettingsCall[] = ['role', 'request.jwt.claims'].map(set)

export const identityValues = (identity: Identity): readonly [string, string] => [identity.role, claimsText(identity)]

/**
 * Sets role and claims of a session's user, or fails. The values are the hash of the session's id, the seconds that it
 * must last, and its limits. The claims come first: the role of the user may not look up sessions.
 */
export const setSessionUser: readonly SettingsCall[] = [
  (next) => `set_config('request.jwt.claims', auth.session_claims(${next()}, ${next()}, ${next()}), true)`,
  () => "set_config('role', 'authenticated', true)",
]

/** The text of a settings statement, without and with a guard, whose two values come first. */
export class SettingsText {
  readonly plain: string
  readonly #calls: readonly SettingsCall[]
  #guard: WriteGuard | undefined
  #guarded = ''

  constructor(calls: readonly SettingsCall[]) {
    this.#calls = calls
    this.plain = written(calls)
  }

  guarded(guard: WriteGuard): string {
    // A database always passes the same guard.
    if (this.#guard !== guard) {
      this.#guard = guard
      this.#guarded = written([(next) => guard(next(), next()), ...this.#calls])
    }
    return this.#guarded
  }
}

function written(calls: readonly SettingsCall[]): string {
  let values = 0
  const next = (): string => `$${++values}`
  // All arguments of a function are evaluated, in order. The condition is false, so no row is returned.
  return `select where num_nonnulls(${calls.map((call) => call(next)).join(', ')}) < 0`
}
