// Who calls: the key or token of a request, verified as for all services.
import type { IncomingMessage } from 'node:http'
import { hashApiKey, isApiKey } from '../../identity/api-key/api-key.ts'
import { authenticate } from '../../identity/authenticate.ts'
import { bearerToken } from '../../identity/bearer.ts'
import { CredentialError } from '../../identity/credential-error.ts'
import { lastingClaims, type Identity } from '../../identity/identity.ts'
import { isUnreachable } from '../../postgres/database-error.ts'
import { hasActiveSession, type CredentialChecks } from '../session-check.ts'
import { mcpErrors } from './mcp-error.ts'
import { challengeOf, type Resource } from './protected-resource.ts'

export type McpCaller = {
  readonly identity: Identity
  /** The headers of its credentials, with which its requests to the engine are sent. */
  readonly headers: readonly (readonly [string, string])[]
  /** Distinguishes it from all others, also after its token was renewed. */
  readonly text: string
}

/** The role whose keys bypass all policies: their owner has the project. */
export const ownerRole = 'service_role'

/**
 * The caller of a request. Its session must be active.
 *
 * @throws McpError 401 with the challenge of OAuth, also without credentials; 503
 */
export async function identifyMcpCaller(
  { headers: { authorization, apikey } }: IncomingMessage,
  resource: Resource,
  checks: CredentialChecks,
): Promise<McpCaller> {
  const refused = (problem: string, cause?: unknown): Error =>
    mcpErrors.unauthorized(problem, challengeOf(resource, problem), cause)
  const key = Array.isArray(apikey) ? apikey[0] : apikey
  const bearer = bearerToken(authorization)
  if (authorization === undefined && key === undefined) {
    const message = 'Send an API key or a token: Authorization: Bearer …, or apikey: …'
    throw mcpErrors.unauthorized(message, challengeOf(resource))
  }
  if (authorization !== undefined && (bearer ?? '') === '') throw refused("Authorization is not 'Bearer {token}'")
  try {
    const identity = await authenticate(authorization, key, checks.verifier(), checks.lookupApiKey)
    if (!isMeantFor(identity, resource)) throw refused('The token is meant for another resource')
    if (!(await hasActiveSession(identity, checks))) throw refused('The session of the token has ended')
    const keys = [bearer, key].filter((it) => it !== undefined && isApiKey(it)).map((it) => hashApiKey(it ?? ''))
    return {
      identity,
      headers: [
        ...(authorization === undefined ? [] : ([['authorization', authorization]] as const)),
        ...(key === undefined ? [] : ([['apikey', key]] as const)),
      ],
      text: JSON.stringify([identity.role, lastingClaims(identity), keys.map((hash) => hash.toString('base64'))]),
    }
  } catch (error) {
    if (error instanceof CredentialError) throw refused(error.message, error)
    if (isUnreachable(error)) throw mcpErrors.unavailable(error)
    throw error
  }
}

/**
 * Whether the audience of a token allows it here. Tokens of GoTrue have a word as their audience (`authenticated`), which
 * `jwt-aud` can require. One that names resources by their URLs is valid for these only. RFC 8707
 */
function isMeantFor({ claims: { aud } }: Identity, { resource }: Resource): boolean {
  const audiences: readonly unknown[] = Array.isArray(aud) ? aud : [aud]
  const named = audiences.filter((it) => typeof it === 'string' && /^https?:\/\//i.test(it))
  return named.length === 0 || named.some((it) => String(it).replace(/\/$/, '') === resource)
}
