// What is wrong with a credential. The engine gives it an error code; see `rest/errors.ts`.
import { TracelessError } from '../common/traceless-error.ts'

export type CredentialProblem =
  /** There is nothing to verify tokens with. */
  | 'no secret'
  /** There is no credential, and requests without one are refused. */
  | 'anonymous disabled'
  /** It cannot be decoded or verified, or is unknown. */
  | 'invalid token'
  /** It is genuine, but its claims do not allow its use here or now. */
  | 'invalid claims'

/** The message can be shown to the client. */
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
}
