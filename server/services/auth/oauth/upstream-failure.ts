// Failures of providers, and of the way to them.
import { AuthError } from '../auth-error.ts'

/** A provider cannot be reached, or does not do what it must. The cause is only logged. */
export const upstreamFailure = (message: string, cause: unknown): AuthError =>
  new AuthError(500, 'unexpected_failure', message, { cause })

/** Nothing is known about a provider, and it cannot be reached. */
export class UnreachableProvider extends AuthError {
  /** The page that learns of it, if the request is that of a browser which follows redirects. */
  readonly page: string

  constructor(provider: string, page: string, cause: unknown) {
    super(503, 'unexpected_failure', `Unable to reach the provider ${provider}`, {
      headers: { 'Retry-After': '10' },
      cause,
    })
    this.page = page
  }
}
