// The settings of a service's transaction: role and claims. REST requests have more settings; see
// `rest/sql/settings.ts`.
import { claimsText, type Identity } from '../identity/identity.ts'
import type { SettingsStatement, WriteGuard } from '../rest/database.ts'
import type { Access } from './admission.ts'

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

/** @param actsFor whether role and claims are set, by the last two placeholders */
const settingsText = (access: Access, actsFor: boolean): SettingsText =>
  new SettingsText((guard) => {
    const first = guard === undefined ? 1 : 3
    const calls = [
      ...(guard === undefined ? [] : [guard]),
      ...(access === 'read' ? ["set_config('transaction_read_only', 'on', true)"] : []),
      resetRole,
      ...(actsFor
        ? [`set_config('role', $${first}, true)`, `set_config('request.jwt.claims', $${first + 1}, true)`]
        : []),
    ]
    // All arguments of a function are evaluated, in order. No row comes back.
    return `select where num_nonnulls(${calls.join(', ')}) < 0`
  })

const asIdentity = { read: settingsText('read', true), write: settingsText('write', true) }
const asLogin = { read: settingsText('read', false), write: settingsText('write', false) }

/**
 * The statement that applies the settings of a service's transaction.
 *
 * @param identity for whom the transaction acts; undefined for the login role of the program
 */
export function identitySettings(identity: Identity | undefined, access: Access): SettingsStatement {
  const texts = (identity ? asIdentity : asLogin)[access]
  return {
    text: texts.plain,
    values: identity ? [identity.role, claimsText(identity)] : [],
    hasNoEffect: true,
    texts,
    checksSession: false,
  }
}
