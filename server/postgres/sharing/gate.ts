// Gates call off transactions that wait on a shared connection: a transaction that was called off can never begin.
// Every transaction checks first whether the gate of its connection is open.
//
// A gate is an advisory lock that a separate connection of this process keeps while transactions may begin. A
// transaction that finds the lock free fails; the lock becomes free, too, when that connection is lost. A transaction
// that may begin takes an advisory lock of its own until it ends. If that lock is still taken when the gate has been
// closed, all transactions behind it are called off: later ones find the gate closed, and none can have begun earlier,
// because the transactions of a connection run one after the other. Any connection can check this, so losing the one
// with the gates does no harm.
// https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
import { setTimeout as pauseFor } from 'node:timers/promises'
import type pg from 'pg'
import { sharingPolicy } from './policy.ts'

const { stock, pause, longestIdle, longPause, closingTime, closingPause } = sharingPolicy.gates
const largestNumber = 2 ** 31 - 1
/** Key of the gate's own lock; the keys of transactions count from 1. */
const gateLock = 0

/** The timeouts that would end this connection, which is usually idle. Only those that the server's version knows. */
const settings = `select set_config(name, '0', false) from pg_catalog.pg_settings
  where name in ('idle_session_timeout', 'statement_timeout', 'lock_timeout')`

const openGates = `select id, pg_catalog.pg_try_advisory_lock(id, ${gateLock}) as is_open from pg_catalog.unnest($1::int4[]) id`

/**
 * Closes a gate that this session keeps open ($3), or makes sure that no session does; then checks whether the
 * transaction is running. Null when the gate is still open. No gate is opened twice, so a closed one stays closed.
 */
const closeGate = `select case
  when $3::bool and not pg_catalog.pg_advisory_unlock($1::int4, ${gateLock}) then null
  when pg_catalog.pg_try_advisory_xact_lock_shared($1::int4, ${gateLock})
  then not pg_catalog.pg_try_advisory_xact_lock($1::int4, $2::int4) end as is_running`

/** Ends the session that keeps a gate open: the server may not have noticed yet that its connection is lost. */
const endSession = `select pg_catalog.pg_terminate_backend(pid) from pg_catalog.pg_locks
  where locktype = 'advisory' and mode = 'ExclusiveLock' and granted and pid <> pg_catalog.pg_backend_pid()
    and database = (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database())
    and classid::bigint = $1::int4::bigint & 4294967295 and objid = ${gateLock} and objsubid = 2`

/** SQLSTATE division_by_zero, with which the guard of a transaction fails that may not begin. */
export const calledOff = '22012'

/**
 * An SQL expression that fails with the SQLSTATE `calledOff` unless the transaction may begin. Nothing else in its
 * statement may fail with that code.
 *
 * @param id placeholder of the gate's id
 * @param number placeholder of the transaction's number
 */
export const mayBegin = (id: string, number: string): string =>
  `1 / (not pg_catalog.pg_try_advisory_xact_lock_shared(${id}::int4, ${gateLock}) and pg_catalog.pg_try_advisory_xact_lock(${id}::int4, ${number}::int4))::int4`

/** The gate of one shared connection. */
export class Gate {
  readonly id: number
  readonly #keeper: GateKeeper
  #lastNumber = 0
  /** Whether `closeBehind` was called. */
  #isClosing = false

  constructor(id: number, keeper: GateKeeper) {
    this.id = id
    this.#keeper = keeper
  }

  /** Whether transactions that are sent now are expected to begin. */
  get isOpen(): boolean {
    return !this.#isClosing && this.#keeper.keeps(this) && this.#lastNumber < largestNumber
  }

  /** The number of the next transaction. */
  nextNumber(): number {
    return ++this.#lastNumber
  }

  /**
   * Closes the gate, for good.
   *
   * @returns whether the transaction was running then, so that none with a higher number has begun or ever will; false
   *   also when that is unknown
   */
  async closeBehind(number: number): Promise<boolean> {
    this.#isClosing = true
    return this.#keeper.close(this, number)
  }

  /** Returns the gate to its keeper. Requires that no transaction is pending. */
  release(): void {
    this.#keeper.takeBack(this)
  }

  /**
   * Reports a transaction that was called off although the gate should be open, for example because the connections do
   * not reach the same server.
   */
  distrust(): void {
    if (this.isOpen) this.#keeper.suspend()
  }
}

/** Keeps the gates of one process open on a connection outside the pool, which is opened on first use. */
export class GateKeeper {
  readonly #connect: () => pg.Client
  #client: pg.Client | undefined
  #starting: Promise<pg.Client> | undefined
  /** All gates that the connection keeps open; `#free` has those that are not in use. */
  #open = new Set<Gate>()
  #free: Gate[] = []
  #nextId = Math.floor(Math.random() * 2 ** 32)
  #isBusy = false
  #isEnded = false
  #pausedUntil = 0
  #timer: NodeJS.Timeout | undefined

  /** @param connect creates a client that is not connected yet */
  constructor(connect: () => pg.Client) {
    this.#connect = connect
  }

  /** An open gate; undefined when no gate is free. */
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

  /** See `Gate.closeBehind`. Takes a few seconds at most, plus the time to connect. */
  async close(gate: Gate, number: number): Promise<boolean> {
    if (this.#client) {
      const isRunning = await this.#tryToClose(this.#client, gate, number)
      if (isRunning !== undefined) return isRunning
    }
    // The connection is lost or does not respond, or an earlier connection still keeps the gate open.
    try {
      const client = await this.#connected()
      for (const end = performance.now() + closingTime; ;) {
        const isRunning = await this.#tryToClose(client, gate, number)
        if (isRunning !== undefined) return isRunning
        if (this.#client !== client || performance.now() > end) return false
        await client.query(endSession, [gate.id])
        await pauseFor(closingPause)
      }
    } catch {
      return false
    }
  }

  /** Whether the transaction is running while the gate is closed; undefined when the gate may be open. */
  async #tryToClose(client: pg.Client, gate: Gate, number: number): Promise<boolean | undefined> {
    const isOwn = this.#open.has(gate)
    const late = new AbortController()
    try {
      const asked = client.query<{ is_running: boolean | null }>(closeGate, [gate.id, number, isOwn])
      const result = await Promise.race([asked, pauseFor(closingTime, undefined, { signal: late.signal })])
      if (result) {
        this.#open.delete(gate)
        return result.rows[0]?.is_running ?? undefined
      }
      asked.catch(() => undefined)
    } catch {
      // The state of the gate is unknown.
    } finally {
      late.abort()
    }
    if (this.#client === client) void this.#drop()
    return undefined
  }

  /** Gives up all gates, and opens no new ones for a while. */
  suspend(): void {
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
      // Without gates, statements run on connections of their own.
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
      // Behind a pooler, the next statement may run in another session, which does not have the locks.
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
