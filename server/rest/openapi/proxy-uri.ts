// The address of the API in its description.
import type { RestSettings } from '../settings.ts'
import { parseUri } from '../../text/uri.ts'

export type ApiAddress = {
  readonly scheme: 'http' | 'https'
  /** Host and port. */
  readonly host: string
  readonly basePath: string
}

// https://docs.postgrest.org/en/stable/references/configuration.html#server-host
/** Values of `server-host` that are not addresses to connect to. */
const anyHost = new Set(['*', '*4', '!4', '*6', '!6'])

const reachable = (host: string): string => (anyHost.has(host) ? '0.0.0.0' : host)

/**
 * The address in the setting `openapi-server-proxy-uri`. Without it, the address that the server listens on, with
 * `mountPath`.
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
