// Two versions of the program side by side, behind Debian's haproxy: an earlier version serves, a later one migrates meanwhile, and
// replaces it process by process. Run it with `npm run test:rolling`.
//
// `FROM` is the earlier version, a commit, and this one the later. By default, this commit is the earlier version, and the later one
// is the same with a made-up migration. `SECONDS` is the duration of each stage (default 10; with `-- --quick` 3). The requests are
// those of `mixed-load.ts`.
import { setTimeout as pause } from 'node:timers/promises'
import { startBalancer, type Balancer } from './balancers.ts'
import { buildVersion } from './built-version.ts'
import { startChecks } from './checks.ts'
import { MixedLoad } from './mixed-load.ts'
import { startServedDatabase, type Seat } from './served-database.ts'

const isQuick = process.argv.includes('--quick')
const seconds = Number(process.env.SECONDS ?? (isQuick ? 3 : 10))
const drainTime = 3

const { check, end } = startChecks()

const madeUp = `
  create table rowhouse.made_up (id integer primary key);
  alter table public.profiles add column made_up text;`

const { FROM: from } = process.env
const earlier = await buildVersion(from ?? 'HEAD')
const next = `${String(earlier.migrations.length + 1).padStart(6, '0')}_made_up.sql`
const later = await buildVersion('HEAD', from === undefined ? { [next]: madeUp } : {})
console.log(`# the earlier version is ${earlier.commit.slice(0, 10)}, with ${earlier.migrations.length} migrations`)
const database = await startServedDatabase({ SERVER_DRAIN_TIME: String(drainTime) })

let load: MixedLoad | undefined
/** What a stage of the deployment costs its clients. */
async function stage(name: string, act: () => Promise<unknown>): Promise<void> {
  const [answered, failed] = [load?.answered ?? 0, load?.failures.length ?? 0]
  await act()
  await pause(seconds * 1000)
  const failedNow = load?.failures.slice(failed) ?? []
  const number = (load?.answered ?? 0) - answered
  const some = [...new Set(failedNow)].slice(0, 5).join('; ')
  check(
    failedNow.length === 0 && number > 0,
    `${name}: ${failedNow.length} of ${number + failedNow.length} requests failed ${some}`,
  )
}

const seats: Seat[] = []
let balancer: Balancer | undefined

/** Replaces the process of a place by one of a version. @param main path of its `main.js` */
async function replace(index: number, main: string, env?: Readonly<Record<string, string>>): Promise<void> {
  const seat = seats[index]
  if (!seat) throw new Error(`there is no process ${index}`)
  // An earlier version may not drain: then its operator takes it out of the balancer.
  if (!earlier.drains) {
    await balancer?.setState(index, 'drain')
    await pause(2000)
  }
  seat.program.kill('SIGTERM')
  await seat.program.ended
  seat.program = (await database.seat(seat.port, main, env)).program
  await balancer?.setState(index, 'ready')
  // Until the balancer has seen it.
  await pause(1500)
}

try {
  await database.migrate(earlier.main)
  const key = await database.createKey()
  for (let number = 0; number < 3; number++) seats.push(await database.seat(undefined, earlier.main))
  balancer = await startBalancer(
    'haproxy',
    seats.map(({ port }) => port),
  )
  load = new MixedLoad({ url: balancer.url, clients: 12, allServices: true, key })
  await load.start()
  await stage('the earlier version', () => Promise.resolve())
  await stage('the later version migrates', () => database.migrate(later.main))
  await stage('the earlier version starts again on the newer schema', () =>
    replace(0, earlier.main, { MIGRATE_ON_START: 'true' }),
  )
  await stage('one process of the later version', () => replace(0, later.main))
  await stage('two processes of the later version', () => replace(1, later.main))
  await stage('one goes back', () => replace(1, earlier.main))
  await stage('two processes of the later version again', () => replace(1, later.main))
  await stage('all processes of the later version', () => replace(2, later.main))
  await load.stop()
  const { acknowledged, lost, doubled } = await load.verify(database.query)
  check(
    lost === 0 && doubled === 0,
    `of ${acknowledged} acknowledged inserts ${lost} are missing, ${doubled} rows are there twice`,
  )
} finally {
  await load?.stop()
  await balancer?.stop()
  await database.stop()
  await Promise.all([earlier.remove(), later.remove()])
}

end()
