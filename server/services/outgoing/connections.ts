// Connections to receivers: kept for a while, and only to addresses that outgoing requests may reach. Addresses are checked where the
// connection is opened, so that a name cannot have another address for the check than for the connection.
import { Agent as HttpAgent, type Agent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import type { LookupFunction } from 'node:net'
import { addressFamily } from '../../text/host-text.ts'
import type { AllowedHosts } from './allowed-hosts.ts'
import { HostLookup, type ResolveHost } from './host-lookup.ts'
import { OutgoingError, refusal } from './outgoing-error.ts'
import { hostOf } from './outgoing-url.ts'
import { isPublicAddress } from './special-addresses.ts'

export type OutgoingConnectionsOptions = {
  /** Hosts that may be reached although their addresses are not public. Read for each connection. */
  readonly allowed: () => AllowedHosts
  /** The setting of `allowed`, for messages. */
  readonly setting: string
  /** Looks up the addresses of a name. By default as the system does. */
  readonly resolve?: ResolveHost | undefined
}

/** Milliseconds after which an unused connection is closed. */
const idleTimeout = 5000
/** Unused connections to all hosts together, from which on no further ones are kept. */
const mostIdle = 128

export class OutgoingConnections {
  readonly #options: OutgoingConnectionsOptions
  readonly #lookup: HostLookup
  readonly #plain: Agent
  readonly #encrypted: Agent

  constructor(options: OutgoingConnectionsOptions) {
    this.#options = options
    this.#lookup = new HostLookup(options.resolve)
    const lookup: LookupFunction = (host, { all }, callback) => {
      this.#permitted(host).then(
        (addresses) => {
          const [{ address, family } = { address: '', family: 0 }] = addresses
          if (all === true) callback(null, addresses)
          else callback(null, address, family)
        },
        (error: Error) => callback(error, []),
      )
    }
    this.#plain = new HttpAgent({ keepAlive: true, timeout: idleTimeout, lookup })
    this.#encrypted = new HttpsAgent({ keepAlive: true, timeout: idleTimeout, lookup })
  }

  /**
   * What opens the connections of a URL.
   *
   * @throws OutgoingError if the URL has an address that may not be reached. Those of names are checked by the agent
   */
  agentFor(url: URL): Agent {
    const host = hostOf(url)
    // Node connects to an address without looking it up.
    if (addressFamily(host) !== undefined && !this.#isPermitted(host, this.#options.allowed())) {
      throw refusal(`${host} is not a public address; ${this.#options.setting} can allow it`)
    }
    return url.protocol === 'https:' ? this.#encrypted : this.#plain
  }

  /**
   * Checks a header `Host` that the caller has chosen. It has no effect on the address that is connected to, but the server there may
   * have several hosts: where the setting allows one by its name, it does not allow the others.
   *
   * @throws OutgoingError
   */
  checkHostHeader(url: URL, chosen: string): void {
    const [, name, address] = /^(?:([\w.-]+)|\[([\da-f:.]+)\])(?::\d{1,5})?$/i.exec(chosen) ?? []
    const host = name ?? address
    if (host === undefined) throw refusal('the header Host must be the name or address of a host, and may have a port')
    const allowed = this.#options.allowed()
    if (host.toLowerCase() !== hostOf(url).toLowerCase() && allowed.hasName(hostOf(url)) && !allowed.hasName(host)) {
      throw refusal(
        `the header Host is ${host}, which ${hostOf(url)} may not be sent; ${this.#options.setting} can allow it`,
      )
    }
  }

  /** Whether a connection should be closed after its response, because enough are kept. */
  get keepsEnough(): boolean {
    return idleSockets(this.#plain) + idleSockets(this.#encrypted) >= mostIdle
  }

  close(): void {
    this.#plain.destroy()
    this.#encrypted.destroy()
  }

  async #permitted(host: string): Promise<{ address: string; family: number }[]> {
    const found = await this.#lookup.addresses(host)
    const allowed = this.#options.allowed()
    if (allowed.hasName(host)) return [...found]
    const permitted = found.filter(({ address }) => this.#isPermitted(address, allowed))
    const [refused] = found
    if (permitted.length > 0) return permitted
    throw refused
      ? refusal(
          `${host} has the address ${refused.address}, which is not public; ${this.#options.setting} can allow it`,
        )
      : new OutgoingError(`${host} has no address`)
  }

  #isPermitted(address: string, allowed: AllowedHosts): boolean {
    return isPublicAddress(address) || allowed.hasAddress(address)
  }
}

function idleSockets({ freeSockets }: Agent): number {
  let sockets = 0
  for (const name in freeSockets) sockets += freeSockets[name]?.length ?? 0
  return sockets
}
