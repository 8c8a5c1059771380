// Redirect URIs of clients: which may be registered, and what is added to them.
import { forbiddenSchemes } from '../redirect-target.ts'

/** What a client may have; more are refused. */
const mostUris = 10
const longestUri = 2048
/** Hosts of this machine, for which http is permitted. */
const loopbackHosts: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])
/** Parameters that are added. */
const ownParameters: readonly string[] = ['code', 'state', 'error', 'error_description', 'iss']

/**
 * What is wrong with the redirect URIs of a client; undefined if nothing is. They are compared character by character later, so
 * they must not be ambiguous.
 */
export function redirectUrisFault(uris: readonly string[] | null | undefined): string | undefined {
  if (uris === undefined || uris === null || uris.length === 0) return 'redirect_uris is required'
  if (uris.length > mostUris) return `redirect_uris cannot exceed ${mostUris} items`
  for (const uri of uris) {
    const fault = redirectUriFault(uri)
    if (fault !== undefined) return `invalid redirect_uri '${uri.slice(0, 200)}': ${fault}`
  }
  return undefined
}

function redirectUriFault(uri: string): string | undefined {
  if (uri === '') return 'redirect URI cannot be empty'
  if (uri.length > longestUri) return `redirect URI cannot exceed ${longestUri} characters`
  // A comma separates URIs in GoTrue's column, so that what follows it would be another one.
  const [wrong] = /[^\x21-\x7e]|[\\,]/.exec(uri) ?? []
  if (wrong !== undefined) return `character ${JSON.stringify(wrong)} is not allowed, write it percent-encoded`
  const [, scheme = '', authority = ''] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i.exec(uri) ?? []
  if (scheme === '' || authority === '' || !URL.canParse(uri)) return 'must have scheme and host'
  if (forbiddenSchemes.has(scheme.toLowerCase())) return `scheme '${scheme}' is not allowed for security reasons`
  if (uri.includes('#')) return 'fragment not allowed in redirect URI'
  if (authority.includes('@')) return 'user and password not allowed in redirect URI'
  const url = new URL(uri)
  if (url.protocol === 'http:' && !loopbackHosts.has(url.hostname)) return 'HTTP scheme only allowed for localhost'
  const own = ownParameters.find((name) => url.searchParams.has(name))
  return own === undefined ? undefined : `parameter ${own} not allowed in redirect URI`
}

/** Whether a redirect URI of a client leads to a program on the machine of the person. */
export const isLoopback = (uri: string): boolean => loopbackHosts.has(new URL(uri).hostname)

/** A redirect URI with further parameters; undefined ones are left out. All of its own characters stay as they are. */
export function redirectWith(uri: string, parameters: Readonly<Record<string, string | null | undefined>>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const query = new URLSearchParams(given).toString()
  return `${uri}${uri.includes('?') ? (/[?&]$/.test(uri) ? '' : '&') : '?'}${query}`
}
