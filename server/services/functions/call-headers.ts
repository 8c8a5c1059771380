// The headers of a request that a function gets.
import type { IncomingMessage } from 'node:http'
import { clientAddress } from '../../http/client-address.ts'
import { headerPairs, messageHeaders } from './runtime/headers.ts'

export type Header = readonly [name: string, value: string]

export type CallHeaderOptions = {
  /** Number of proxies in front of this server. */
  readonly trustedProxies: number
  readonly requestId: string
  /** Headers of the trace that the call belongs to. */
  readonly trace: Readonly<Record<string, string>>
}

/** Headers that proxies add. Those of clients are not believed. */
const ofProxies: ReadonlySet<string> = new Set([
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-port',
  'x-forwarded-prefix',
  'x-forwarded-proto',
  'x-real-ip',
])

/** Cookies that sign in to this server and to its console. Functions identify users by tokens. */
const ownCookies: ReadonlySet<string> = new Set(['session', '__Host-session', 'console', '__Host-console'])

/**
 * The headers of the request as they arrived, apart from those of the connection and cookies of this server; with those of
 * a proxy, the id of the request and the trace.
 */
export function callHeaders(request: IncomingMessage, options: CallHeaderOptions): readonly Header[] {
  const { trustedProxies, requestId, trace } = options
  const replaced = new Set([...Object.keys(trace).map((name) => name.toLowerCase()), 'x-request-id', 'host'])
  const headers: Header[] = []
  for (const [name, value] of messageHeaders(headerPairs(request.rawHeaders))) {
    const lower = name.toLowerCase()
    if (replaced.has(lower) || ofProxies.has(lower)) continue
    const text = lower === 'cookie' ? otherCookies(value) : value
    if (text !== '' || value === '') headers.push([name, text])
  }
  return [...headers, ...proxyHeaders(request, trustedProxies), ['x-request-id', requestId], ...Object.entries(trace)]
}

/** Host and scheme by which the client has reached the server, as far as they are known. */
export function originOfRequest(request: IncomingMessage, trustedProxies: number): { host: string; protocol: string } {
  const forwarded = (name: string): string | undefined => {
    const value = trustedProxies > 0 ? request.headers[name] : undefined
    return (Array.isArray(value) ? value[0] : value)?.split(',', 1)[0]?.trim()
  }
  const protocol = forwarded('x-forwarded-proto') === 'https' ? 'https' : 'http'
  const hosts = [forwarded('x-forwarded-host'), request.headers.host]
  const host = hosts.find((name) => name !== undefined && isHost(name)) ?? 'localhost'
  return { host, protocol }
}

/** Whether a text is a host with or without a port, and nothing else of a URL. */
const isHost = (text: string): boolean => /^[\w.:[\]-]+$/.test(text) && URL.canParse(`http://${text}/`)

function proxyHeaders(request: IncomingMessage, trustedProxies: number): readonly Header[] {
  const { host, protocol } = originOfRequest(request, trustedProxies)
  const remote = request.socket.remoteAddress
  const given = trustedProxies > 0 ? request.headers['x-forwarded-for'] : undefined
  const hops = [...(given === undefined ? [] : [given].flat()), ...(remote === undefined ? [] : [remote])]
  const client = clientAddress(request, trustedProxies)
  return [
    ...(hops.length === 0 ? [] : [['x-forwarded-for', hops.join(', ')] as const]),
    ...(client === null ? [] : [['x-real-ip', client] as const]),
    ['x-forwarded-host', host],
    ['x-forwarded-proto', protocol],
  ]
}

/** Whether a header of a response sets a cookie of this server: functions sign no one in or out. */
export function setsOwnCookie([name, value]: Header): boolean {
  // Of a cookie without a name, browsers send the value alone, which may look like a name.
  const [, cookie = ''] = /^[\s=]*([^=;]*)/.exec(value) ?? []
  return name.toLowerCase() === 'set-cookie' && ownCookies.has(cookie.trim())
}

/** The cookies of a header that are not this server's. */
const otherCookies = (header: string): string =>
  header
    .split(';')
    .filter((pair) => !ownCookies.has(pair.slice(0, Math.max(0, pair.indexOf('='))).trim()))
    .join(';')
    .trim()
