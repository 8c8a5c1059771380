// URIs as RFC 3986 defines them. The URL standard is more lenient: it repairs invalid input.
import { isIPv6 } from 'node:net'

export type Uri = {
  readonly scheme: string
  readonly authority: Authority | undefined
  readonly path: string
  /** Without the question mark. */
  readonly query: string | undefined
  readonly fragment: string | undefined
}

export type Authority = {
  readonly userinfo: string | undefined
  readonly host: string
  /** Digits; may be empty. */
  readonly port: string | undefined
}

// Each character class is disjoint from the delimiter that follows it, which rules out excessive backtracking.
const outline = /^([A-Za-z][A-Za-z\d+.-]*):(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s
const authority = /^(?:([^@]*)@)?(\[[^\]]*\]|[^:@[\]]*)(?::(\d*))?$/
const unit = "[A-Za-z\\d._~!$&'()*+,;=-]|%[\\dA-Fa-f]{2}"
const userinfoText = new RegExp(`^(?:${unit}|:)*$`)
const nameText = new RegExp(`^(?:${unit})*$`)
const pathText = new RegExp(`^(?:${unit}|[:@/])*$`)
const tailText = new RegExp(`^(?:${unit}|[:@/?])*$`)
const futureAddress = new RegExp("^v[\\dA-Fa-f]+\\.[A-Za-z\\d._~!$&'()*+,;=:-]+$")

function isHost(host: string): boolean {
  if (!host.startsWith('[')) return nameText.test(host)
  const literal = host.slice(1, -1)
  return (isIPv6(literal) && !literal.includes('%')) || futureAddress.test(literal)
}

function parseAuthority(text: string): Authority | undefined {
  const match = authority.exec(text)
  if (!match) return undefined
  const [, userinfo, host = '', port] = match
  return userinfoText.test(userinfo ?? '') && isHost(host) ? { userinfo, host, port } : undefined
}

/** The parts of an absolute URI, or undefined when `text` is not one. */
export function parseUri(text: string): Uri | undefined {
  const match = outline.exec(text)
  if (!match) return undefined
  const [, scheme = '', authorityText, path = '', query, fragment] = match
  const parsed = authorityText === undefined ? undefined : parseAuthority(authorityText)
  if (authorityText !== undefined && !parsed) return undefined
  return pathText.test(path) && tailText.test(query ?? '') && tailText.test(fragment ?? '')
    ? { scheme, authority: parsed, path, query, fragment }
    : undefined
}

export const isUri = (text: string): boolean => parseUri(text) !== undefined
