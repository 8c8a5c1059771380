// The primary dies under subscriptions, and its standby is promoted.
import t from 'tap'
import { migrate } from '../../../server/postgres/migrate.ts'
import { startApplication } from '../../support/application.ts'
import { withClient } from '../../support/database.ts'
import { dial } from '../../support/realtime.ts'
import { startReplication } from '../../support/replication.ts'
import { until } from '../../support/until.ts'

const { primary, standbys } = await startReplication(t, 1)
const [standby] = standbys
if (!standby) throw new Error('there is no standby')
await withClient(primary.uri(), (client) => migrate(client))
await primary.query(`alter role authenticator password 'authenticator';
  create table public.items (id int primary key);
  grant select on public.items to anon;
  alter publication supabase_realtime add table public.items;`)

/** Both servers, of which the one that accepts writes is meant. */
const uriOf = (login: string): string =>
  `postgresql://${login}@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/postgres?target_session_attrs=read-write`

const { url } = await startApplication(t, uriOf('authenticator:authenticator'), {
  REALTIME_DATABASE_URL: uriOf('postgres:postgres'),
})

type Data = { readonly record: { readonly id: number } }

t.test('a failover', { timeout: 300_000 }, async (t) => {
  const client = await dial(t, url)
  await client.opened
  const binding = { event: '*', schema: 'public', table: 'items' }
  t.match(await client.join('items', { postgres_changes: [binding] }), { status: 'ok' })
  t.match((await client.next('system')).payload, { status: 'ok' })
  const beat = setInterval(() => client.send('heartbeat', 'phoenix', {}), 20_000)
  t.teardown(() => clearInterval(beat))
  const ids = (): readonly number[] =>
    client.received
      .filter(({ event }) => event === 'postgres_changes')
      .map(({ payload }) => (payload as { data: Data }).data.record.id)
  const hears = (code: string): Promise<boolean> =>
    until(() => client.received.some(({ payload }) => (payload as { code?: string }).code === code))
  await primary.query('insert into items select generate_series(1, 10)')
  t.ok(await until(() => ids().length === 10))
  const isReplayed = 'select count(*)::int as count from items'
  t.ok(await until(async () => (await standby.query(isReplayed))[0]?.count === 10))
  await primary.kill()
  t.ok(await hears('Unavailable'))
  await standby.query('select pg_promote()')
  await standby.query('insert into items values (11)')
  t.ok(await hears('Gap'), 'what was committed meanwhile may be missing')
  let id = 100
  t.ok(
    await until(async () => {
      await standby.query('insert into items values ($1)', [++id])
      return ids().some((one) => one > 100)
    }),
    'events come again',
  )
  t.strictSame([...new Set(ids())], [...ids()], 'each once')
  t.strictSame(
    [...ids()].sort((one, other) => one - other),
    [...ids()],
    'in order',
  )
  const again = await dial(t, url)
  await again.opened
  const [seen] = client.received.filter(({ event }) => event === 'postgres_changes')
  const { position } = (seen?.payload as { data: { position: string } }).data
  await again.join('items', { postgres_changes: [binding], postgres_changes_options: { since: position } })
  t.ok(
    await until(() => again.received.some(({ payload }) => (payload as { code?: string }).code === 'Gap')),
    'positions of the former primary are not mistaken',
  )
})
