// The network that a request comes from.
import type { IncomingMessage } from 'node:http'
import { isIP, isIPv4 } from 'node:net'

const maxLength = 100

/**
 * The network of the client: an IPv4 address, or the first 64 bits of an IPv6 address, because one client usually has
 * the whole /64.
 *
 * @param trustedProxies number of proxies in front of this server that each add an entry to `X-Forwarded-For`. Earlier
 *   entries are ignored, because clients can forge them
 */
export const clientNetwork = (request: IncomingMessage, trustedProxies: number): string =>
  networkOf(hopOf(request, trustedProxies))

/** The address of the client, for `inet` columns; null if it is unknown, as on a Unix socket. */
export function clientAddress(request: IncomingMessage, trustedProxies: number): string | null {
  const text = hopOf(request, trustedProxies)
    .replace(/^\[(.{0,60})\](?::\d{1,5})?$/, '$1')
    .replace(/%.*$/s, '')
  const [, v4 = text] = /^(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/i.exec(text) ?? []
  return isIP(v4) === 0 ? null : v4
}

function hopOf(request: IncomingMessage, trustedProxies: number): string {
  const hops = [request.socket.remoteAddress ?? 'local']
  if (trustedProxies > 0) {
    // Node joins repeated headers with commas.
    const forwarded = request.headers['x-forwarded-for']
    const entries = (Array.isArray(forwarded) ? forwarded.join(',') : (forwarded ?? '')).split(',')
    for (const entry of entries.reverse()) if (entry.trim() !== '') hops.push(entry.trim())
  }
  return hops[Math.min(trustedProxies, hops.length - 1)] ?? 'local'
}

/** `203.0.113.7`, `::ffff:203.0.113.7`, `203.0.113.7:5000` -> `203.0.113.7`; `2001:db8::1` -> `2001:db8:0:0` */
export function networkOf(address: string): string {
  const text = address.replace(/^\[(.{0,60})\](?::\d{1,5})?$/, '$1').replace(/%.*$/s, '')
  const [, v4] = /^(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/i.exec(text) ?? []
  if (v4 !== undefined && isIPv4(v4)) return v4
  if (isIP(text) === 0) return text.slice(0, maxLength)
  const [before = '', after] = text.split('::')
  const groups = before === '' ? [] : before.split(':')
  const rest = after === undefined || after === '' ? [] : after.split(':')
  const width = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + (part.includes('.') ? 2 : 1), 0)
  const zeros = after === undefined ? 0 : 8 - width(groups) - width(rest)
  return [...groups, ...Array<string>(zeros).fill('0'), ...rest]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
