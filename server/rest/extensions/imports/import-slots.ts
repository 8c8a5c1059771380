// Limits how many imports run at once in the process: each occupies a connection for as long as its body arrives.
import type { Caller } from '../../database.ts'
import { errors } from '../../errors.ts'

export type ImportSlotsOptions = {
  /** Maximum number of imports at once. */
  readonly slots: number
  /** Maximum time in milliseconds that an import waits for another one to end. */
  readonly maxWait: number
  /** Milliseconds that an import may wait for `fairPiece` bytes of its body while another one waits for its slot. */
  readonly patience?: number
}

/** Bytes after which a slow sender gets its whole patience back. */
const fairPiece = 64 * 1024

/** An import that waits for a slot. */
type Waiter = { readonly owner: string; readonly proceed: () => void }

/**
 * Admits imports, first come, first served. One user gets at most half of the slots, so that others are never blocked by
 * one, and a sender that stalls loses its slot as soon as another import waits for it.
 */
export class ImportSlots {
  readonly #options: Required<ImportSlotsOptions>
  /** Maximum number of slots of one user. */
  readonly #share: number
  readonly #waiting = new Set<Waiter>()
  readonly #usedBy = new Map<string, number>()
  #used = 0

  constructor({ patience = 5_000, ...options }: ImportSlotsOptions) {
    this.#options = { ...options, patience }
    this.#share = Math.ceil(options.slots / 2)
  }

  /** Imports that run now. */
  get used(): number {
    return this.#used
  }

  /**
   * Waits for a slot.
   *
   * @param owner a text that is different for each user
   * @throws ApiError PGRSTX70 after the maximum wait; PGRSTX05 when the caller is gone
   */
  async take(caller: Caller, owner: string): Promise<ImportSlot> {
    if (this.#isFree(owner)) this.#add(owner, 1)
    else await this.#wait(caller, owner)
    return new ImportSlot(this.#options.patience, {
      isWanted: () => this.#isWanted(owner),
      release: () => this.#release(owner),
    })
  }

  #usesAll(owner: string): boolean {
    return (this.#usedBy.get(owner) ?? 0) >= this.#share
  }

  #isFree(owner: string): boolean {
    return this.#used < this.#options.slots && !this.#usesAll(owner)
  }

  #add(owner: string, count: 1 | -1): void {
    this.#used += count
    const used = (this.#usedBy.get(owner) ?? 0) + count
    if (used > 0) this.#usedBy.set(owner, used)
    else this.#usedBy.delete(owner)
  }

  /** Whether another import could begin if `owner` released a slot. */
  #isWanted(owner: string): boolean {
    for (const waiter of this.#waiting) if (waiter.owner === owner || !this.#usesAll(waiter.owner)) return true
    return false
  }

  #release(owner: string): void {
    this.#add(owner, -1)
    for (const waiter of this.#waiting) {
      if (!this.#isFree(waiter.owner)) continue
      this.#add(waiter.owner, 1)
      waiter.proceed()
    }
  }

  #wait(caller: Caller, owner: string): Promise<void> {
    const { slots, maxWait } = this.#options
    return new Promise((resolve, reject) => {
      const stop = (): void => {
        clearTimeout(timer)
        forget()
        this.#waiting.delete(waiter)
      }
      const fail = (error: Error): void => {
        stop()
        reject(error)
      }
      const waiter: Waiter = {
        owner,
        proceed: () => {
          stop()
          resolve()
        },
      }
      const late = (): Error =>
        this.#usesAll(owner) ? errors.importSlotsOfUser(this.#share, slots) : errors.importSlots(slots)
      const timer = setTimeout(() => fail(late()), maxWait)
      const forget = caller.onGone(() => fail(errors.callerGone()))
      this.#waiting.add(waiter)
    })
  }
}

type SlotUse = {
  /** Whether another import waits for the slot. */
  readonly isWanted: () => boolean
  readonly release: () => void
}

/** The slot of an import. */
export class ImportSlot {
  readonly #patience: number
  readonly #use: SlotUse
  #isReleased = false
  /** Milliseconds that the import has waited for the last bytes of its body, and how many these are. */
  #waited = 0
  #bytes = 0

  constructor(patience: number, use: SlotUse) {
    this.#patience = patience
    this.#use = use
  }

  /** Lets another import begin. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#use.release()
  }

  /**
   * Waits for the next piece of the body.
   *
   * @throws ApiError PGRSTX76 when the sender stalls, or is very slow, while another import waits for the slot
   */
  async receive(next: () => Promise<Buffer | undefined>): Promise<Buffer | undefined> {
    const start = performance.now()
    let timer: NodeJS.Timeout | undefined
    const stalled = new Promise<never>((_, reject) => {
      const check = (): void => {
        const left = this.#patience - this.#waited - (performance.now() - start)
        if (left <= 0 && this.#use.isWanted()) reject(errors.importStalled(this.#patience))
        else timer = setTimeout(check, Math.max(left, this.#patience / 10))
      }
      timer = setTimeout(check, Math.max(this.#patience - this.#waited, 1))
    })
    try {
      const piece = await Promise.race([next(), stalled])
      this.#waited += performance.now() - start
      this.#bytes += piece?.length ?? 0
      if (this.#bytes >= fairPiece) this.#waited = this.#bytes = 0
      return piece
    } finally {
      clearTimeout(timer)
    }
  }
}
