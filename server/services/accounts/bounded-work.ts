// Limits how many CPU-intensive tasks run at once, and how many wait: of one network, and in total.
import { Failure } from '../../http/envelope.ts'
import type { WorkClient } from './work-client.ts'

export type Bounds = {
  /** Maximum number of tasks that run at once. */
  readonly atOnce: number
  /** Maximum number of tasks that wait. */
  readonly waiting: number
  /** Maximum number of tasks of one network that wait. */
  readonly waitingOfNetwork: number
}

/** A task that waits. Both functions remove it from the queue. */
type Place = { readonly proceed: () => void; readonly refuse: (reason: Failure) => void }

export class BoundedWork {
  readonly #bounds: Bounds
  /** The places of each network that has some, first the network whose turn is next. */
  readonly #queues = new Map<string | undefined, Set<Place>>()
  #waiting = 0
  #running = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /**
   * Runs a task, now or when its turn comes. The networks take turns, so that a flood from one delays the tasks of others
   * by one task each; the tasks of a network run in order. A task whose client leaves while it waits never runs.
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
    const queue = this.#queues.get(network) ?? new Set<Place>()
    if (network !== undefined && queue.size >= this.#bounds.waitingOfNetwork) throw networkBusy()
    if (this.#waiting >= this.#bounds.waiting) this.#makeRoom(queue.size)
    return new Promise<void>((resolve, reject) => {
      const leave = (): void => {
        forget()
        queue.delete(place)
        this.#waiting--
        if (queue.size === 0) this.#queues.delete(network)
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
      queue.add(place)
      this.#queues.set(network, queue)
      this.#waiting++
    })
  }

  /**
   * Refuses the newest task of the network that has the most, for one of a network that has fewer.
   *
   * @throws Failure 503 if no network has more
   */
  #makeRoom(own: number): void {
    const [longest] = [...this.#queues.values()].sort((one, other) => other.size - one.size)
    const newest = longest && longest.size > own + 1 ? [...longest].at(-1) : undefined
    if (!newest) throw allBusy()
    newest.refuse(allBusy())
  }

  #passOn(): void {
    const [next] = this.#queues
    if (!next) {
      this.#running--
      return
    }
    const [network, queue] = next
    const [place] = queue
    place?.proceed()
    if (queue.size === 0) return
    this.#queues.delete(network)
    this.#queues.set(network, queue)
  }
}

const later = { headers: { 'Retry-After': '2' } }
const networkBusy = (): Failure => new Failure(429, 'Too many people are signing in from this network at once', later)
const allBusy = (): Failure => new Failure(503, 'Too many people are signing in at the moment', later)
const clientGone = (): Failure => new Failure(499, 'The client closed the connection before the response')
