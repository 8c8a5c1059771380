// Hosts of one's own network that outgoing calls may reach, although their addresses are not public: the list of a setting.
import { BlockList } from 'node:net'
import { addressFamily } from './special-addresses.ts'

export type AllowedHosts = {
  /** Whether the list has the name: all addresses of the host are allowed then. */
  readonly hasName: (host: string) => boolean
  /** Whether the list has the address, or its network. */
  readonly hasAddress: (address: string) => boolean
}

const hostName = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,62}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,62}[a-z0-9_])?)*\.?$/

/** Whether an entry of the list is the name of a host, an address, or a network such as `10.0.0.0/8`. */
export function isAllowedHost(entry: string): boolean {
  const [address = '', prefix, ...rest] = entry.split('/')
  const family = addressFamily(address)
  if (prefix !== undefined) {
    const most = family === 'ipv4' ? 32 : 128
    return family !== undefined && rest.length === 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= most
  }
  // What a URL would read as an address would never be compared as a name.
  return family !== undefined || (hostName.test(entry.toLowerCase()) && !/(^|\.)(\d+|0x[\da-f]*)\.?$/i.test(entry))
}

/** @param list entries that `isAllowedHost` accepts */
export function allowedHosts(list: readonly string[]): AllowedHosts {
  const names = new Set<string>()
  const addresses = new BlockList()
  for (const entry of list) {
    const [address = '', prefix] = entry.split('/')
    const family = addressFamily(address)
    if (family === undefined) names.add(plainName(entry))
    else if (prefix === undefined) addresses.addAddress(address, family)
    else addresses.addSubnet(address, Number(prefix), family)
  }
  return {
    hasName: (host) => names.has(plainName(host)),
    hasAddress: (address) => {
      const family = addressFamily(address)
      return family !== undefined && addresses.check(address, family)
    },
  }
}

/** Without the dot at the end, with which a name is the same one. */
const plainName = (host: string): string => host.toLowerCase().replace(/\.$/, '')
