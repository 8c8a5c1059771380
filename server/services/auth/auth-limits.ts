// Rate limits of `/auth/v1`, counted in the database for all processes.
import type { IncomingMessage } from 'node:http'
import type { Attempt } from '../accounts/attempt-limit.ts'
import type { SecretName } from '../secrets.ts'

/** Limits per client. */
export type ClientLimit =
  | 'otp'
  | 'verify'
  | 'token_refresh'
  | 'anonymous_users'
  | 'sso'
  | 'web3'
  | 'passkey'
  | 'oauth_client_register'
  | 'mfa_challenge_and_verify'

/** The limit of a request, if it has one. */
export type RequestLimit = ClientLimit | ((query: URLSearchParams) => ClientLimit | undefined)

/** Limits of the whole service. */
export type ServiceLimit = 'email_sent' | 'sms_sent'

export type AuthLimits = {
  /**
   * Counts a request of a client, for each network that it belongs to.
   *
   * @param route path of the route as its definition has it, which does not depend on the spelling of the URL
   * @throws AuthError 429 with `Retry-After`, naming the limit
   */
  readonly countRequest: (limit: ClientLimit, route: string, request: IncomingMessage) => Promise<void>
  /** Counts a mail or message. @throws AuthError 429 with `Retry-After`, naming the limit */
  readonly countSent: (limit: ServiceLimit, number?: number) => Promise<void>
  /** Takes back what was counted for a mail or message that is not sent. */
  readonly takeBackSent: (limit: ServiceLimit, number?: number) => Promise<void>
  /**
   * Counts a notice about a change of an account. Notices have the limit of mails, but a count apart from that of codes and
   * links, so that a user who changes an account again and again does not use up the sign-in mails of all. One account may use
   * a tenth of it, or three.
   *
   * @throws AuthError 429 with `Retry-After`, naming the limit
   */
  readonly countNotice: (userId: string) => Promise<void>
  /**
   * Counts a guess of a code of an account, or of an address that may have none. Call this before each comparison.
   *
   * @throws Failure 429 with `Retry-After`
   */
  readonly guessCode: (account: string, request: IncomingMessage) => Promise<Attempt>
  /**
   * Counts a wrong value of a secret of so many bits that it cannot be guessed. Call this after the look-up, so that a flood of
   * forged requests does not refuse the true one.
   *
   * @throws AuthError 429 with `Retry-After`, naming the limit
   */
  readonly countWrong: (limit: ClientLimit, secret: SecretName, request: IncomingMessage) => Promise<void>
  /**
   * Counts wrong answers for a subject, such as a code of an address: after `max` in `period` seconds every further one
   * is refused.
   *
   * @throws AuthError 429 with `Retry-After`
   */
  readonly countGuess: (subject: readonly string[], max: number, period: number) => Promise<void>
}
