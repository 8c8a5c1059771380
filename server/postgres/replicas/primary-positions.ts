// The position of the primary after a write has been committed. One query serves all writes that were committed before it
// was sent.
import { SingleFlight } from '../../common/single-flight.ts'
import { parseLsn, unreachable, type WalPosition } from '../../common/wal-position.ts'

type Query = (text: string, values: unknown[]) => Promise<readonly Readonly<Record<string, unknown>>[]>

/**
 * The insert position includes commits that are not flushed yet (`synchronous_commit = off`). The name of the log file
 * begins with the timeline.
 */
const insertPosition = `select pg_catalog.pg_current_wal_insert_lsn()::text as lsn,
  pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) as file`

/** Milliseconds after which a write is acknowledged without a known position. */
const timeout = 1000

export class PrimaryPositions {
  readonly #query: Query
  readonly #reading = new SingleFlight(() => this.#read())
  #position: WalPosition = unreachable

  constructor(query: Query) {
    this.#query = query
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
    this.#position = unreachable
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), timeout)
    })
    try {
      const [row] = (await Promise.race([this.#query(insertPosition, []), late])) ?? []
      this.#position = (row && positionOf(row.lsn, row.file)) ?? unreachable
    } catch {
      // The write is committed all the same.
    } finally {
      clearTimeout(timer)
    }
  }
}

/** @param file name of a file of the write-ahead log */
export function positionOf(lsn: unknown, file: unknown): WalPosition | undefined {
  const parsed = typeof lsn === 'string' ? parseLsn(lsn) : undefined
  const timeline = typeof file === 'string' ? Number.parseInt(file.slice(0, 8), 16) : NaN
  return parsed === undefined || Number.isNaN(timeline) ? undefined : { timeline, lsn: parsed }
}
