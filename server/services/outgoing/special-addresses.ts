// Which addresses are in the public internet. Of IPv4, all that are not in the registry of special ones; of IPv6, those of global
// unicast that are not. https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry
import { BlockList } from 'node:net'
import { addressFamily } from '../../text/host-text.ts'

/** IPv4 networks of special purpose, multicast and reserved ones included. */
const specialIpv4 = [
  ['0.0.0.0', 8], // this network: 0.0.0.0 is the machine itself
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by customers of a carrier
  ['127.0.0.0', 8], // loopback
  ['169.254.0.0', 16], // link-local, and the metadata of cloud providers
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.31.196.0', 24], // AS112
  ['192.52.193.0', 24], // automatic multicast tunnelling
  ['192.88.99.0', 24], // 6to4 relays
  ['192.168.0.0', 16], // private
  ['192.175.48.0', 24], // AS112
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
] as const

/** Networks of special purpose within global unicast. */
const specialIpv6 = [
  ['2001::', 23], // protocol assignments, Teredo
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4, which leads to any IPv4 address
  ['2620:4f:8000::', 48], // AS112
  ['3fff::', 20], // documentation
] as const

/** Addresses of IPv6 networks for machines of IPv4: the last 32 bits are the address (RFC 6052). */
const nat64 = '64:ff9b::'

const globalIpv6 = new BlockList()
globalIpv6.addSubnet('2000::', 3, 'ipv6')
globalIpv6.addSubnet(nat64, 96, 'ipv6')

const special = new BlockList()
for (const [network, prefix] of specialIpv4) {
  special.addSubnet(network, prefix, 'ipv4')
  special.addSubnet(`${nat64}${network}`, 96 + prefix, 'ipv6')
}
for (const [network, prefix] of specialIpv6) special.addSubnet(network, prefix, 'ipv6')

/** Whether an address is a public one: not private, loopback, link-local, multicast or reserved, in none of its notations. */
export function isPublicAddress(address: string): boolean {
  const family = addressFamily(address)
  if (family === undefined || special.check(address, family)) return false
  return family === 'ipv4' || globalIpv6.check(address, family)
}
