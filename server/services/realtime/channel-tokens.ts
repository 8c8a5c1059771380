// The tokens that a client sends for its channel after the join.
import { isJsonObject } from '../../text/json-object.ts'
import { Allowance } from './allowance.ts'

/** New tokens that a channel accepts per second; of more, only the newest counts, after a pause of these milliseconds. */
const tokensPerSecond = 0.5
const tokenPause = 2000

export type ChannelTokensOptions = {
  /** The token of the channel; undefined when it has ended. */
  readonly current: () => string | undefined
  readonly apply: (token: string) => Promise<void>
  /** A token cannot be applied. */
  readonly onError: (error: unknown) => void
}

export class ChannelTokens {
  readonly #options: ChannelTokensOptions
  #next: string | undefined
  #isChanging = false
  #allowance: Allowance | undefined

  constructor(options: ChannelTokensOptions) {
    this.#options = options
  }

  /** @param payload of the message `access_token` */
  receive(payload: unknown): void {
    const { access_token: token } = isJsonObject(payload) ? payload : {}
    if (typeof token !== 'string' || token.startsWith('sb_')) return
    this.#next = token
    if (this.#isChanging || token === this.#options.current()) return
    this.#isChanging = true
    this.#allowance ??= new Allowance()
    if (this.#allowance.take(1, tokensPerSecond, performance.now())) void this.#change()
    else setTimeout(() => void this.#change(), tokenPause).unref()
  }

  /** Applies the newest token, until there is no newer one. */
  async #change(): Promise<void> {
    const { current, apply, onError } = this.#options
    try {
      for (let now = current(); this.#next !== undefined && now !== undefined; now = current()) {
        const token = this.#next
        this.#next = undefined
        if (token !== now) await apply(token)
      }
    } catch (error) {
      onError(error)
    } finally {
      this.#isChanging = false
    }
  }
}
