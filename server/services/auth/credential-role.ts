// The role of the credentials that a request to `/auth/v1` was sent with, for logs, metrics and traces.
import type { IncomingMessage } from 'node:http'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import { authenticate } from '../../identity/authenticate.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'

/**
 * Finds the role, and passes it to `note`: at once if the credentials are cached, otherwise later, so that no request waits for it.
 * `note` is not called without credentials, with invalid ones, which decide nothing here (many routes ignore them), or while
 * too many others are being looked up.
 */
export type CredentialRole = (request: Pick<IncomingMessage, 'headers'>, note: (role: string) => void) => void

export type CredentialRoleOptions = {
  readonly verifier: () => JwtVerifier
  readonly lookupApiKey: ApiKeyLookup
}

/** Look-ups at the same time. Requests do not wait for them, so that a flood of invented keys could occupy all connections. */
const mostPending = 2

export function credentialRole({ verifier, lookupApiKey }: CredentialRoleOptions): CredentialRole {
  let pending = 0
  return ({ headers: { authorization, apikey } }, note) => {
    if ((authorization === undefined && apikey === undefined) || pending >= mostPending) return
    try {
      const identity = authenticate(authorization, [apikey].flat()[0], verifier(), lookupApiKey)
      if (identity instanceof Promise) {
        pending++
        identity
          .then(
            ({ role }) => note(role),
            () => undefined,
          )
          .finally(() => pending--)
      } else note(identity.role)
    } catch {
      // The credentials are invalid.
    }
  }
}
