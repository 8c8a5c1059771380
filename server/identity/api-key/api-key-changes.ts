// News of API keys that were revoked, changed or deleted, as the database notifies them on a channel of its own.

/** The channel of `NOTIFY`: see `rowhouse.api_key_changed` in `sql/migrations`. */
export const apiKeyChannel = 'rowhouse'

/** `forget key`, and the SHA-256 of the key in hexadecimal digits. */
const message = /^forget key ([0-9a-f]{64})$/

type Forget = (hash: Buffer | undefined) => void

/** Passes news on from the connection that listens to the cache of keys. */
export class ApiKeyChanges {
  readonly #subscribers = new Set<Forget>()
  #isHeard = false

  /** Whether notifications arrive at this moment. When they do not, nothing may be remembered for long. */
  get isHeard(): boolean {
    return this.#isHeard
  }

  /** `forget` gets the hash of a key that has changed; undefined when any of them may have. */
  subscribe(forget: Forget): void {
    this.#subscribers.add(forget)
  }

  /** The connection listens from now on, or is lost. What was notified in between is unknown. */
  setHeard(isHeard: boolean): void {
    this.#isHeard = isHeard
    this.#tell(undefined)
  }

  /** Takes the payload of a notification; others than ours are ignored. */
  notify(payload: string): void {
    const [, hash] = message.exec(payload) ?? []
    if (hash !== undefined) this.#tell(Buffer.from(hash, 'hex'))
  }

  #tell(hash: Buffer | undefined): void {
    for (const forget of this.#subscribers) forget(hash)
  }
}
