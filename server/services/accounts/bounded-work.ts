// Limits how many CPU-intensive tasks run at once, and how many wait: of one network, and in total.
import { limitedNetworks } from '../../http/client-address.ts'
import { Failure } from '../../http/envelope.ts'
import type { WorkClient } from './work-client.ts'

export type Bounds = {
  /** Maximum number of tasks that run at once. */
  readonly atOnce: number
  /** Maximum number of tasks that wait. */
  readonly waiting: number
  /** Maximum number of tasks of one network that wait; twice as many of an IPv6 /56, four times as many of a /48. */
  readonly waitingOfNetwork: number
}

/** A task that waits. Both functions remove it from the queue. */
type Place = { readonly proceed: () => void; readonly refuse: (reason: Failure) => void }

/** The places of each network that has some, first the network whose turn is next. */
type Queues = Map<string | undefined, Set<Place>>

export class BoundedWork {
  readonly #bounds: Bounds
  /** The queues of each IPv4 address or IPv6 /48 that has some, first the one whose turn is next. */
  readonly #sites = new Map<string | undefined, Queues>()
  /** The number of places by network, in all sizes of networks. */
  readonly #sizes = new Map<string | undefined, number>()
  #waiting = 0
  #running = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /**
   * Runs a task, now or when its turn comes. The networks take turns, so that a flood from one delays the tasks of others
   * by one task each, even if it comes from all networks of an IPv6 /48; the tasks of a network run in order. A task whose client leaves while it waits never runs.
   *
   * @throws Failure 429 with `Retry-After` when too many tasks of the network wait, 503 when too many wait in total, 499
   *   when the client has left; the error of the task
   */
  async run<T>(work: () => Promise<T>, client: WorkClient): Promise<T> {
    if (client.isGone) throw clientGone()
    if (this.#running < this.#bounds.atOnce) this.#running++
    // A task that ends passes its place on, so that no new task can overtake the waiting ones.
    else await this.#turn(client)
    try {
      return await work()
    } finally {
      this.#passOn()
    }
  }

  #turn(client: WorkClient): Promise<void> {
    const { network } = client
    const networks = network === undefined ? [] : limitedNetworks(network)
    for (const { name, share } of networks) {
      if (this.#sizeOf(name) >= this.#bounds.waitingOfNetwork * share) throw networkBusy()
    }
    const site = networks.at(-1)?.name
    if (this.#waiting >= this.#bounds.waiting) this.#makeRoom(this.#sizeOf(site))
    const names = network === undefined ? [undefined] : networks.map(({ name }) => name)
    return new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        forget()
        this.#remove(place, site, network)
        this.#count(names, -1)
      }
      const refuse = (reason: Failure): void => {
        leave()
        reject(reason)
      }
      const proceed = (): void => {
        leave()
        resolve()
      }
      const place: Place = { proceed, refuse }
      const forget = client.onGone(() => refuse(clientGone()))
      this.#add(place, site, network)
      this.#count(names, 1)
    })
  }

  #sizeOf(name: string | undefined): number {
    return this.#sizes.get(name) ?? 0
  }

  #count(names: readonly (string | undefined)[], change: 1 | -1): void {
    this.#waiting += change
    for (const name of names) {
      const size = this.#sizeOf(name) + change
      if (size === 0) this.#sizes.delete(name)
      else this.#sizes.set(name, size)
    }
  }

  #add(place: Place, site: string | undefined, network: string | undefined): void {
    const queues: Queues = this.#sites.get(site) ?? new Map<string | undefined, Set<Place>>()
    const queue = queues.get(network) ?? new Set<Place>()
    this.#sites.set(site, queues.set(network, queue.add(place)))
  }

  #remove(place: Place, site: string | undefined, network: string | undefined): void {
    const queues = this.#sites.get(site)
    const queue = queues?.get(network)
    queue?.delete(place)
    if (queue?.size === 0) queues?.delete(network)
    if (queues?.size === 0) this.#sites.delete(site)
  }

  /**
   * Refuses the newest task of the network that has the most, for one of a network that has fewer.
   *
   * @throws Failure 503 if no network has more
   */
  #makeRoom(own: number): void {
    const [site, size] = largest(this.#sites.keys(), (name) => this.#sizeOf(name))
    const [queue] = largest((this.#sites.get(site) ?? new Map<undefined, Set<Place>>()).values(), (it) => it.size)
    const newest = size > own + 1 ? [...(queue ?? [])].at(-1) : undefined
    if (!newest) throw allBusy()
    newest.refuse(allBusy())
  }

  #passOn(): void {
    const [next] = this.#sites
    const [first] = next?.[1] ?? []
    if (!next || !first) {
      this.#running--
      return
    }
    const [site, queues] = next
    const [network, queue] = first
    const [place] = queue
    place?.proceed()
    if (queue.size > 0) moveToEnd(queues, network, queue)
    if (queues.size > 0) moveToEnd(this.#sites, site, queues)
  }
}

/** The value with the largest size, and the size; 0 if there are no values. Of several the last one, whose turn comes last. */
function largest<T>(values: Iterable<T>, sizeOf: (value: T) => number): readonly [value: T | undefined, size: number] {
  let found: readonly [value: T | undefined, size: number] = [undefined, 0]
  for (const value of values) {
    const size = sizeOf(value)
    if (size >= found[1]) found = [value, size]
  }
  return found
}

function moveToEnd<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.delete(key)
  map.set(key, value)
}

const later = { headers: { 'Retry-After': '2' } }
const networkBusy = (): Failure => new Failure(429, 'Too many people are signing in from this network at once', later)
const allBusy = (): Failure => new Failure(503, 'Too many people are signing in at the moment', later)
const clientGone = (): Failure => new Failure(499, 'The client closed the connection before the response')
