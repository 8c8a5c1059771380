// Redirects from `/callback` to the page that started a sign-in, with an error.
import { AuthError } from '../auth-error.ts'
import { errorName, ownMark, pageWith } from '../page-redirect.ts'

/** An error that the provider sent in the callback. */
export class ProviderError extends Error {
  /** `access_denied` and the like. */
  readonly error: string

  constructor(error: string, description: string) {
    super(description)
    this.error = error
  }
}

const deniedCodes: ReadonlySet<string | null> = new Set([
  'signup_disabled',
  'user_banned',
  'provider_email_needs_verification',
])

/** The page with an error, in the query for servers and in the fragment for pages. */
export function withError(page: string, error: AuthError | ProviderError): string {
  const parameters =
    error instanceof ProviderError
      ? { error: error.error, error_description: error.message }
      : {
          error: deniedCodes.has(error.code) ? 'access_denied' : (errorName(error.status) ?? 'server_error'),
          ...(error.code === null ? {} : { error_code: error.code }),
          error_description: error.message,
        }
  return pageWith(page, parameters, { ...parameters, ...ownMark })
}
