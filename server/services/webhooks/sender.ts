// Sends the calls that wait in the database, while this process has the lease of it.
import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { longestTimer } from '../../common/timers.ts'
import type { Database } from '../../postgres/database.ts'
import { isNotMigrated, isUnreachable, leavesConnection } from '../../postgres/database-error.ts'
import type { Lease } from '../../postgres/lease.ts'
import { claimCalls, finishCalls, nextCallIn } from './call-database.ts'
import type { ClaimedCall, Outcome } from './claimed-call.ts'
import type { WebhooksSettings } from './settings.ts'
import type { SenderStatistics } from './statistics.ts'

export type SenderOptions = {
  readonly database: Pick<Database, 'ask'>
  readonly lease: Lease
  /** Read for each call. */
  readonly settings: () => WebhooksSettings
  /** Sends a call. It must not reject. */
  readonly attempt: (call: ClaimedCall, signal: AbortSignal) => Promise<Outcome>
  readonly statistics: SenderStatistics
  /** A call was put aside. */
  readonly onDead: (call: ClaimedCall, reason: string) => void
  readonly onError: (error: unknown) => void
}

/** Characters of the bodies of the calls in flight. A single call may have more. */
const mostInFlight = 16 * 1024 * 1024
/** Milliseconds. */
const pauses = {
  /** For further calls to end, so that they are recorded together. */
  gathering: 2,
  /** After which it looks again for calls to receivers that have enough. */
  busy: 1000,
  /** After which a process that has no call to send gives the lease back. */
  idle: 10_000,
  /** Until the lease is asked for again that another process has. */
  standby: 5000,
  /** After an error of the database: the first, doubled up to the last. */
  error: { first: 100, last: 2000 },
  /** For calls in flight, when the server ends. */
  ending: 3000,
}

/** What a turn of the sender waits for, in milliseconds, unless something happens before. Undefined: there is nothing to do. */
type Wait = number | undefined

export class CallSender {
  readonly #options: SenderOptions
  /** Calls that are being sent, or whose outcome is not recorded. */
  readonly #inFlight = new Map<string, ClaimedCall>()
  #outcomes: Outcome[] = []
  /** Ends all calls in flight. */
  #cut = newCut()
  #running: Promise<void> | undefined
  /** Whether something has happened since the current turn began: a call is due or has ended, or the server ends. */
  #hasNews = false
  #notify: () => void = () => undefined
  /** Begins the next run, when a call is due or the lease may be free. */
  #timer: NodeJS.Timeout | undefined
  #isStandby = false
  #renewAt = -Infinity
  /** Claims in sequence that were empty although a call was due. */
  #emptyClaims = 0
  #isEnding = false

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** Calls may be due. Returns at once. */
  wake(): void {
    // While another process sends them, there is nothing to be asked.
    if (this.#isEnding || this.#isStandby) return
    clearTimeout(this.#timer)
    this.#news()
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined
      if (this.#hasNews) this.wake()
    })
  }

  /** Claims no further calls. */
  end(): void {
    this.#isEnding = true
    clearTimeout(this.#timer)
    this.#news()
  }

  /**
   * Waits for the calls in flight, records them, and gives the lease back. Calls that take too long are ended; another process
   * sends them again.
   */
  async stop(): Promise<void> {
    this.end()
    const late = setTimeout(() => this.#cut.abort(new Error('the server has ended')), pauses.ending)
    try {
      await this.#running
    } finally {
      clearTimeout(late)
    }
  }

  async #run(): Promise<void> {
    const { lease, statistics, onError } = this.#options
    let failures = 0
    for (;;) {
      let wait: Wait
      try {
        wait = await this.#turn()
        failures = 0
      } catch (error) {
        // There may be no table of calls yet.
        if (isNotMigrated(error)) break
        if (!isUnreachable(error)) onError(error)
        wait = Math.min(pauses.error.first * 2 ** failures++, pauses.error.last)
        if (this.#isEnding && failures > 3) break
      }
      if (wait === undefined) break
      if ((await this.#hasNewsWithin(wait)) && this.#outcomes.length > 0) await pause(pauses.gathering)
      // Another process may have the lease by now, and send the same calls.
      if (this.#inFlight.size > 0 && !lease.isHeld) this.#cutAll()
    }
    statistics.isSender = false
  }

  /** Records what has ended, and begins what is due. */
  async #turn(): Promise<Wait> {
    const { database, lease, settings } = this.#options
    this.#hasNews = false
    await this.#record()
    if (this.#isEnding && this.#inFlight.size === 0) {
      await lease.end()
      return undefined
    }
    if (!lease.isHeld && this.#inFlight.size === 0) {
      // A look costs less than the lease.
      const next = await nextCallIn(database)
      if (next === undefined || next > pauses.idle) return this.#rest(next)
    }
    if (!(await this.#hasLease())) {
      if (this.#inFlight.size > 0) return pauses.gathering
      this.#isStandby = true
      return this.#rest(pauses.standby)
    }
    const untilRenewal = Math.max(0, this.#renewAt - performance.now())
    const { webhooksConcurrency: most, webhooksHostConcurrency: callsPerHost } = settings()
    const room = most - this.#inFlight.size
    const bytes = mostInFlight - this.#charactersInFlight()
    if (this.#isEnding || room <= 0 || bytes <= 0) return untilRenewal
    const limits = { calls: room, bytes, callsPerHost }
    const claimed = await claimCalls(database, lease.holder, limits, [...this.#inFlight.keys()])
    for (const call of claimed) this.#send(call)
    if (claimed.length === room) return untilRenewal
    const next = (await nextCallIn(database)) ?? Infinity
    if (next > 0) this.#emptyClaims = 0
    if (this.#inFlight.size > 0) return Math.min(untilRenewal, next === 0 ? pauses.busy : next)
    // A claim examines only some of the calls.
    if (next === 0) return Math.min(pauses.gathering * 2 ** this.#emptyClaims++, pauses.busy)
    if (next <= pauses.idle) return Math.min(untilRenewal, next)
    if (await this.#hasNewsWithin(pauses.idle)) return 0
    await lease.end()
    return this.#rest(next - pauses.idle)
  }

  /** Takes or renews the lease where that is necessary. */
  async #hasLease(): Promise<boolean> {
    const { lease, statistics } = this.#options
    if (lease.isHeld && performance.now() < this.#renewAt) return true
    const since = performance.now()
    statistics.isSender = await lease.take()
    this.#renewAt = since + lease.renewalInterval
    return statistics.isSender
  }

  /** Ends the run. The next one begins after some time, or with news. */
  #rest(milliseconds = Infinity): undefined {
    if (milliseconds !== Infinity && !this.#isEnding) {
      const begin = (): void => {
        this.#isStandby = false
        this.wake()
      }
      this.#timer = setTimeout(begin, Math.min(milliseconds, longestTimer)).unref()
    }
    return undefined
  }

  #send(call: ClaimedCall): void {
    const { attempt, statistics, onDead } = this.#options
    this.#inFlight.set(call.id, call)
    statistics.sending = this.#inFlight.size
    void attempt(call, this.#cut.signal).then((outcome) => {
      this.#outcomes.push(outcome)
      statistics.count(outcome)
      if (outcome.state === 'dead') onDead(call, outcome.error ?? '')
      this.#news()
    })
  }

  #charactersInFlight(): number {
    let characters = 0
    for (const { body } of this.#inFlight.values()) characters += body?.length ?? 0
    return characters
  }

  /** Records the outcomes so far. Until then, their calls are in flight. */
  async #record(): Promise<void> {
    const outcomes = this.#outcomes
    if (outcomes.length === 0) return
    this.#outcomes = []
    const { database, lease, statistics, onError } = this.#options
    try {
      await finishCalls(database, lease.holder, outcomes)
    } catch (error) {
      if (!leavesConnection(error) || isUnreachable(error)) {
        this.#outcomes = [...outcomes, ...this.#outcomes]
        throw error
      }
      onError(error)
      // One of them may be what the database refuses.
      for (const outcome of outcomes) await this.#recordAlone(outcome)
    }
    for (const { id } of outcomes) this.#inFlight.delete(id)
    statistics.sending = this.#inFlight.size
  }

  async #recordAlone({ id, attempt, state, pause_ms = 0, duration_ms, ...rest }: Outcome): Promise<void> {
    const { database, lease, onError } = this.#options
    const basis = { id, attempt, state, pause_ms, duration_ms }
    const attempts: readonly Outcome[] = [
      { ...basis, ...rest },
      { ...basis, error: 'the response could not be recorded' },
    ]
    for (const outcome of attempts) {
      try {
        return await finishCalls(database, lease.holder, [outcome])
      } catch (error) {
        onError(error)
      }
    }
  }

  #news(): void {
    this.#hasNews = true
    this.#notify()
  }

  /** Waits until there is news, or some time has passed. Returns whether there is. */
  async #hasNewsWithin(milliseconds: number): Promise<boolean> {
    if (this.#hasNews) return true
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      this.#notify = resolve
      timer = setTimeout(resolve, Math.min(milliseconds, longestTimer))
    })
    clearTimeout(timer)
    return this.#hasNews
  }

  #cutAll(): void {
    this.#cut.abort(new Error('the server has lost the lease of calls'))
    this.#cut = newCut()
  }
}

function newCut(): AbortController {
  const cut = new AbortController()
  // All calls in flight listen to it.
  setMaxListeners(0, cut.signal)
  return cut
}
