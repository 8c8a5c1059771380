// Where clients reach the API, as the description of it says.
import type { PostgrestConfig } from '../../config/config.ts'

export type ApiAddress = {
  readonly scheme: 'http' | 'https'
  /** Host and port. */
  readonly host: string
  readonly basePath: string
}

// RFC 3986, appendix B, with the authority taken apart. A URL object would rewrite host, port and path.
const uri = /^(https?):\/\/([^/?#@]+?)(?::(\d+))?(\/[^?#]*)?$/i

/** Addresses to bind to that no client can connect to. https://docs.postgrest.org/en/v14/references/configuration.html#server-host */
const anyHost = new Set(['*', '*4', '!4', '*6', '!6'])

const reachable = (host: string): string => (anyHost.has(host) ? '0.0.0.0' : host)

/**
 * The address in `openapi-server-proxy-uri`; without that setting, or when it is no http(s) URI, the address that the
 * server listens on, and `mountPath`.
 */
export function apiAddress(
  settings: Pick<PostgrestConfig, 'serverHost' | 'serverPort' | 'openapiServerProxyUri'>,
  mountPath: string,
): ApiAddress {
  const match = uri.exec(settings.openapiServerProxyUri ?? '')
  if (!match) {
    return { scheme: 'http', host: `${reachable(settings.serverHost)}:${settings.serverPort}`, basePath: mountPath }
  }
  const [, schemeText = '', host = '', portText, basePath = '/'] = match
  const scheme = schemeText.toLowerCase() === 'https' ? 'https' : 'http'
  const port = portText === undefined ? (scheme === 'https' ? 443 : 80) : Number(portText)
  return { scheme, host: `${reachable(host)}:${port}`, basePath }
}
