// Errors of `/auth/v1`. Codes, statuses and messages are GoTrue's, because clients depend on them.
import type { AuthErrorCode } from './auth-error-codes.ts'

export type AuthErrorParts = {
  readonly headers?: Readonly<Record<string, string>>
  /** Further members of the body, such as `weak_password`. */
  readonly body?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/** Ends the request with an error response. */
export class AuthError extends Error {
  readonly status: number
  /** `validation_failed` and the like; null where GoTrue has none, for unknown paths. */
  readonly code: AuthErrorCode | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: Readonly<Record<string, unknown>>

  constructor(
    status: number,
    code: AuthErrorCode | null,
    message: string,
    { headers = {}, body = {}, cause }: AuthErrorParts = {},
  ) {
    super(message, { cause })
    this.name = 'AuthError'
    this.status = status
    this.code = code
    this.headers = headers
    this.body = body
  }
}

/** The names of RFC 6749 (sections 4.1.2.1 and 5.2) that the OAuth server uses. */
export type OAuthErrorName =
  'invalid_request' | 'invalid_client' | 'invalid_grant' | 'unsupported_grant_type' | 'access_denied' | 'server_error'

/** The same in the format of RFC 6749, section 5.2: `{"error", "error_description"}`. GoTrue's status is always 400. */
export class OAuthError extends AuthError {
  readonly error: OAuthErrorName

  constructor(error: OAuthErrorName, description: string) {
    super(400, null, description)
    this.error = error
  }
}

/** Errors that several routes have. */
export const authErrors = {
  invalid: (message: string) => new AuthError(400, 'validation_failed', message),
  noAuthorization: () => new AuthError(401, 'no_authorization', 'This endpoint requires a valid Bearer token'),
  badJwt: (message: string) => new AuthError(403, 'bad_jwt', message),
  isClient: () => new AuthError(403, 'no_authorization', 'OAuth clients are not allowed to perform these actions'),
  notAdmin: () => new AuthError(403, 'not_admin', 'User not allowed'),
  userNotFound: () => new AuthError(403, 'user_not_found', 'User from sub claim in JWT does not exist'),
  sessionNotFound: () => new AuthError(403, 'session_not_found', 'Session from session_id claim in JWT does not exist'),
  userBanned: (status: 400 | 403) => new AuthError(status, 'user_banned', 'User is banned'),
  invalidCredentials: () => new AuthError(400, 'invalid_credentials', 'Invalid login credentials'),
  emailNotConfirmed: (status: 400 | 403 = 400) => new AuthError(status, 'email_not_confirmed', 'Email not confirmed'),
  phoneNotConfirmed: (status: 400 | 403 = 400) => new AuthError(status, 'phone_not_confirmed', 'Phone not confirmed'),
  signupDisabled: () => new AuthError(422, 'signup_disabled', 'Signups not allowed for this instance'),
  emailDisabled: (status: 400 | 422, message: string) => new AuthError(status, 'email_provider_disabled', message),
  phoneDisabled: (status: 400 | 422, message: string) => new AuthError(status, 'phone_provider_disabled', message),
  emailExists: (cause?: unknown) =>
    new AuthError(422, 'email_exists', 'A user with this email address has already been registered', { cause }),
  phoneExists: (cause?: unknown) =>
    new AuthError(422, 'phone_exists', 'A user with this phone number has already been registered', { cause }),
  weakPassword: (message: string, reasons: readonly ('length' | 'characters' | 'pwned')[]) =>
    new AuthError(422, 'weak_password', message, { body: { weak_password: { reasons } } }),
  flowUsed: () => new AuthError(400, 'flow_state_already_used', 'State has already been used'),
  linkedToOther: () => new AuthError(422, 'identity_already_exists', 'Identity is already linked to another user'),
  insufficientAal: (status: 401 | 403 | 422, message: string) => new AuthError(status, 'insufficient_aal', message),
  /**
   * @param limit the setting that names the limit: `GOTRUE_RATE_LIMIT_OTP`
   * @param seconds until the next attempt
   */
  overLimit: (
    code: 'over_request_rate_limit' | 'over_email_send_rate_limit' | 'over_sms_send_rate_limit',
    message: string,
    seconds: number,
  ) => new AuthError(429, code, message, { headers: { 'Retry-After': String(Math.max(1, Math.ceil(seconds))) } }),
  overloaded: (cause?: unknown) =>
    new AuthError(503, 'unexpected_failure', 'The server is overloaded: try again later', {
      headers: { 'Retry-After': '1' },
      cause,
    }),
  unexpected: (cause: unknown) =>
    new AuthError(500, 'unexpected_failure', 'Unexpected failure, please check server logs for more information', {
      cause,
    }),
}
