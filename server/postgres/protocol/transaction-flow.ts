// Pauses a connection for a slow reader of one transaction.
import type { Flow } from '../../rest/row-transfer.ts'

/** The arrival of one transaction's rows. It never holds up what comes after the transaction on the same connection. */
export class TransactionFlow implements Flow {
  readonly #connection: Flow
  #isPaused = false
  #hasEnded = false

  /** @param connection pauses and resumes all that arrives on the connection */
  constructor(connection: Flow) {
    this.#connection = connection
  }

  /** Has no effect after the transaction: a reader may have too much only with the bytes that end it. */
  readonly pause = (): void => {
    if (this.#hasEnded) return
    this.#isPaused = true
    this.#connection.pause()
  }

  readonly resume = (): void => {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#connection.resume()
  }

  /** Resumes the connection for the next transaction. */
  end(): void {
    this.#hasEnded = true
    this.resume()
  }
}
