// Sends mails in the background, so that no response waits for a mail server.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ended } from '../background-tasks.ts'
import { DeliveryError } from './mail-delivery.ts'
import type { MailMessage } from './mail-message.ts'

export type OutboxOptions = {
  /** @throws DeliveryError */
  readonly deliver: (message: MailMessage) => Promise<void>
  /** Is called with a complete sentence when a mail was not sent. */
  readonly onProblem: (message: string) => void
  /** Milliseconds before the second, third … attempt. */
  readonly pauses?: readonly number[]
  /** Maximum number of mails that are sent at the same time. */
  readonly concurrency?: number
  /** Maximum number of mails that wait. Further ones are discarded and reported. */
  readonly capacity?: number
}

/** A mail that waits for an attempt. */
type Waiting = {
  readonly to: string
  readonly create: () => Promise<MailMessage>
  /** How often sending it was attempted. */
  readonly attempts: number
}

/** Retries for about a quarter of an hour. */
const defaultPauses = [1_000, 5_000, 30_000, 120_000, 600_000]

export class Outbox {
  readonly #deliver: OutboxOptions['deliver']
  readonly #onProblem: OutboxOptions['onProblem']
  readonly #pauses: readonly number[]
  readonly #concurrency: number
  readonly #capacity: number
  readonly #waiting: Waiting[] = []
  readonly #sending = new Set<Promise<void>>()
  /** Mails that wait for another attempt, by their timers. */
  readonly #delayed = new Map<NodeJS.Timeout, Waiting>()
  #isEnding = false

  constructor({ deliver, onProblem, pauses = defaultPauses, concurrency = 10, capacity = 10_000 }: OutboxOptions) {
    this.#deliver = deliver
    this.#onProblem = onProblem
    this.#pauses = pauses
    this.#concurrency = concurrency
    this.#capacity = capacity
  }

  /**
   * Sends a mail soon, at most once: an attempt whose outcome is uncertain is not repeated. Never throws.
   *
   * @param to The address, for reports.
   * @param create Creates the mail, in the background.
   */
  add(to: string, create: () => Promise<MailMessage>): void {
    if (this.#isEnding || this.size >= this.#capacity) {
      const reason = this.#isEnding ? 'the server is shutting down' : 'too many mails are waiting'
      this.#onProblem(`The mail to ${to} is discarded: ${reason}.`)
      return
    }
    this.#waiting.push({ to, create, attempts: 0 })
    this.#start()
  }

  /** Number of mails that were not sent yet. */
  get size(): number {
    return this.#waiting.length + this.#sending.size + this.#delayed.size
  }

  /**
   * Waits until all mails are sent, at most for some time. Mails that wait for another attempt get one at once; those that
   * fail or do not finish in time are discarded and reported.
   *
   * @param timeout Milliseconds.
   */
  async drain(timeout: number): Promise<void> {
    this.#isEnding = true
    for (const [delay, mail] of this.#delayed) {
      clearTimeout(delay)
      this.#waiting.push(mail)
    }
    this.#delayed.clear()
    this.#start()
    if (await ended(this.#sending, timeout)) return
    this.#onProblem(`The server shuts down before ${String(this.size)} mails were sent.`)
    this.#waiting.length = 0
  }

  #start(): void {
    while (this.#sending.size < this.#concurrency) {
      const next = this.#waiting.shift()
      if (!next) return
      const sending: Promise<void> = this.#send(next).finally(() => {
        this.#sending.delete(sending)
        this.#start()
      })
      this.#sending.add(sending)
    }
  }

  async #send({ to, create, attempts }: Waiting): Promise<void> {
    try {
      // The response of the request comes first, so that its time does not reveal whether it leads to a mail.
      await nextTurn()
      const message = await create()
      const error = await this.#attempt(message)
      if (error === undefined) return
      const pause = this.#pauses[attempts]
      if (pause === undefined || !error.isTemporary || this.#isEnding) {
        this.#onProblem(`A mail to ${to} (${message.kind}) was not sent. ${error.message}`)
        return
      }
      if (attempts === 0) this.#onProblem(`A mail to ${to} (${message.kind}) will be sent later. ${error.message}`)
      this.#retry({ to, create: () => Promise.resolve(message), attempts: attempts + 1 }, pause)
    } catch (error) {
      this.#onProblem(`A mail to ${to} was not sent: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  #retry(mail: Waiting, pause: number): void {
    const delay = setTimeout(() => {
      this.#delayed.delete(delay)
      this.#waiting.push(mail)
      this.#start()
    }, pause)
    this.#delayed.set(delay, mail)
  }

  async #attempt(message: MailMessage): Promise<DeliveryError | undefined> {
    try {
      await this.#deliver(message)
      return undefined
    } catch (error) {
      if (error instanceof DeliveryError) return error
      return new DeliveryError(error instanceof Error ? error.message : String(error), false, { cause: error })
    }
  }
}
