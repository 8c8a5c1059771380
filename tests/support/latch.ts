// Statements whose duration a test controls: they wait for an advisory lock that the test holds.
import type { Test } from 'tap'
import { withClient, type TestDatabase } from './database.ts'
import { until } from './until.ts'

export type Latch = {
  /** An SQL expression that waits until the latch is released, then returns null. */
  readonly wait: string
  /** Resolves with whether this many statements wait for it. */
  readonly isAwaited: (statements?: number) => Promise<boolean>
  /** Releases all waiting statements, and later ones. */
  readonly release: () => Promise<void>
}

let last = 0

/** Creates a closed latch for the duration of a test. */
export async function createLatch(
  t: Pick<Test, 'teardown'>,
  database: Pick<TestDatabase, 'adminUri' | 'query'>,
): Promise<Latch> {
  const id = ++last
  let open = (): void => undefined
  let closed = (): void => undefined
  const isClosed = new Promise<void>((resolve) => (closed = resolve))
  const isOpen = new Promise<void>((resolve) => (open = resolve))
  const done = withClient(database.adminUri, async (client) => {
    await client.query(`select pg_advisory_lock(77, ${id})`)
    closed()
    await isOpen
  })
  await Promise.race([isClosed, done])
  const release = (): Promise<void> => {
    open()
    return done
  }
  t.teardown(release)
  const waiting = `select from pg_locks where locktype = 'advisory' and classid = 77 and objid = ${id} and not granted
    and database = (select oid from pg_database where datname = current_database())`
  return {
    wait: `pg_advisory_xact_lock_shared(77, ${id})`,
    isAwaited: (statements = 1) => until(async () => (await database.query(waiting)).rowCount === statements),
    release,
  }
}
