// Invalid credentials. The engine maps each problem to an error code in `rest/errors.ts`.
import { TracelessError } from '../common/traceless-error.ts'

export type CredentialProblem =
  /** No key is configured to verify tokens with. */
  | 'no secret'
  /** The request has no credentials, and anonymous access is disabled. */
  | 'anonymous disabled'
  /** The credential cannot be decoded or verified, or is unknown. */
  | 'invalid token'
  /** The signature is valid, but the claims do not allow the token here or now. */
  | 'invalid claims'
  /** The credential is valid, but requests may not have its role. */
  | 'role not permitted'

/** Its message may be shown to the client. */
export class CredentialError extends TracelessError {
  readonly problem: CredentialProblem
  readonly details: string | null

  constructor(problem: CredentialProblem, message: string, details: string | null = null) {
    super(message)
    this.name = 'CredentialError'
    this.problem = problem
    this.details = details
  }
}

export const credentialErrors = {
  noSecret: () => new CredentialError('no secret', 'Server lacks JWT secret'),
  anonymousDisabled: () => new CredentialError('anonymous disabled', 'Anonymous access is disabled'),
  invalidToken: (message: string, details: string | null = null) =>
    new CredentialError('invalid token', message, details),
  invalidClaims: (message: string) => new CredentialError('invalid claims', message),
  /** With PostgreSQL's message. */
  roleNotPermitted: (role: string) =>
    new CredentialError('role not permitted', `permission denied to set role "${role}"`),
}
