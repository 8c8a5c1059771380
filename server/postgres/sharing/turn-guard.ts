// Turns of a shared connection that have not begun can be called off, provably: each turn asks, as the first thing in
// its transaction, whether the gate of its connection is still open.
//
// A gate is an advisory lock that a connection of this process keeps for as long as turns may begin. A turn that finds
// the lock free fails. It fails, too, when that connection is lost: what is called off can never begin, whatever happens
// to whom. A turn that may begin takes an advisory lock of its own until its transaction ends. Once a gate is closed and
// the lock of the turn in front is still taken, all turns behind that one are called off.
// https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
import type pg from 'pg'

/** Number of gates that are kept ready. */
const stock = 4
/** Milliseconds until a lost connection is replaced, until gates that nobody uses are given up, and after a failure. */
const pause = 1000
const longestIdle = 30_000
const longPause = 10_000
const largestTurn = 2 ** 31 - 1
/** The lock of the gate itself; those of turns count from 1. */
const gateLock = 0

/** Unknown to PostgreSQL before version 14. An idle connection is the usual state of this one. */
const settings = `select set_config(name, '0', false) from pg_catalog.pg_settings
  where name in ('idle_session_timeout', 'statement_timeout', 'lock_timeout')`

const openGates = `select id, pg_catalog.pg_try_advisory_lock(id, ${gateLock}) as is_open from pg_catalog.unnest($1::int4[]) id`

/** A session that had its lock of a gate taken away says so: then nothing is known. */
const closeGate = `select case when $3::bool or pg_catalog.pg_advisory_unlock($1::int4, ${gateLock})
  then not pg_catalog.pg_try_advisory_xact_lock($1::int4, $2::int4) end as is_running`

/** SQLSTATE division_by_zero: what the guard of a turn fails with that may not begin. */
export const calledOff = '22012'

/**
 * An SQL expression that fails (SQLSTATE `calledOff`) unless the turn may begin. Nothing else in its statement may fail so.
 *
 * @param id placeholder of the gate's number
 * @param turn placeholder of the turn's number
 */
export const mayBegin = (id: string, turn: string): string =>
  `1 / (not pg_catalog.pg_try_advisory_xact_lock_shared(${id}::int4, ${gateLock}) and pg_catalog.pg_try_advisory_xact_lock(${id}::int4, ${turn}::int4))::int4`

/** The gate of one shared connection. */
export class Gate {
  readonly id: number
  readonly #keeper: GateKeeper
  #turns = 0
  /** Whether the server has been told to close it. */
  #isClosing = false

  constructor(id: number, keeper: GateKeeper) {
    this.id = id
    this.#keeper = keeper
  }

  /** Whether turns that are sent now are expected to begin. */
  get isOpen(): boolean {
    return !this.#isClosing && this.#keeper.keeps(this) && this.#turns < largestTurn
  }

  /** The number of the next turn. */
  nextTurn(): number {
    return ++this.#turns
  }

  /**
   * Closes the gate, for good.
   *
   * @returns whether the turn was running then, so that no turn with a higher number has begun or ever will; false when
   *   that is not known
   */
  async closeBehind(turn: number): Promise<boolean> {
    const wasClosing = this.#isClosing
    this.#isClosing = true
    return this.#keeper.close(this, turn, wasClosing)
  }

  /** No turn is on its way any more. */
  release(): void {
    this.#keeper.takeBack(this)
  }

  /** A turn was refused although the gate should be open: the connections do not reach the same server, for example. */
  distrust(): void {
    if (this.isOpen) this.#keeper.rest()
  }
}

/** Keeps the gates of one process open, on a connection outside the pool, which is made when it is first needed. */
export class GateKeeper {
  readonly #connect: () => pg.Client
  #client: pg.Client | undefined
  /** All gates that the connection keeps open, and those of them that are not in use. */
  #open = new Set<Gate>()
  #free: Gate[] = []
  #nextId = Math.floor(Math.random() * 2 ** 32)
  #isBusy = false
  #isEnded = false
  #pausedUntil = 0
  #timer: NodeJS.Timeout | undefined

  /** @param connect makes a client that is not connected yet */
  constructor(connect: () => pg.Client) {
    this.#connect = connect
  }

  /** An open gate; undefined while there is none, so that nothing can be shared. */
  claim(): Gate | undefined {
    const gate = this.#free.pop()
    clearTimeout(this.#timer)
    if (this.#free.length < stock / 2) void this.#refill()
    return gate
  }

  keeps(gate: Gate): boolean {
    return this.#open.has(gate)
  }

  takeBack(gate: Gate): void {
    if (gate.isOpen) this.#free.push(gate)
    else this.#open.delete(gate)
    if (this.#free.length < this.#open.size) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#drop(), longestIdle).unref()
  }

  async close(gate: Gate, turn: number, wasClosing: boolean): Promise<boolean> {
    const client = this.#client
    if (!client || !this.#open.has(gate)) return false
    try {
      const { rows } = await client.query<{ is_running: boolean | null }>(closeGate, [gate.id, turn, wasClosing])
      return rows[0]?.is_running === true
    } catch {
      return false
    }
  }

  /** Gives up all gates, and opens no other ones for a while. */
  rest(): void {
    this.#pausedUntil = performance.now() + longPause
    void this.#drop()
  }

  /** Closes the connection, and with it all gates. */
  async end(): Promise<void> {
    this.#isEnded = true
    await this.#drop()
  }

  async #refill(): Promise<void> {
    if (this.#isBusy || this.#isEnded || performance.now() < this.#pausedUntil) return
    this.#isBusy = true
    try {
      const client = (this.#client ??= await this.#start())
      const ids = Array.from({ length: stock }, () => this.#nextId++ | 0)
      const { rows } = await client.query<{ id: number; is_open: boolean }>(openGates, [ids])
      if (this.#client !== client) return
      for (const { id, is_open: isOpen } of rows) {
        if (!isOpen) continue
        const gate = new Gate(id, this)
        this.#open.add(gate)
        this.#free.push(gate)
      }
    } catch {
      // Without gates statements run on connections of their own.
      this.#pausedUntil = performance.now() + longPause
    } finally {
      this.#isBusy = false
    }
  }

  async #start(): Promise<pg.Client> {
    const client = this.#connect()
    const lose = (): void => {
      if (this.#client !== client) return
      this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + pause)
      void this.#drop()
    }
    client.on('error', lose)
    client.on('end', lose)
    await client.connect()
    await client.query(settings)
    const { rows } = await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid')
    // Behind a pooler the next statement may run in another session, which does not have the locks.
    if (rows[0]?.pid !== (client as pg.Client & { readonly processID: number }).processID || this.#isEnded) {
      await client.end()
      throw new Error('there is a pooler in front of the database')
    }
    return client
  }

  async #drop(): Promise<void> {
    clearTimeout(this.#timer)
    const client = this.#client
    this.#client = undefined
    this.#open = new Set()
    this.#free = []
    await client?.end().catch(() => undefined)
  }
}
