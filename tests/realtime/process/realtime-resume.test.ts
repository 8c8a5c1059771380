// A client whose process is killed goes on at another one, which has had no clients until then.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { jwtSecret } from '../../support/application.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { startProcesses } from '../../support/processes.ts'
import { dial, type RealtimeClient } from '../../support/realtime.ts'
import { until } from '../../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`create table public.items (id int primary key, note text);
  create table public.quiet (id int primary key);
  grant select on public.items, public.quiet to anon;
  alter publication supabase_realtime add table public.items, public.quiet;`)

const env = {
  DATABASE_URL: database.authenticatorUri,
  REALTIME_DATABASE_URL: database.adminUri,
  PGRST_JWT_SECRET: jwtSecret,
  LOAD_SHEDDING_WAIT: '0',
}

type Data = { readonly record: { readonly id: number }; readonly position: string }

const eventsOf = ({ received }: RealtimeClient): readonly Data[] =>
  received.filter(({ event }) => event === 'postgres_changes').map(({ payload }) => (payload as { data: Data }).data)

const idsOf = (client: RealtimeClient): readonly number[] => eventsOf(client).map(({ record }) => record.id)

const problemsOf = ({ received }: RealtimeClient): readonly unknown[] =>
  received.filter(
    ({ event, payload }) => event === 'system' && (payload as { readonly status: string }).status !== 'ok',
  )

/** @returns the client, and where it begins */
async function listen(
  url: string,
  table: string,
  since?: string,
): Promise<{ readonly client: RealtimeClient; readonly position: string }> {
  const client = await dial(t, url)
  await client.opened
  await client.join(table, {
    postgres_changes: [{ event: '*', schema: 'public', table }],
    ...(since === undefined ? {} : { postgres_changes_options: { since } }),
  })
  const { payload } = await client.next('system')
  return { client, position: String((payload as { readonly position?: unknown }).position) }
}

const readers = async (): Promise<number> =>
  (await database.query('select from pg_replication_slots where database = current_database() and active')).rowCount ??
  0

const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index)

t.test('a client of a process that was killed goes on at another one', async (t) => {
  const [first, second] = await startProcesses(t, [env, env])
  if (!first || !second) throw new Error('not started')
  t.equal(await readers(), 0, 'without subscribers, none reads the log')
  const { client } = await listen(first.url(), 'items')
  const begun = performance.now()
  t.ok(await until(async () => (await readers()) === 2), 'the other process reads along')
  t.comment(`after ${Math.round(performance.now() - begun)} ms`)

  let written = 0
  let isOver = false
  const writing = (async () => {
    while (!isOver) await database.query(`insert into items (id) values (${++written}), (${++written})`)
  })()
  t.ok(await until(() => eventsOf(client).length > 100))
  first.kill('SIGKILL')
  await Promise.all([first.ended, client.closed])
  const seen = eventsOf(client)
  const resumed = performance.now()
  const { client: again } = await listen(second.url(), 'items', seen.at(-1)?.position ?? '')
  t.ok(await until(() => idsOf(again).length > 0))
  t.comment(`goes on after ${Math.round(performance.now() - resumed)} ms`)
  isOver = true
  await writing
  t.ok(await until(() => seen.length + idsOf(again).length >= written))
  t.strictSame([...idsOf(client), ...idsOf(again)], numbers(1, written), 'everything, once and in order')
  t.strictSame([...problemsOf(client), ...problemsOf(again)], [])
})

t.test('a client that has seen nothing since before the other process began to read goes on, too', async (t) => {
  const [first, second] = await startProcesses(t, [env, env])
  if (!first || !second) throw new Error('not started')
  const { client, position } = await listen(first.url(), 'quiet')
  t.ok(await until(async () => (await readers()) === 2))
  // It learns soon that nothing has happened before it began.
  await pause(3000)
  first.kill('SIGKILL')
  await Promise.all([first.ended, client.closed])
  await database.query('insert into quiet values (1)')
  const { client: again } = await listen(second.url(), 'quiet', position)
  t.ok(await until(() => idsOf(again).length > 0))
  t.strictSame([idsOf(again), problemsOf(again)], [[1], []])
})
