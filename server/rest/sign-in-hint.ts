// The hint of errors that a key or a sign-in would avoid. PostgREST has none, so it is given only where the database has accounts.
import { bearerToken } from '../identity/bearer.ts'
import { ApiError } from './errors.ts'
import type { RestRequest } from './rest-request.ts'
import type { SchemaCache } from '../catalogue/schema-cache.ts'

/** insufficient_privilege, and "Anonymous access is disabled" */
const avoidable: ReadonlySet<string> = new Set(['42501', 'PGRST302'])

const withoutCredentials =
  'The request has no key and no token. Send an API key in the header apikey, or sign in and send the token as Authorization: Bearer.'
const withoutUser =
  'No user is signed in: the request acts as the anonymous role. Sign in, and send the token as Authorization: Bearer.'

/**
 * Adds the hint to the error of a request that acted as the anonymous role, which has status 401, unless the database has sent
 * a hint itself.
 */
export function withSignInHint(
  failure: unknown,
  request: Pick<RestRequest, 'header'>,
  cache: Pick<SchemaCache, 'checksSessions'> | undefined,
): unknown {
  if (!(failure instanceof ApiError) || failure.status !== 401 || failure.hint !== null) return failure
  if (!avoidable.has(failure.code) || cache?.checksSessions !== true) return failure
  const hasCredential =
    request.header('apikey') !== undefined || bearerToken(request.header('authorization')) !== undefined
  return failure.with({ hint: hasCredential ? withoutUser : withoutCredentials })
}
