// Checks the size of a request body while it is read.
import { errors } from '../errors.ts'
import type { BodyShare } from './body-budget.ts'

/** Bytes up to which a body needs no share of the budget. */
const smallBody = 16 * 1024

/** Bytes above which a body takes considerable memory and time to parse, so that the request is checked first. */
export const largeBody = 64 * 1024

export type BodyGate = {
  /** Bytes. */
  readonly limit: number
  readonly share: BodyShare
  /** Called once before more than `largeBody` bytes are read. Rejects if the request fails for any body. */
  readonly admit: () => Promise<void>
}

/** A body that is read piece by piece, at the pace of the reader. */
export type BodyStream = {
  /**
   * The next piece; undefined at the end.
   *
   * @throws ApiError 400 as a rejection, when the client closes the connection early, or after `stop`
   */
  next(): Promise<Buffer | undefined>
  /** Stops reading. */
  stop(): void
}

/** Counts the bytes of a body as they arrive. */
export class BodyMeter {
  readonly #gate: BodyGate
  #size = 0
  #isAdmitted = false

  constructor(gate: BodyGate) {
    this.#gate = gate
  }

  /**
   * Checks the declared length before the first byte is read.
   *
   * @param declared bytes; 0 when no length was declared
   * @returns undefined when reading may begin; otherwise a promise to await, which may reject with an error of `admit`
   * @throws ApiError 413
   */
  begin(declared: number): Promise<void> | undefined {
    if (declared > this.#gate.limit) throw errors.bodyTooLarge(this.#gate.limit)
    if (declared <= largeBody) return undefined
    this.#isAdmitted = true
    return this.#gate.admit()
  }

  /**
   * Counts received bytes.
   *
   * @returns undefined when reading may continue; otherwise a promise to await, which may reject with an error of
   *   `admit` or of the budget
   * @throws ApiError 413
   */
  add(bytes: number): Promise<void> | undefined {
    const { limit, share, admit } = this.#gate
    const size = (this.#size += bytes)
    if (size > limit) throw errors.bodyTooLarge(limit)
    if (size <= smallBody) return undefined
    if (this.#isAdmitted || size <= largeBody) return share.grow(size)
    this.#isAdmitted = true
    return admit().then(() => share.grow(size))
  }
}
