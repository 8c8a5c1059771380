// Redirects from `/callback` to the page that started a sign-in.
import { AuthError } from '../auth-error.ts'
import type { IssuedSession } from '../sessions.ts'

/** An error that the provider sent in the callback. */
export class ProviderError extends Error {
  /** `access_denied` and the like. */
  readonly error: string

  constructor(error: string, description: string) {
    super(description)
    this.error = error
  }
}

/** The page with a session in the fragment, which never reaches a server. */
export function withSession(
  page: string,
  { accessToken, refreshToken, expiresIn, expiresAt }: IssuedSession,
  more: Readonly<Record<string, string>>,
): string {
  const url = new URL(page)
  url.hash = new URLSearchParams({
    access_token: accessToken,
    expires_at: String(expiresAt),
    expires_in: String(expiresIn),
    ...more,
    refresh_token: refreshToken,
    // Distinguishes these redirects from those of other services.
    sb: '',
    token_type: 'bearer',
  }).toString()
  return url.href
}

/** The page with a code, which only the client with the code verifier can exchange. */
export function withCode(page: string, code: string): string {
  const url = new URL(page)
  url.searchParams.set('code', code)
  return url.href
}

/** Errors of RFC 6749 by status. */
const statusErrors: ReadonlyMap<number, string> = new Map([
  [400, 'invalid_request'],
  [401, 'unauthorized_client'],
  [403, 'access_denied'],
  [500, 'server_error'],
  [503, 'temporarily_unavailable'],
])

const deniedCodes: ReadonlySet<string | null> = new Set([
  ...['signup_disabled', 'user_banned', 'provider_email_needs_verification'],
])

/** The page with an error, in the query for servers and in the fragment for pages. */
export function withError(page: string, error: AuthError | ProviderError): string {
  const parameters =
    error instanceof ProviderError
      ? { error: error.error, error_description: error.message }
      : {
          error: deniedCodes.has(error.code) ? 'access_denied' : (statusErrors.get(error.status) ?? 'server_error'),
          ...(error.code === null ? {} : { error_code: error.code }),
          error_description: error.message,
        }
  const url = new URL(page)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  url.hash = new URLSearchParams({ ...parameters, sb: '' }).toString()
  return url.href
}
