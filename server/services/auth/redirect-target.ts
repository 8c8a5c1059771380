/** Which URLs a sign-in may redirect to: the rules of GoTrue's IsRedirectURLValid, and stricter where URLs are ambiguous. */
import { BlockList, isIP, isIPv6 } from 'node:net'
import { UrlGlob, type IsSeparator } from './url-glob.ts'

type TargetParts = {
  /** In lower case, without the colon. */
  readonly scheme: string
  /** In lower case; an IPv6 address without its brackets. */
  readonly host: string
  /** The effective port of http and https URLs, `''` for other URLs without a port. */
  readonly port: string
  /** Whether the path contains `.` or `..` as a segment, which browsers resolve. */
  readonly hasDotSegment: boolean
  /** The index in the URL at which the authority ends. */
  readonly authorityEnd: number
}

/** Schemes that run code, show local files or start other applications with parameters of the caller's choice. */
export const forbiddenSchemes: ReadonlySet<string> = new Set([
  'javascript',
  'vbscript',
  'data',
  'blob',
  'file',
  'filesystem',
  'about',
  'view-source',
  'jar',
  'intent',
])

const defaultPorts: Readonly<Record<string, string>> = { http: '80', https: '443' }

/** Scheme, authority, path; query and fragment follow. */
const absoluteUrl = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/?#]*))?([^?#]*)/i
const authorityPattern = /^(\[[0-9a-f:.]+\]|[^[\]:]*)(?::(\d*))?$/i
/** Letters, digits, dots and hyphens: what names of hosts on the web consist of. */
const webHost = /^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/
const dotSegment = /(?:^|\/)(?:\.|%2e){1,2}(?:\/|$)/i
/** Whatever is not a visible ASCII character, and the backslash, which browsers read as a slash. */
const forbiddenCharacter = /[^\x21-\x7e]|\\/

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8)
loopback.addAddress('::1', 'ipv6')

const isLoopbackAddress = (host: string): boolean => loopback.check(host, isIPv6(host) ? 'ipv6' : 'ipv4')

const isLoopbackHost = (host: string): boolean => host === 'localhost' || (isIP(host) !== 0 && isLoopbackAddress(host))

/** Whether native applications may listen on any port of the host (RFC 8252, section 7.3). */
function hasAnyPort(host: string): boolean {
  if (isIP(host) !== 0) return isLoopbackAddress(host) || host === '0.0.0.0' || host === '::'
  return host === 'localhost' || host.endsWith('.localhost')
}

export type RedirectSettings = {
  /** GOTRUE_SITE_URL: the default target. Its scheme, host and port are allowed. */
  readonly siteUrl: string
  /** GOTRUE_URI_ALLOW_LIST: patterns (see {@link UrlGlob}). */
  readonly allowList: readonly string[]
  /**
   * Whether a site on this machine allows the name `localhost` with any port, too: the site is a default, and
   * development servers use both `localhost` and 127.0.0.1.
   */
  readonly isDefaultSite?: boolean
}

export class RedirectTargets {
  readonly siteUrl: string
  readonly #site: TargetParts | undefined
  readonly #allowed: readonly UrlGlob[]
  readonly #allowsLocalhost: boolean

  /** @throws {UrlGlobError} If a pattern of the list is malformed. */
  constructor({ siteUrl, allowList, isDefaultSite = false }: RedirectSettings) {
    this.siteUrl = siteUrl
    this.#site = partsOf(siteUrl)
    this.#allowsLocalhost = isDefaultSite && this.#site !== undefined && isLoopbackHost(this.#site.host)
    this.#allowed = allowList.map((pattern) => new UrlGlob(pattern))
  }

  /**
   * The first allowed one of the target in the request, the page that sent the request, and the site's URL.
   * @param requested The parameter `redirect_to`, if there is one.
   * @param referer The header `Referer`, if there is one.
   * @returns A URL, exactly as it was given.
   */
  choose(requested: string | undefined, referer: string | undefined): string {
    return [requested, referer].find((url) => url !== undefined && this.isAllowed(url)) ?? this.siteUrl
  }

  /**
   * Says whether a redirect to the URL is allowed: it has scheme, host and port of the site (any port on loopback
   * hosts), or a loopback address as host, or it matches a pattern of the list and its host is not an IP address. The
   * fragment is ignored. URLs with credentials, backslashes, characters other than visible ASCII characters, schemes
   * that run code, and hosts that browsers would rewrite are never allowed.
   */
  isAllowed(url: string): boolean {
    const target = partsOf(url)
    if (target === undefined) return false
    return (
      this.#isSite(target) || (isIP(target.host) === 0 ? this.#isListed(url, target) : isLoopbackAddress(target.host))
    )
  }

  #isSite({ scheme, host, port }: TargetParts): boolean {
    const site = this.#site
    if (this.#allowsLocalhost && host === 'localhost' && scheme in defaultPorts) return true
    if (scheme !== site?.scheme || host !== site.host) return false
    return port === site.port || hasAnyPort(host)
  }

  #isListed(url: string, { scheme, host, hasDotSegment, authorityEnd }: TargetParts): boolean {
    if (/^\d+$/.test(host)) return false
    if (scheme in defaultPorts && (hasDotSegment || !webHost.test(host))) return false
    const withoutFragment = url.split('#', 1)[0] ?? ''
    // Without a path, the query follows the host, where a wildcard for labels of the host must not match it.
    const isSeparator: IsSeparator = (characters, index) =>
      characters[index] === '.' || characters[index] === '/' || (index === authorityEnd && characters[index] === '?')
    return this.#allowed.some((glob) => glob.matches(withoutFragment, isSeparator))
  }
}

/** The parts of an absolute URL that any browser reads in the same way, or undefined. */
function partsOf(url: string): TargetParts | undefined {
  if (forbiddenCharacter.test(url) || !URL.canParse(url)) return undefined
  const [whole = '', rawScheme = '', authority, path = ''] = absoluteUrl.exec(url) ?? []
  const scheme = rawScheme.toLowerCase()
  if (scheme === '' || forbiddenSchemes.has(scheme)) return undefined
  const hasDotSegment = dotSegment.test(path)
  const authorityEnd = whole.length - path.length
  const isWeb = scheme in defaultPorts
  if (authority === undefined) return isWeb ? undefined : { scheme, host: '', port: '', hasDotSegment, authorityEnd }
  const match = authorityPattern.exec(authority)
  if (match === null || authority.includes('@')) return undefined
  const bracketed = (match[1] ?? '').toLowerCase()
  const host = bracketed.replace(/^\[|\]$/g, '')
  const port = match[2] === undefined || match[2] === '' ? (defaultPorts[scheme] ?? '') : String(Number(match[2]))
  // Browsers rewrite hosts such as `127.1` and `%6c`: what is checked here must be what they connect to.
  if (isWeb && !isIPv6(host) && new URL(url).hostname !== host) return undefined
  if (isWeb && host === '') return undefined
  return { scheme, host, port, hasDotSegment, authorityEnd }
}
