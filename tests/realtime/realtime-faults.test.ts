// What a subscription hears when the log, its publication or its table goes away, and that events come again.
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { createGate } from '../support/gate.ts'
import { dial, hourToken, type RealtimeClient } from '../support/realtime.ts'
import { until } from '../support/until.ts'

const [ann, bob] = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002']
const tableSql = `create table public.items (id int primary key, owner uuid);
  alter table public.items enable row level security;
  create policy own on public.items for select to authenticated using (owner = (select auth.uid()));
  grant select on public.items to authenticated;`
const binding = { event: '*', schema: 'public', table: 'items' }

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`${tableSql} alter publication supabase_realtime add table public.items;`)
const gate = await createGate(t, database.port)
await gate.open()
const throughGate = (uri: string): string => uri.replace(`:${database.port}/`, `:${gate.port}/`)
const { url, call, logged } = await startApplication(t, throughGate(database.authenticatorUri), {
  REALTIME_DATABASE_URL: throughGate(database.adminUri),
})

type Message = { readonly status?: string; readonly code?: string; readonly message?: string }

async function listen(test: Pick<Test, 'teardown'>, user: string, tries = 20): Promise<RealtimeClient> {
  const client = await dial(test, url, { token: await hourToken('authenticated', { sub: user }) })
  await client.opened
  // The server closes connections of clients that are silent for a minute.
  const beating = setInterval(() => client.send('heartbeat', 'phoenix', {}), 10_000)
  test.teardown(() => clearInterval(beating))
  await client.join('items', { postgres_changes: [binding] })
  const { status } = (await client.next('system')).payload as Message
  // Reading the log begins when all transactions have ended that run in the cluster, also those of other tests.
  if (status !== 'ok' && tries > 1) {
    client.socket.terminate()
    return listen(test, user, tries - 1)
  }
  t.equal(status, 'ok')
  return client
}

const idsOf = ({ received }: RealtimeClient): unknown[] =>
  received
    .filter(({ event }) => event === 'postgres_changes')
    .map(({ payload }) => (payload as { data: { record: { id: number } } }).data.record.id)

const messagesOf = ({ received }: RealtimeClient): Message[] =>
  received.filter(({ event }) => event === 'system').map(({ payload }) => payload as Message)

const hears = (client: RealtimeClient, fits: (message: Message) => boolean): Promise<boolean> =>
  until(() => messagesOf(client).some(fits))

let ids = 0
const insert = async (): Promise<number> => {
  await database.query(`insert into items values (${++ids}, '${ann}'), (${-ids}, '${bob}')`)
  return ids
}
/** Whether a row that is inserted now, and again each second, arrives. */
const arrives = async (client: RealtimeClient): Promise<boolean> => {
  for (let count = 0; count < 60; count++) {
    const id = await insert()
    for (let wait = 0; wait < 20; wait++) {
      if (idsOf(client).includes(id)) return true
      await pause(50)
    }
  }
  return false
}

/** Only rows of its own, each once. */
const isClean = (client: RealtimeClient): boolean => {
  const seen = idsOf(client)
  return new Set(seen).size === seen.length && seen.every((id) => Number(id) > 0)
}

const terminate = `select pg_terminate_backend(active_pid) from pg_replication_slots where database = current_database()`

t.test('the connection that reads the log is terminated', async (t) => {
  const client = await listen(t, ann)
  t.ok(await arrives(client))
  await database.query(terminate)
  t.ok(await hears(client, ({ code }) => code === 'Unavailable'))
  t.ok(
    await hears(
      client,
      ({ code, message = '' }) => code === 'Gap' && message.includes('further changes follow'.slice(8)),
    ),
  )
  t.ok(await arrives(client))
  t.ok(isClean(client))
})

t.test('the slot is dropped', async (t) => {
  const client = await listen(t, ann)
  // A temporary slot can only be dropped with its connection.
  await database.query(`${terminate}; select pg_drop_replication_slot(slot_name) from pg_replication_slots
    where database = current_database() and not active`)
  t.ok(await hears(client, ({ code }) => code === 'Gap'))
  t.ok(await arrives(client))
  t.ok(isClean(client))
})

t.test('the database is away for ten seconds', async (t) => {
  const client = await listen(t, ann)
  t.ok(await arrives(client))
  await gate.shut()
  // Otherwise a failure here would make all that follows wait for the database.
  t.teardown(async () => {
    await gate.shut()
    await gate.open()
  })
  t.ok(await hears(client, ({ code }) => code === 'Unavailable'))
  const missed = await insert()
  t.equal((await call('GET', '/health')).status, 200)
  const token = await hourToken('authenticated', { sub: ann })
  const [stream] = await Promise.all([
    fetch(`${url}/realtime/v1/changes?schema=public&table=items`, { headers: { Authorization: `Bearer ${token}` } }),
    pause(10_000),
  ])
  t.equal(stream.status, 503)
  t.match(await stream.json(), { message: 'The subscription was not live within 9000 ms.' })
  t.notOk(
    logged().some(({ event, error }) => event === 'failure' && JSON.stringify(error).includes('RealtimeError')),
    'an answer is no fault of the log',
  )
  t.match(
    messagesOf(client).filter(({ status }) => status === 'error'),
    [{ code: 'Unavailable', message: /^The server has lost its connection to the log of the database/ }],
    'once, and without the address of the database',
  )
  await gate.open()
  t.ok(await hears(client, ({ code }) => code === 'Gap'))
  t.ok(await arrives(client))
  t.ok(isClean(client))
  t.notOk(idsOf(client).includes(missed))
})

t.test('the publication is dropped, and created again', async (t) => {
  const client = await listen(t, ann)
  t.ok(await arrives(client))
  await database.query('drop publication supabase_realtime')
  await insert()
  t.ok(
    await hears(client, ({ code, message = '' }) => code === 'Unavailable' && message.includes('create publication')),
    'the message says what is missing',
  )
  await database.query('create publication supabase_realtime for table items')
  t.ok(await arrives(client), 'events come again')
  t.ok(await hears(client, ({ code }) => code === 'Gap'))
  t.ok(isClean(client))
})

t.test('the table is dropped, and created again', async (t) => {
  const client = await listen(t, ann)
  t.ok(await arrives(client))
  await database.query(`drop table items; ${tableSql}`)
  t.ok(
    await hears(client, ({ code, message = '' }) => code === 'Unavailable' && message.includes('add table')),
    'the message says what is missing',
  )
  await database.query('alter publication supabase_realtime add table items')
  t.ok(await hears(client, ({ code }) => code === 'Gap'))
  t.ok(await arrives(client))
  t.ok(isClean(client))
})

t.test('the publication reports only some kinds of changes, and all of them again', async (t) => {
  const updates = { event: 'UPDATE', schema: 'public', table: 'items' }
  const listening = async (postgres_changes: object): Promise<RealtimeClient> => {
    const client = await dial(t, url, { token: await hourToken('authenticated', { sub: ann }) })
    await client.opened
    await client.join('kinds', { postgres_changes: [postgres_changes] })
    t.match((await client.next('system')).payload, { status: 'ok' })
    return client
  }
  const systems = (client: RealtimeClient): unknown[] =>
    client.received.flatMap(({ event, payload }) => {
      const { status, code, message } = payload as { status?: string; code?: string; message?: string }
      return event === 'system' && status === 'error' ? [{ code, message }] : []
    })
  const fails = async (client: RealtimeClient, count: number): Promise<unknown> => {
    await until(() => systems(client).length >= count)
    return systems(client)
  }
  const unavailable = (what: string, only: string, all: string): object => ({
    code: 'Unavailable',
    message: `${what} not reported: the publication supabase_realtime publishes only ${only}. Publish more: alter publication supabase_realtime set (publish = '${all}');`,
  })
  const published = { code: 'Gap', message: /^Changes may be missing: they were not published for a while/ }
  const all = await listening(binding)
  const inserts = await listening({ ...binding, event: 'INSERT' })
  await database.query("alter publication supabase_realtime set (publish = 'insert')")
  const inserted = unavailable('UPDATE and DELETE are', 'insert', 'insert, update, delete')
  t.match(await fails(all, 1), [inserted])
  const late = await listening(updates)
  const ofUpdates = unavailable('UPDATE is', 'insert', 'insert, update')
  t.match(await fails(late, 1), [ofUpdates], 'one that joins meanwhile gets the message after its subscription')
  const id = await insert()
  t.ok(await until(() => idsOf(all).includes(id) && idsOf(inserts).includes(id)), 'INSERT arrives')
  await database.query("alter publication supabase_realtime set (publish = 'insert, update, truncate')")
  const updated = unavailable('DELETE is', 'insert, update, truncate', 'insert, update, delete, truncate')
  t.match(await fails(all, 2), [inserted, updated], 'the statement keeps what is published')
  t.match(await fails(late, 2), [ofUpdates, published])
  await database.query("alter publication supabase_realtime set (publish = 'insert, update, delete, truncate')")
  t.match(await fails(all, 3), [inserted, updated, published])
  await database.query(`update items set owner = owner where id = ${id}; delete from items where id = ${id}`)
  t.ok(await until(() => late.received.some(({ event }) => event === 'postgres_changes')))
  t.ok(await until(() => all.received.filter(({ event }) => event === 'postgres_changes').length === 3))
  t.strictSame([systems(inserts), systems(all).length, systems(late).length], [[], 3, 2])
})

t.test('the publication reports changes of partitions as those of the table, or does not any more', async (t) => {
  await database.query(`create table measures (id int) partition by range (id);
    create table measures_1 partition of measures for values from (0) to (1000);
    alter table measures add primary key (id);
    grant select on measures, measures_1 to authenticated;
    alter publication supabase_realtime add table measures;
    alter publication supabase_realtime set (publish_via_partition_root = true)`)
  const listening = async (table: string): Promise<RealtimeClient> => {
    const client = await dial(t, url, { token: await hourToken('authenticated', { sub: ann }) })
    await client.opened
    await client.join('measures', { postgres_changes: [{ event: '*', schema: 'public', table }] })
    t.match((await client.next('system')).payload, { status: 'ok' })
    return client
  }
  const says = (client: RealtimeClient, part: string): Promise<boolean> =>
    hears(client, ({ code, message = '' }) => code === 'Unavailable' && message.includes(part))
  const whole = await listening('measures')
  await database.query('insert into measures values (1)')
  t.ok(await until(() => idsOf(whole).includes(1)))
  await database.query('alter publication supabase_realtime set (publish_via_partition_root = false)')
  t.ok(await says(whole, 'such as "public"."measures_1". Listen to these, or'), 'the message says what has changed')
  t.ok(await says(whole, 'alter publication supabase_realtime set (publish_via_partition_root = true);'))
  const part = await listening('measures_1')
  await database.query('insert into measures values (2)')
  t.ok(await until(() => idsOf(part).includes(2)))
  await database.query('alter publication supabase_realtime set (publish_via_partition_root = true)')
  t.ok(await says(part, 'as those of "public"."measures". Listen to that table, or'), 'and in the other direction')
  t.ok(await hears(whole, ({ code }) => code === 'Gap'), 'what came meanwhile is missing')
  await database.query('insert into measures values (3)')
  t.ok(await until(() => idsOf(whole).includes(3)))
  t.strictSame([idsOf(whole), idsOf(part)], [[1, 3], [2]])
})
