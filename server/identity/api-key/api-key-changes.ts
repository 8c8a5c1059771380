// Notifications of API keys that were revoked, changed or deleted, which arrive on a separate channel.

/** The channel that `rowhouse.api_key_changed` in `sql/migrations` notifies. */
const apiKeyChannel = 'rowhouse'

/** `forget key` and the hexadecimal SHA-256 hash of the key. */
const message = /^forget key ([0-9a-f]{64})$/

type Forget = (hash: Buffer | undefined) => void

/** Forwards notifications from the listening connection to the caches of keys. */
export class ApiKeyChanges {
  readonly channel = apiKeyChannel
  readonly #subscribers = new Set<Forget>()
  #isListening = false

  /** Whether a connection is listening. While none is, keys may be cached only briefly. */
  get isListening(): boolean {
    return this.#isListening
  }

  /** Calls `forget` with the hash of a changed key, or with undefined when any key may have changed. */
  subscribe(forget: Forget): void {
    this.#subscribers.add(forget)
  }

  /** Reports that the connection is listening or was lost. Either way, notifications may have been missed. */
  setListening(isListening: boolean): void {
    this.#isListening = isListening
    this.#notifySubscribers(undefined)
  }

  /** Handles the payload of a notification. Ignores unknown payloads. */
  notify(payload: string): void {
    const [, hash] = message.exec(payload) ?? []
    if (hash !== undefined) this.#notifySubscribers(Buffer.from(hash, 'hex'))
  }

  #notifySubscribers(hash: Buffer | undefined): void {
    for (const forget of this.#subscribers) forget(hash)
  }
}
