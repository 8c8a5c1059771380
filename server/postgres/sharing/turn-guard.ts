// Turns of a shared connection that have not begun can be called off, provably: each turn asks, as the first thing in
// its transaction, whether the gate of its connection is still open.
//
// A gate is an advisory lock that a connection of this process keeps for as long as turns may begin. A turn that finds
// the lock free fails. It fails, too, when that connection is lost: what is called off can never begin, whatever happens
// to whom. A turn that may begin takes an advisory lock of its own until its transaction ends. Once a gate is closed and
// the lock of the turn in front is still taken, all turns behind that one are called off: those that begin later find the
// gate closed, and none has begun before, since the turns of a connection run one after the other. Who finds this out
// does not matter. When the connection with the gates is lost, another one does.
// https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
import { setTimeout as pauseFor } from 'node:timers/promises'
import type pg from 'pg'

/** Number of gates that are kept ready. */
const stock = 4
/** Milliseconds until a lost connection is replaced, until gates that nobody uses are given up, and after a failure. */
const pause = 1000
const longestIdle = 30_000
const longPause = 10_000
/** Milliseconds that the server has to close a gate. Then the connection is given up, and another one tries. */
const closingTime = 1000
/** Milliseconds between two attempts to close a gate that an ended session may still keep open. */
const closingPause = 20
const largestTurn = 2 ** 31 - 1
/** The lock of the gate itself; those of turns count from 1. */
const gateLock = 0

/** Unknown to PostgreSQL before version 14. An idle connection is the usual state of this one. */
const settings = `select set_config(name, '0', false) from pg_catalog.pg_settings
  where name in ('idle_session_timeout', 'statement_timeout', 'lock_timeout')`

const openGates = `select id, pg_catalog.pg_try_advisory_lock(id, ${gateLock}) as is_open from pg_catalog.unnest($1::int4[]) id`

/**
 * Closes a gate that this session keeps open ($3), or makes sure that no session does. Then, in this order, looks whether
 * the turn is running: null when the gate is still open. No gate is opened twice, so a closed one stays closed.
 */
const closeGate = `select case
  when $3::bool and not pg_catalog.pg_advisory_unlock($1::int4, ${gateLock}) then null
  when pg_catalog.pg_try_advisory_xact_lock_shared($1::int4, ${gateLock})
  then not pg_catalog.pg_try_advisory_xact_lock($1::int4, $2::int4) end as is_running`

/** Ends the session that keeps a gate open although its connection is lost: the server may not know that yet. */
const endSession = `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_locks
  where locktype = 'advisory' and mode = 'ExclusiveLock' and granted and pid <> pg_catalog.pg_backend_pid()
    and database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
    and classid::bigint = $1::int4::bigint & 4294967295 and objid = ${gateLock} and objsubid = 2`

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
    this.#isClosing = true
    return this.#keeper.close(this, turn)
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
  #starting: Promise<pg.Client> | undefined
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

  /** See `Gate.closeBehind`. Takes a few seconds at most, besides the time to connect. */
  async close(gate: Gate, turn: number): Promise<boolean> {
    if (this.#client) {
      const isRunning = await this.#tryToClose(this.#client, gate, turn)
      if (isRunning !== undefined) return isRunning
    }
    // The connection is lost or does not answer, or another one than that keeps the gate open.
    try {
      const client = await this.#connected()
      for (const end = performance.now() + closingTime; ;) {
        const isRunning = await this.#tryToClose(client, gate, turn)
        if (isRunning !== undefined) return isRunning
        if (this.#client !== client || performance.now() > end) return false
        await client.query(endSession, [gate.id])
        await pauseFor(closingPause)
      }
    } catch {
      return false
    }
  }

  /** Whether the turn is running while the gate is closed; undefined when the gate may be open. */
  async #tryToClose(client: pg.Client, gate: Gate, turn: number): Promise<boolean | undefined> {
    const isOwn = this.#open.has(gate)
    const late = new AbortController()
    try {
      const asked = client.query<{ is_running: boolean | null }>(closeGate, [gate.id, turn, isOwn])
      const result = await Promise.race([asked, pauseFor(closingTime, undefined, { signal: late.signal })])
      if (result) {
        this.#open.delete(gate)
        return result.rows[0]?.is_running ?? undefined
      }
      asked.catch(() => undefined)
    } catch {
      // What became of the gate is not known.
    } finally {
      late.abort()
    }
    if (this.#client === client) void this.#drop()
    return undefined
  }

  /** Gives up all gates, and opens no other ones for a while. */
  rest(): void {
    this.#pausedUntil = performance.now() + longPause
    void this.#drop()
  }

  /** Closes the connection, and with it all gates. */
  async end(): Promise<void> {
    this.#isEnded = true
    await this.#starting?.catch(() => undefined)
    await this.#drop()
  }

  async #refill(): Promise<void> {
    if (this.#isBusy || this.#isEnded || performance.now() < this.#pausedUntil) return
    this.#isBusy = true
    try {
      const client = await this.#connected()
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

  async #connected(): Promise<pg.Client> {
    if (this.#client) return this.#client
    this.#starting ??= this.#start().finally(() => (this.#starting = undefined))
    return this.#starting
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
    try {
      await client.connect()
      await client.query(settings)
      const { rows } = await client.query<{ pid: number }>('select pg_catalog.pg_backend_pid() as pid')
      // Behind a pooler the next statement may run in another session, which does not have the locks.
      if (rows[0]?.pid !== (client as pg.Client & { readonly processID: number }).processID) {
        throw new Error('there is a pooler in front of the database')
      }
      if (this.#isEnded) throw new Error('no more gates are needed')
      this.#client = client
      return client
    } catch (error) {
      await client.end().catch(() => undefined)
      throw error
    }
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
