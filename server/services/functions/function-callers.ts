// Who calls a function: the token or API key that `verify_jwt` asks for.
import type { IncomingMessage } from 'node:http'
import { isApiKey } from '../../identity/api-key/api-key.ts'
import { authenticate } from '../../identity/authenticate.ts'
import { bearerToken } from '../../identity/bearer.ts'
import { CredentialError } from '../../identity/credential-error.ts'
import type { Identity } from '../../identity/identity.ts'
import { isUnreachable } from '../../postgres/database-error.ts'
import { hasActiveSession, type CredentialChecks } from '../session-check.ts'
import { functionErrors } from './function-error.ts'

/**
 * The caller of a function with `verify_jwt`.
 *
 * A token of `Authorization` is verified as by all services; its session must be active. Clients without a signed-in user
 * send an API key (`sb_…`) in `apikey` only. A token in `apikey` alone is not enough, as behind Supabase's gateway.
 *
 * @throws FunctionError 401, 503
 */
export async function identifyCaller(request: IncomingMessage, options: CredentialChecks): Promise<Identity> {
  const { authorization, apikey } = request.headers
  const key = Array.isArray(apikey) ? apikey[0] : apikey
  const hasKey = key !== undefined && isApiKey(key)
  if (authorization === undefined && !hasKey) throw functionErrors.missingToken()
  if (authorization !== undefined && (bearerToken(authorization) ?? '') === '') throw functionErrors.notBearer()
  try {
    // A key of another form is no key of this server: the token decides.
    const identity = await authenticate(
      authorization,
      hasKey ? key : undefined,
      options.verifier(),
      options.lookupApiKey,
    )
    if (!(await hasActiveSession(identity, options))) throw functionErrors.invalidToken()
    return identity
  } catch (error) {
    if (error instanceof CredentialError) throw functionErrors.invalidToken(error)
    if (isUnreachable(error)) throw functionErrors.unavailable(error)
    throw error
  }
}
