// Reports calls that were put aside: the first one at once, and then at most once in some time.
import type { ClaimedCall } from './claimed-call.ts'

/** Milliseconds between two lines. */
const interval = 10_000

export class DeadCallLog {
  readonly #warn: (message: string) => void
  #timer: NodeJS.Timeout | undefined
  /** How many were not reported yet, and the last of them. */
  #more = 0
  #last = ''

  constructor(warn: (message: string) => void) {
    this.#warn = warn
  }

  add({ id, webhook, method, url }: ClaimedCall, reason: string): void {
    const cause = webhook === null ? '' : ` of webhook ${webhook}`
    const line = `call ${id}${cause}, ${method} ${hostOf(url)}: ${reason}`
    if (this.#timer === undefined) {
      this.#warn(`An outgoing call was put aside: ${line}`)
      this.#timer = setTimeout(() => this.#flush(), interval).unref()
    } else {
      this.#more++
      this.#last = line
    }
  }

  /** Reports the rest. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#flush()
  }

  #flush(): void {
    this.#timer = undefined
    if (this.#more > 0) this.#warn(`${this.#more} more outgoing calls were put aside, the last one: ${this.#last}`)
    this.#more = 0
  }
}

/** Paths and queries may contain secrets. */
const hostOf = (url: string): string => (URL.canParse(url) ? new URL(url).host : 'an invalid URL')
