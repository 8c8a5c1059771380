// Addresses of host names, as the system finds them: with its files, search domains and name servers.
import { lookup, type LookupAddress } from 'node:dns'
import { promisify } from 'node:util'
import { OutgoingError } from './outgoing-error.ts'

/** Concurrent look-ups. Each occupies one of the four threads that reading files and hashing use, too. */
const mostRunning = 2
/** Names that may wait. */
const mostWaiting = 256

export type ResolveHost = (host: string) => Promise<readonly LookupAddress[]>

const byTheSystem: ResolveHost = (host) => promisify(lookup)(host, { all: true })

/** Looks names up, a few at a time, and each name once for all that ask at the same time. */
export class HostLookup {
  readonly #resolve: ResolveHost
  readonly #pending = new Map<string, Promise<readonly LookupAddress[]>>()
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(resolve: ResolveHost = byTheSystem) {
    this.#resolve = resolve
  }

  /** @throws the error of the look-up; OutgoingError if too many names wait */
  addresses(host: string): Promise<readonly LookupAddress[]> {
    const pending = this.#pending.get(host)
    if (pending) return pending
    const addresses = this.#inTurn(host).finally(() => this.#pending.delete(host))
    this.#pending.set(host, addresses)
    return addresses
  }

  async #inTurn(host: string): Promise<readonly LookupAddress[]> {
    if (this.#running < mostRunning) this.#running++
    else {
      if (this.#waiting.length >= mostWaiting) throw new OutgoingError(`too many host names are looked up at once`)
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
    }
    try {
      return await this.#resolve(host)
    } finally {
      // The next one takes the place of this one.
      const next = this.#waiting.shift()
      if (next) next()
      else this.#running--
    }
  }
}
