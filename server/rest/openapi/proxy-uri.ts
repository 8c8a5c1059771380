// Where clients reach the API, as the description of it says.
import type { RestSettings } from '../settings.ts'
import { parseUri } from '../../text/uri.ts'

export type ApiAddress = {
  readonly scheme: 'http' | 'https'
  /** Host and port. */
  readonly host: string
  readonly basePath: string
}

/** Addresses to bind to that no client can connect to. https://docs.postgrest.org/en/v14/references/configuration.html#server-host */
const anyHost = new Set(['*', '*4', '!4', '*6', '!6'])

const reachable = (host: string): string => (anyHost.has(host) ? '0.0.0.0' : host)

/**
 * The address in `openapi-server-proxy-uri`, its host and path as they are written there; without that setting, the
 * address that the server listens on, and `mountPath`.
 */
export function apiAddress(
  settings: Pick<RestSettings, 'serverHost' | 'serverPort' | 'openapiServerProxyUri'>,
  mountPath: string,
): ApiAddress {
  const { serverHost, serverPort, openapiServerProxyUri } = settings
  const proxy = openapiServerProxyUri === null ? undefined : parseUri(openapiServerProxyUri)
  if (!proxy?.authority) return { scheme: 'http', host: `${reachable(serverHost)}:${serverPort}`, basePath: mountPath }
  const scheme = proxy.scheme.toLowerCase() === 'https' ? 'https' : 'http'
  const { host, port = scheme === 'https' ? '443' : '80' } = proxy.authority
  return { scheme, host: `${reachable(host)}:${Number(port)}`, basePath: proxy.path === '' ? '/' : proxy.path }
}
