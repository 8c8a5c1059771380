// Failures of providers, and of the way to them.
import { AuthError } from '../auth-error.ts'

/** A provider cannot be reached, or does not do what it must. The cause is only logged. */
export const upstreamFailure = (message: string, cause: unknown): AuthError =>
  new AuthError(500, 'unexpected_failure', message, { cause })
