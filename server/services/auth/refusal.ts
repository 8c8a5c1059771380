// Results of database functions that return `{"refused": <reason>}` when they change nothing.
import type { AuthError } from './auth-error.ts'

export type Refusal = {
  readonly refused: string
  /** Type of a second factor. */
  readonly type?: 'totp' | 'phone' | 'webauthn'
  /** Until the next attempt. */
  readonly seconds?: number
}

/** The errors of the API by reason. */
export type Refusals = Readonly<Record<string, (refusal: Refusal) => AuthError>>

/**
 * The result of a function, unless it refused.
 *
 * @throws AuthError of the reason; Error for one that `refusals` lacks
 */
export function accepted<Result>(result: unknown, refusals: Refusals): Result {
  const refusal = result as Partial<Refusal>
  const { refused } = refusal
  if (refused === undefined) return result as Result
  throw refusals[refused]?.({ ...refusal, refused }) ?? new Error(`unknown refusal: ${refused}`)
}

/** The same for the JSON text of a result, which is parsed only if it is a refusal. */
export function requireAccepted(text: string, refusals: Refusals): void {
  if (text.startsWith('{"refused"')) accepted(JSON.parse(text), refusals)
}
