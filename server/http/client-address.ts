// Where a request comes from: address, network and browser of the client.
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

/** A network for limits. */
export type LimitedNetwork = {
  readonly name: string
  /** How many times as much as a single client it may do. */
  readonly share: number
}

/**
 * The networks that requests of a client count for, the smallest first: a client that has a whole IPv6 /48, as every customer of
 * many providers and of free tunnels does, has 65,536 networks of the size that a client usually has. A larger network may
 * have several clients, so it may do twice as much.
 *
 * @param network of `clientNetwork`
 */
export function limitedNetworks(network: string): readonly LimitedNetwork[] {
  const [, site, last = ''] = /^([0-9a-f]+:[0-9a-f]+:[0-9a-f]+):([0-9a-f]+)$/.exec(network) ?? []
  if (site === undefined) return [{ name: network, share: 1 }]
  const subnet = (Number.parseInt(last, 16) & 0xff00).toString(16)
  return [
    { name: network, share: 1 },
    { name: `${site}:${subnet}/56`, share: 2 },
    { name: `${site}/48`, share: 4 },
  ]
}

/** The address of the client, for `inet` columns; null if it is unknown, as on a Unix socket. */
export const clientAddress = (request: IncomingMessage, trustedProxies: number): string | null =>
  addressIn(hopOf(request, trustedProxies)) ?? null

/** Maximum length of a `User-Agent` that is stored. */
const longestUserAgent = 1000

/** The header `User-Agent`, of limited length; null without one. */
export const userAgentOf = ({ headers }: Pick<IncomingMessage, 'headers'>): string | null =>
  headers['user-agent']?.slice(0, longestUserAgent) ?? null

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

/** An entry of `X-Forwarded-For` without port, brackets and zone: `[fe80::1%eth0]:80` -> `fe80::1` */
const withoutPort = (entry: string): string => entry.replace(/^\[(.{0,60})\](?::\d{1,5})?$/, '$1').replace(/%.*$/s, '')

/** The IP address in an entry: `::ffff:203.0.113.7`, `203.0.113.7:5000` -> `203.0.113.7`. Undefined for other text. */
function addressIn(entry: string): string | undefined {
  const text = withoutPort(entry)
  const [, address = text] = /^(?:::ffff:)?(\d{1,3}(?:\.\d{1,3}){3})(?::\d{1,5})?$/i.exec(text) ?? []
  return isIP(address) === 0 ? undefined : address
}

/** The network of an entry: `203.0.113.7:5000` -> `203.0.113.7`; `2001:db8::1` -> `2001:db8:0:0` */
export function networkOf(entry: string): string {
  const address = addressIn(entry)
  if (address === undefined) return withoutPort(entry).slice(0, maxLength)
  if (isIPv4(address)) return address
  const [before = '', after] = address.split('::')
  const groups = before === '' ? [] : before.split(':')
  const rest = after === undefined || after === '' ? [] : after.split(':')
  const width = (parts: readonly string[]): number => parts.reduce((sum, part) => sum + (part.includes('.') ? 2 : 1), 0)
  const zeros = after === undefined ? 0 : 8 - width(groups) - width(rest)
  return [...groups, ...Array<string>(zeros).fill('0'), ...rest]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}
