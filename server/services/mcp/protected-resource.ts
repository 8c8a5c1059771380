// What clients learn about tokens for `/mcp`. RFC 9728, https://modelcontextprotocol.io/specification/draft/basic/authorization
import type { IncomingMessage } from 'node:http'
import { externalUrlOf } from '../auth/external-url.ts'
import { mcpPath, metadataPath } from './dialect.ts'

export type ResourceSettings = {
  /** URL of `/auth/v1` as clients see it. Null: that by which a client on the same machine has reached the server. */
  readonly apiExternalUrl: string | null
  /** Whether `/auth/v1` gives clients access to accounts. */
  readonly grantsAccess: boolean
  /** Origin of the server for clients on the same machine. */
  readonly ownOrigin: string
}

/** The URLs of the service as the client of a request sees them. */
export type Resource = {
  /** Of `/mcp`: the `resource` of tokens for it. */
  readonly resource: string
  readonly metadata: string
  /** Of the service that issues tokens. */
  readonly issuer: string
}

/** The path at which the sign-in service is, below the URL of the server. */
const authPath = /\/auth\/v1\/?$/

export function resourceOf(request: IncomingMessage, { apiExternalUrl, ownOrigin }: ResourceSettings): Resource {
  const issuer = apiExternalUrl ?? externalUrlOf(request, `${ownOrigin}/auth/v1`)
  const base = authPath.test(issuer) ? issuer.replace(authPath, '') : new URL(issuer).origin
  return { resource: `${base}${mcpPath}`, metadata: `${base}${metadataPath}`, issuer: issuer.replace(/\/$/, '') }
}

/** The document at `metadataPath`. */
export const metadataOf = ({ resource, issuer }: Resource, { grantsAccess }: ResourceSettings): object => ({
  resource,
  ...(grantsAccess ? { authorization_servers: [issuer] } : {}),
  bearer_methods_supported: ['header'],
  resource_name: 'rowhouse',
})

/**
 * The value of `WWW-Authenticate`, from which clients find the document.
 *
 * @param problem what is wrong with the token; undefined without one
 */
export function challengeOf({ metadata }: Resource, problem?: string): string {
  // RFC 6750, section 3: no backslash, no quote, ASCII only.
  const described = problem?.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]/g, '?').slice(0, 200)
  const error = described === undefined ? '' : `error="invalid_token", error_description="${described}", `
  return `Bearer ${error}resource_metadata="${metadata}"`
}
