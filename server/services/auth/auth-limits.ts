// Rate limits of `/auth/v1`, counted in the database for all processes.
import type { IncomingMessage } from 'node:http'

/** Limits per client. */
export type ClientLimit =
  'otp' | 'verify' | 'token_refresh' | 'anonymous_users' | 'sso' | 'web3' | 'passkey' | 'mfa_challenge_and_verify'

/** Limits of the whole service. */
export type ServiceLimit = 'email_sent' | 'sms_sent'

export type AuthLimits = {
  /** Counts a request of a client. @throws AuthError 429 with `Retry-After`, naming the limit */
  readonly countRequest: (limit: ClientLimit, request: IncomingMessage) => Promise<void>
  /** Counts a mail or message. @throws AuthError 429 with `Retry-After`, naming the limit */
  readonly countSent: (limit: ServiceLimit, number?: number) => Promise<void>
  /** Takes back what was counted for a mail or message that is not sent. */
  readonly takeBackSent: (limit: ServiceLimit, number?: number) => Promise<void>
  /**
   * Counts wrong answers for a subject, such as a code of an address: after `max` in `period` seconds every further one
   * is refused.
   *
   * @throws AuthError 429 with `Retry-After`
   */
  readonly countGuess: (subject: readonly string[], max: number, period: number) => Promise<void>
}
