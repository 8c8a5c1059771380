// Hosts of one's own network that outgoing calls may reach, although their addresses are not public: the list of a setting.
import { BlockList } from 'node:net'
import { addressFamily } from '../../text/host-text.ts'

export type AllowedHosts = {
  /** Whether the list has the name: all addresses of the host are allowed then. */
  readonly hasName: (host: string) => boolean
  /** Whether the list has the address, or its network. */
  readonly hasAddress: (address: string) => boolean
}

/** @param list entries that `isHostOrNetwork` accepts */
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
