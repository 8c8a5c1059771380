// Reloads of the schema cache while connections are renewed: floods, the end of the program, lost connections.
import t, { type Test } from 'tap'
import { connect } from '../../server/postgres/index.ts'
import { settingsOf } from '../../server/rest/rest-options.ts'
import { noRoleSettings } from '../../server/rest/settings.ts'
import { SchemaLoader, type SchemaLoaderOptions } from '../../server/rest/schema-loader.ts'
import type { LoadedSettings } from '../../server/rest/snapshot.ts'
import { Traffic } from '../../server/rest/traffic.ts'
import { qualifiedKey } from '../../server/catalogue/identifier.ts'
import { createDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

type Options = SchemaLoaderOptions<LoadedSettings>

const fixture = await createDatabase()
t.teardown(() => fixture.drop())
await fixture.query('create table public.items (id int primary key)')

/** Before each rest, a loader looks whether there are requests. */
class EndlessTraffic extends Traffic {
  looks = 0

  override get isQuiet(): boolean {
    this.looks++
    return false
  }
}

/** A loader that has loaded once. */
async function startLoader(
  t: Test,
  renewConnections: Options['database']['renewConnections'],
  traffic = new Traffic(),
) {
  const database = connect(fixture.adminUri, { dbPool: 2 })
  t.teardown(() => database.close())
  const events: string[] = []
  const config = settingsOf({ database, schemas: ['public'], identify: () => ({ role: 'x', claims: {} }) })
  const initial = { config, roleSettings: noRoleSettings }
  const used = { read: (use) => database.read(use), renewConnections } satisfies Partial<Options['database']>
  const loader = new SchemaLoader({
    database: used as unknown as Options['database'],
    settings: { initial, read: () => Promise.resolve(initial) },
    traffic,
    isUnavailable: () => false,
    isFinal: () => false,
    observe: ({ kind }) => events.push(kind),
  })
  t.teardown(() => loader.stop())
  await loader.reload()
  events.length = 0
  return { loader, events }
}

/** A renewal that lasts until it is called off, or until the returned function is called. */
function endlessRenewal() {
  const renewals: (() => void)[] = []
  const renew = (_time: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      renewals.push(resolve)
      if (signal?.aborted === true) resolve()
      signal?.addEventListener('abort', () => resolve())
    })
  return { renew, renewals }
}

t.test('a flood of reloads during a renewal ends its pauses, and loads once more', async (t) => {
  const { renew, renewals } = endlessRenewal()
  const { loader, events } = await startLoader(t, renew)
  const first = loader.reload()
  t.ok(await until(() => renewals.length === 1))
  await fixture.query('create table public.later (id int primary key)')
  t.notOk(loader.isPending, 'requests are answered meanwhile')
  const flood = Array.from({ length: 1000 }, () => loader.reload())
  for (let time = 0; time < 1000; time++) loader.recover()
  await first
  t.ok(await until(() => renewals.length === 2))
  t.ok(loader.snapshot.schemaCache?.tables.get(qualifiedKey('public', 'later')))
  renewals[1]?.()
  await Promise.all(flood)
  t.equal(renewals.length, 2)
  const reload = ['settings read', 'connections renewed', 'schema cache loaded']
  t.strictSame(events, [...reload, ...reload])
})

for (const [name, end] of [
  ['stop', (loader: SchemaLoader<LoadedSettings>) => loader.stop()],
  ['giveUp', (loader: SchemaLoader<LoadedSettings>) => loader.giveUp(new Error('the end'))],
] as const) {
  t.test(`${name} ends a renewal at once, and what waits for it`, async (t) => {
    const { renew, renewals } = endlessRenewal()
    const { loader, events } = await startLoader(t, renew)
    const reloads = [loader.reload()]
    t.ok(await until(() => renewals.length === 1))
    reloads.push(loader.reload(), loader.reload())
    await end(loader)
    await Promise.all(reloads)
    t.equal(renewals.length, 1)
    t.equal(events.filter((kind) => kind === 'schema cache loaded').length, 1)
  })
}

t.test('stop ends the rests of a load, which then ends soon', async (t) => {
  await fixture.query(`do $$ begin
    for number in 1..1001 loop execute format('create table public.t%s (id int)', number); end loop; end $$`)
  const traffic = new EndlessTraffic()
  const { loader, events } = await startLoader(t, () => Promise.resolve(), traffic)
  const rests: number[] = []
  for (const stops of [false, true]) {
    traffic.looks = 0
    const reloaded = loader.reload()
    if (stops) await loader.stop()
    await reloaded
    rests.push(traffic.looks)
  }
  t.equal(events.filter((kind) => kind === 'schema cache loaded').length, 2)
  const [resting = NaN, stopped = NaN] = rests
  t.ok(resting > 10 && stopped < 3, `${resting} rests; ${stopped} when it is stopped`)
})

t.test('connections that are lost in the middle of a renewal cost no later request', async (t) => {
  const database = connect(fixture.adminUri, { dbPool: 4 })
  t.teardown(() => database.close())
  const { loader } = await startLoader(t, (_time, signal) => database.renewConnections(400, signal))
  const read = () => database.read((query) => query('select 1 as one', []))
  const reads = (): Promise<unknown[]> => Promise.all(Array.from({ length: 20 }, read))
  await reads()
  const reloaded = loader.reload()
  for (let time = 0; time < 5; time++) {
    await fixture.query(`
      select pg_terminate_backend(pid, 5000) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and state = 'idle'`)
    // These may be given a connection that has just ended.
    await Promise.allSettled(Array.from({ length: 20 }, read))
  }
  await reloaded
  t.match(await reads(), Array(20).fill([{ one: 1 }]))
})
