// The role of the credentials that a request to `/auth/v1` was sent with, for logs, metrics and traces.
import type { IncomingMessage } from 'node:http'
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import { authenticate } from '../../identity/authenticate.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'

/**
 * Finds the role, and passes it to `note`: at once if the credentials are cached, otherwise later, so that no request waits for it.
 * `note` is not called without credentials, or with invalid ones, which decide nothing here: many routes ignore them.
 */
export type CredentialRole = (request: Pick<IncomingMessage, 'headers'>, note: (role: string) => void) => void

export type CredentialRoleOptions = {
  readonly verifier: () => JwtVerifier
  readonly lookupApiKey: ApiKeyLookup
}

export const credentialRole =
  ({ verifier, lookupApiKey }: CredentialRoleOptions): CredentialRole =>
  ({ headers: { authorization, apikey } }, note) => {
    if (authorization === undefined && apikey === undefined) return
    try {
      const identity = authenticate(authorization, [apikey].flat()[0], verifier(), lookupApiKey)
      if (identity instanceof Promise) {
        identity.then(
          ({ role }) => note(role),
          () => undefined,
        )
      } else note(identity.role)
    } catch {
      // The credentials are invalid.
    }
  }
