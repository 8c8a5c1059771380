// Side effects outside the transaction happen exactly once, however long a request is blocked: triggers, defaults,
// views and policies here write an audit row through a separate connection (dblink), which a rollback does not undo.
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { readCluster, uriOf } from '../support/cluster.ts'
import { createDatabase, withClient } from '../support/database.ts'
import { gates } from '../support/locks.ts'
import { trustAllStatements } from '../support/sharing.ts'
import { signToken } from '../support/token.ts'

trustAllStatements()
const database = await createDatabase()
t.teardown(async () => {
  await database.drop()
  const { port } = await readCluster()
  await withClient(uriOf(port, 'postgres'), (client) => client.query('drop role once_server; drop role once_caller'))
})
await database.query(`
  create extension dblink schema public;
  create role once_server login password 'once' noinherit;
  create role once_caller nologin;
  grant once_caller to once_server;
  create schema side;
  create schema api;
  grant usage on schema api to once_caller;
  grant usage on schema side to once_caller;
  create table side.audit (id bigint generated always as identity, entry text);
  create function side.note(entry text) returns text language plpgsql security definer as $$
    begin
      perform public.dblink_exec('side', format('insert into side.audit (entry) values (%L)', entry));
      return entry;
    exception when others then
      perform public.dblink_connect('side', '${database.adminUri}');
      perform public.dblink_exec('side', format('insert into side.audit (entry) values (%L)', entry));
      return entry;
    end $$;
  create function side.note_insert() returns trigger language plpgsql as $$
    begin
      if new.name like 'n%' then perform side.note('trigger ' || new.name); end if;
      return new;
    end $$;
  create table api.plain (id int primary key, name text, times int default 0);
  insert into api.plain (id, name) select i, 'row' || i from generate_series(1, 100) i;
  create table api.triggered (name text primary key, padding text);
  create trigger note before insert on api.triggered for each row execute function side.note_insert();
  create table api.defaulted (name text primary key, noted text default side.note('default'));
  create view api.volatile_view as select id, name, side.note('view ' || id) as noted from api.plain;
  create view api.nested_view as select id, noted from api.volatile_view;
  create table api.guarded (id int primary key, name text);
  insert into api.guarded select i, 'row' || i from generate_series(1, 100) i;
  alter table api.guarded enable row level security;
  create policy noted on api.guarded using (side.note('policy ' || id) is not null);
  create table api.locked (id int primary key, times int);
  insert into api.locked select i, 0 from generate_series(1, 50) i;
  create function side.note_update() returns trigger language plpgsql as $$
    begin
      if new.times > 0 then perform side.note('update ' || new.id); end if;
      return new;
    end $$;
  create trigger note before update on api.locked for each row execute function side.note_update();
  grant select, insert, update, delete on all tables in schema api to once_caller;
  grant execute on all functions in schema side to once_caller`)

const token = await signToken({ role: 'once_caller' })
const { call, service } = await startApplication(t, database.uri('once_server', 'once'), {
  PGRST_DB_SCHEMAS: 'api',
  PGRST_DB_EXTRA_SEARCH_PATH: '',
  PGRST_DB_POOL: '6',
})

const send = (method: string, path: string, body?: unknown) =>
  call(method, `/rest/v1${path}`, { body, headers: { Authorization: `Bearer ${token}`, Prefer: 'return=minimal' } })

async function entries(like: string): Promise<ReadonlyMap<string, number>> {
  const { rows } = await database.query(
    'select entry, count(*)::int as times from side.audit where entry like $1 group by entry',
    [like],
  )
  return new Map((rows as { entry: string; times: number }[]).map(({ entry, times }) => [entry, times]))
}

/** Sends requests `width` at a time; returns their statuses. */
async function sendAll(paths: readonly (() => ReturnType<typeof send>)[], width: number): Promise<number[]> {
  const statuses: number[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < paths.length; index = next++) {
      const answer = await paths[index]?.()
      statuses[index] = answer?.status ?? 0
    }
  }
  await Promise.all(Array.from({ length: width }, work))
  return statuses
}

/** Repeatedly locks one row while `use` runs. */
async function whileLocking(id: number, use: () => Promise<void>): Promise<void> {
  let isDone = false
  const locking = withClient(database.adminUri, async (client) => {
    while (!isDone) {
      await client.query('begin')
      await client.query('select from api.locked where id = $1 for update', [id])
      await new Promise((resolve) => setTimeout(resolve, 180))
      await client.query('commit')
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
  await use()
  isDone = true
  await locking
}

const isEachOnce = (t: Test, found: ReadonlyMap<string, number>, wanted: readonly string[], label: string): void => {
  t.strictSame([...found.keys()].sort(), [...wanted].sort(), `${label}: all are present`)
  t.strictSame(
    [...found.values()].filter((times) => times !== 1),
    [],
    `${label}: each once`,
  )
}

t.test('the schema cache knows which relations have no effects', async (t) => {
  const { schemaCache: cache } = service.engine.snapshot
  const names = [...(cache?.stableRelations ?? [])].map((key) => key.split('\0')[1]).sort()
  t.strictSame(names, ['defaulted', 'locked', 'plain', 'triggered'])
})

/** Inserts without effects outside their transaction. */
const quick = (index: number) =>
  index % 2 === 0
    ? send('POST', '/triggered', { name: `quick${index}` })
    : send('PATCH', '/locked?id=eq.50', { times: 0 })

/** Sends fast writes until they share a connection. */
async function untilShared(): Promise<void> {
  for (let index = 1000; (await database.query(gates)).rowCount === 0; index++) await quick(index)
}

t.test('writes blocked by a row lock take effect once', async (t) => {
  await untilShared()
  await database.query('truncate side.audit')
  await whileLocking(1, async () => {
    const requests = Array.from({ length: 450 }, (_, index) => () => {
      if (index % 30 === 0) return send('PATCH', '/locked?id=eq.1', { times: index + 1 })
      if (index % 3 > 0) return quick(5000 + index)
      return send('POST', '/triggered', { name: `n${index}` })
    })
    const statuses = await sendAll(requests, 40)
    t.ok(statuses.every((status) => status === 201 || status === 204))
  })
  const wanted = Array.from({ length: 450 }, (_, index) => index).filter((index) => index % 30 !== 0 && index % 3 === 0)
  isEachOnce(t, await entries('trigger %'), wanted.map((index) => `trigger n${index}`), 'inserts') // prettier-ignore
  t.strictSame([...(await entries('update 1')).values()], [15], 'updates of the locked row')
})

t.test('concurrent updates with one statement, some of them of a locked row, take effect once', async (t) => {
  const path = (id: number) => `/locked?id=eq.${id}`
  await database.query('truncate side.audit')
  await whileLocking(2, async () => {
    const requests = Array.from({ length: 300 }, (_, index) => () => {
      if (index % 3 > 0) return send('PATCH', path(50), { times: 0 })
      return send('PATCH', path(1 + ((index / 3) % 40)), { times: 2 })
    })
    const statuses = await sendAll(requests, 30)
    t.ok(statuses.every((status) => status === 204))
  })
  const found = await entries('update %')
  const times = [...found.values()]
  t.equal(times.reduce((sum, each) => sum + each, 0), 100) // prettier-ignore
  t.equal(found.size, 40)
  t.ok(times.every((each) => each === 2 || each === 3), 'no more than were sent') // prettier-ignore
})

t.test('volatile defaults are evaluated once', async (t) => {
  await database.query('truncate side.audit')
  const requests = Array.from({ length: 200 }, (_, index) => () => send('POST', '/defaulted', { name: `d${index}` }))
  await whileLocking(3, async () => {
    const blocked = Array.from({ length: 5 }, () => send('PATCH', '/locked?id=eq.3', { times: 1 }))
    const statuses = await sendAll(requests, 30)
    t.ok(statuses.every((status) => status === 201))
    await Promise.all(blocked)
  })
  t.strictSame([...(await entries('default')).values()], [200])
})

t.test('views and policies with effects are evaluated once per read', async (t) => {
  await database.query('truncate side.audit')
  const requests = Array.from({ length: 300 }, (_, index) => () => {
    const id = 1 + (index % 100)
    if (index < 100) return send('GET', `/volatile_view?id=eq.${id}&select=id,noted`)
    if (index < 200) return send('GET', `/nested_view?id=eq.${id}&select=id,noted`)
    return send('GET', `/guarded?id=eq.${id}`)
  })
  const statuses = await sendAll(requests, 30)
  t.ok(statuses.every((status) => status === 200))
  const views = await entries('view %')
  t.equal(views.size, 100)
  t.strictSame(
    [...views.values()].filter((times) => times !== 2),
    [],
    'views',
  )
  const policies = await entries('policy %')
  t.equal(policies.size, 100)
  t.strictSame(
    [...policies.values()].filter((times) => times !== 1),
    [],
    'policies',
  )
})

t.test('a SQLSTATE raised by user code is not mistaken for a stale statement', async (t) => {
  await database.query(`
    create function api.fail(state text) returns text language plpgsql as $$
      begin
        perform side.note('fail ' || state);
        raise exception 'cached plan must not change result type' using errcode = state;
      end $$;
    grant execute on function api.fail to once_caller`)
  await service.engine.reload()
  for (const state of ['26000', '42P05', '0A000']) {
    for (let time = 0; time < 3; time++) t.match(await send('POST', '/rpc/fail', { state }), { body: { code: state } })
    t.strictSame([...(await entries(`fail ${state}`)).values()], [3], state)
  }
})
