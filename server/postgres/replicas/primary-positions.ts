// The position of the primary after a write has been committed. One query serves all writes that were committed before it
// was sent.
import { SingleFlight } from '../../common/single-flight.ts'
import { parseLsn, unreachable, type WalPosition } from '../../common/wal-position.ts'

type Query = (text: string, values: unknown[]) => Promise<readonly Readonly<Record<string, unknown>>[]>

/**
 * The flush position, and whether transactions may be committed before they are flushed. The insert position includes
 * these, but also records that are not flushed for a while, such as those of reads that clean up pages: a replica does not
 * get them before. The name of the log file begins with the timeline.
 */
const positions = `select pg_catalog.pg_current_wal_flush_lsn()::text as flushed,
  pg_catalog.pg_current_wal_insert_lsn()::text as inserted,
  pg_catalog.current_setting('synchronous_commit') = 'off' as is_asynchronous,
  pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) as file`

/** Whether a role or a function may switch to commits that are not flushed. */
const asynchronousCommits = `select exists (
    select from pg_catalog.pg_db_role_setting, pg_catalog.unnest(setconfig) as setting
    where setting ~* '^synchronous_commit=')
  or exists (
    select from pg_catalog.pg_proc
    where pronamespace <> 'pg_catalog'::pg_catalog.regnamespace
      and (prosrc ~* 'synchronous_commit' or pg_catalog.array_to_string(proconfig, ' ') ~* 'synchronous_commit')
  ) as may_happen`

/** Milliseconds after which a write is acknowledged without a known position. */
const timeout = 1000

export class PrimaryPositions {
  readonly #query: Query
  readonly #reading = new SingleFlight(() => this.#read())
  #position: WalPosition = unreachable
  /** Whether commits are certainly flushed, unless `synchronous_commit` is off for the whole session. */
  #areFlushed = false

  constructor(query: Query) {
    this.#query = query
  }

  /** Determines how commits can be made. Called again when the schema may have changed. Never rejects. */
  async inspect(): Promise<void> {
    this.#areFlushed = false
    try {
      const [row] = await this.#query(asynchronousCommits, [])
      this.#areFlushed = row?.may_happen === false
    } catch {
      // The insert position is always right.
    }
  }

  /**
   * A position after everything that has been committed before this call. When it cannot be read, it is one that no
   * replica reaches. Never rejects.
   */
  async next(): Promise<WalPosition> {
    await this.#reading.run()
    return this.#position
  }

  async #read(): Promise<void> {
    let position: WalPosition | undefined
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), timeout)
    })
    try {
      const [row] = (await Promise.race([this.#query(positions, []), late])) ?? []
      const isFlushed = this.#areFlushed && row?.is_asynchronous === false
      if (row) position = positionOf(isFlushed ? row.flushed : row.inserted, row.file)
    } catch {
      // The write is committed all the same.
    } finally {
      clearTimeout(timer)
    }
    // Replaced, never reset: callers may read it after the next question has been sent.
    this.#position = position ?? unreachable
  }
}

/** @param file name of a file of the write-ahead log */
export function positionOf(lsn: unknown, file: unknown): WalPosition | undefined {
  const parsed = typeof lsn === 'string' ? parseLsn(lsn) : undefined
  const timeline = typeof file === 'string' ? Number.parseInt(file.slice(0, 8), 16) : NaN
  return parsed === undefined || Number.isNaN(timeline) ? undefined : { timeline, lsn: parsed }
}
