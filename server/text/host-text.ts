// Hosts as people write them: names, addresses, and networks.
import { isIP } from 'node:net'

/** The family of an address; undefined for text that is none, and for addresses with a zone, which are link-local. */
export function addressFamily(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address)
  return version === 0 || address.includes('%') ? undefined : version === 4 ? 'ipv4' : 'ipv6'
}

const hostName = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/

/** Names that a URL reads as addresses: the last part is a number. */
const numeric = /(^|\.)(\d+|0x[\da-f]*)\.?$/

/** Whether text is the name of a host, an address, or a network such as `10.0.0.0/8`. */
export function isHostOrNetwork(text: string): boolean {
  const [address = '', prefix, ...rest] = text.split('/')
  const family = addressFamily(address)
  if (prefix !== undefined) {
    const most = family === 'ipv4' ? 32 : 128
    return family !== undefined && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= most
  }
  const name = text.toLowerCase()
  return family !== undefined || (hostName.test(name) && !numeric.test(name))
}
