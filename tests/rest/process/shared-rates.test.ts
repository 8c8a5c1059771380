// The rate of a role, which three processes on one database share: while all of them are overloaded, and one is killed.
import t from 'tap'
import { jwtSecret } from '../../support/application.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { says, startProgram } from '../../support/program.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const [perSecond, burst] = [200, 40]
await database.query(`
  create table public.notes (id int primary key);
  grant select on public.notes to anon;
  alter role anon in database ${database.name} set pgrst.max_requests_per_second = '${perSecond}';
  alter role anon in database ${database.name} set pgrst.max_request_burst = '${burst}';
  -- A statement may have to run again at this level.
  alter role authenticator in database ${database.name} set default_transaction_isolation = 'serializable';
`)
const programs = ['1', '2', '3'].map(() =>
  startProgram(t, {
    DATABASE_URL: database.authenticatorUri,
    PGRST_JWT_SECRET: jwtSecret,
    PGRST_DB_ANON_ROLE: 'anon',
    SERVICES: 'rest',
    SERVER_WORKERS: '1',
  }),
)
await Promise.all(programs.map((program) => program.line(says('listening'))))
await Promise.all(
  programs.map(async ({ call }) => {
    while ((await call('GET', '/ready')).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20))
  }),
)

type Flood = {
  readonly asked: number
  readonly granted: number
  readonly others: readonly string[]
  readonly seconds: number
}

/** Sends requests to processes, each as fast as it answers, until `isOver`. */
async function flood(
  processes: typeof programs,
  isOver: () => boolean,
  isKilled: (index: number) => boolean = () => false,
) {
  const start = performance.now()
  let asked = 0
  let granted = 0
  const others: string[] = []
  const client = async (index: number): Promise<void> => {
    while (!isOver() && !isKilled(index)) {
      asked++
      try {
        const { status, text } = (await processes[index]?.call('GET', '/rest/v1/notes')) ?? { status: 0, text: '' }
        if (status === 200) granted++
        else if (status !== 429) others.push(`${status} ${text}`)
      } catch (error) {
        if (!isKilled(index)) others.push(String(error))
      }
    }
  }
  await Promise.all(processes.flatMap((_, index) => [client(index), client(index), client(index)]))
  return { asked, granted, others, seconds: (performance.now() - start) / 1000 } satisfies Flood
}

const after = (milliseconds: number): (() => boolean) => {
  const end = performance.now() + milliseconds
  return () => performance.now() > end
}

/** What one process may have leased. */
const lease = perSecond / 10

t.test('all together let through the burst and the rate, and a tenth of a second each', async (t) => {
  const { asked, granted, others, seconds } = await flood(programs, after(1500))
  t.strictSame(others, [])
  const most = burst + perSecond * seconds + 3 * lease
  t.ok(granted <= most, `${granted} requests in ${seconds} s; at most ${most}`)
  t.ok(granted >= Math.min(asked, burst), `${granted} of ${asked} requests: at least the burst`)
})

t.test('a process that is killed loses no more than its lease', async (t) => {
  const before = await database.query('select remaining, changed_at from rowhouse_limits.buckets')
  t.equal(before.rows.length, 1)
  const isOver = after(1500)
  const [first] = programs
  let isKilled = false
  const killing = setTimeout(() => {
    isKilled = true
    first?.kill('SIGKILL')
  }, 400)
  const { granted, others, seconds } = await flood(programs, isOver, (index) => isKilled && index === 0)
  clearTimeout(killing)
  t.strictSame(others, [])
  t.equal(await first?.ended, null)
  t.ok(granted <= burst + perSecond * seconds + 3 * lease, `${granted} requests in ${seconds} s`)
  const { rows } = await database.query(
    `select least(${burst}, remaining + extract(epoch from clock_timestamp() - changed_at) * ${perSecond})::float8 as left
     from rowhouse_limits.buckets`,
  )
  // Whatever was neither let through nor left is lost: at most the leases. The machine may be too slow to use the rate up.
  const left = Number(rows[0]?.left)
  const accrued = perSecond * seconds
  t.ok(
    left >= burst || granted + left + 3 * lease + 1 >= accrued,
    `${granted} let through, ${left} left, ${accrued} accrued`,
  )
  for (const { call } of programs.slice(1)) {
    t.match((await call('GET', '/rest/v1/notes')).status, /200|429/, 'the others go on')
  }
})

t.test('a clock of the database that was set back delays nothing', async (t) => {
  const take = async (wanted: number, minimum = 1): Promise<unknown> => {
    const text = 'select granted from rowhouse_limits.take($1, 10, 10, $2, $3)'
    return (await database.query(text, ['clock', wanted, minimum])).rows[0]?.granted
  }
  t.equal(await take(9), 9)
  t.equal(await take(9, 9), 0, 'none if there are fewer than the minimum')
  await database.query("update rowhouse_limits.buckets set changed_at = changed_at + '1 hour' where subject = 'clock'")
  t.equal(await take(1), 1, 'what was left')
  await new Promise((resolve) => setTimeout(resolve, 300))
  t.ok(Number(await take(10)) >= 3, 'requests accrue')
})
