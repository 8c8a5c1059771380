// The engine as a library: options, loading the schema cache, reloads, closing.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { connect } from '../../server/postgres/index.ts'
import { defaultPoolSettings } from '../../server/postgres/pool-settings.ts'
import { loadConfig } from '../../server/config/load.ts'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { createRest, type RestOptions, type SchemaEvent } from '../../server/index.ts'
import { defaultSettings } from '../../server/rest/settings.ts'
import { createDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const fixture = await createDatabase()
t.teardown(() => fixture.drop())
const role = `engine_${fixture.name}`
await fixture.query(`
  create role ${role} nologin;
  grant ${role} to current_user;
  alter role ${role} set default_transaction_isolation = 'serializable';
  create table public.items (id int primary key);
  create function public.isolation() returns text stable language sql as $$ select current_setting('transaction_isolation') $$;
  create function public.who() returns text stable language sql as
    $$ select current_user || ' ' || (current_setting('request.jwt.claims')::json ->> 'sub') $$;
  grant all on public.items to ${role}`)
t.teardown(() => fixture.query(`drop owned by ${role}; drop role ${role}`))

const identify = () => ({ role, claims: { sub: 'me' } })

/** A handler on a database created for the test, closed with it. */
async function start(
  t: { teardown(close: () => Promise<void>): unknown },
  uri: string,
  more: Partial<RestOptions> = {},
  pool: Parameters<typeof connect>[1] = {},
): Promise<{
  readonly ask: (path: string) => Promise<Response>
  readonly events: SchemaEvent[]
  readonly reload: () => Promise<void>
}> {
  const database = connect(uri, pool)
  const events: SchemaEvent[] = []
  const onSchema = (event: SchemaEvent): void => void events.push(event)
  const rest = await createRest({ database, schemas: ['public'], identify, onSchema, ...more })
  t.teardown(async () => {
    await rest.close()
    await database.close()
  })
  const handle = fetchHandler(rest)
  return { ask: (path) => handle(new Request(`http://localhost${path}`)), events, reload: () => rest.reload() }
}

t.test('the defaults are those of the program', async (t) => {
  // The program's default differs if the database is not given in PostgREST's way.
  const config = { ...loadConfig({ env: {} }).config, dbAnonRole: null }
  for (const [name, value] of Object.entries({ ...defaultSettings, ...defaultPoolSettings })) {
    t.strictSame(value, config[name as keyof typeof config], name)
  }
})

t.test('requests run with the identity that identify returns', async (t) => {
  const { ask, events } = await start(t, fixture.adminUri)
  t.match(events, [{ kind: 'schema cache loaded' }])
  t.equal(await (await ask('/rpc/who')).json(), `${role} me`)
  t.equal(await (await ask('/rpc/isolation')).json(), 'serializable', 'the settings of the role')
  const other = await start(t, fixture.adminUri, { settings: { dbConfig: false } })
  t.equal(await (await other.ask('/rpc/isolation')).json(), 'read committed')
})

t.test('with dbTxBlock, every transaction begins with BEGIN', async (t) => {
  for (const dbTxBlock of [false, true]) {
    const database = connect(fixture.adminUri)
    const isolations: unknown[] = []
    const recording = new Proxy(database, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return (...given: readonly { readonly isolation?: unknown }[]): unknown => {
          if (name === 'run') isolations.push(given[0]?.isolation)
          return Reflect.apply(value, target, given)
        }
      },
    })
    // Without the isolation levels of roles.
    const settings = { dbConfig: false, dbTxBlock }
    const rest = await createRest({ database: recording, schemas: ['public'], identify, settings })
    const handle = fetchHandler(rest)
    t.equal((await handle(new Request('http://localhost/items?select=id'))).status, 200)
    t.equal((await handle(new Request('http://localhost/rpc/who'))).status, 200)
    t.strictSame(isolations, Array(2).fill(dbTxBlock ? 'read committed' : null), `dbTxBlock: ${dbTxBlock}`)
    await rest.close()
    await database.close()
  }
})

t.test('a notification and reload() reload the schema cache', async (t) => {
  const { ask, events, reload } = await start(t, fixture.adminUri)
  await fixture.query('create table public.later (id int)')
  t.equal((await ask('/later')).status, 404, 'the previous schema cache')
  await fixture.query('notify pgrst')
  t.ok(await until(async () => (await ask('/later')).status !== 404))
  t.ok(await until(() => events.length === 2))
  await fixture.query('drop table public.later')
  await reload()
  t.equal((await ask('/later')).status, 404)
  t.equal(events.length, 3)
})

t.test('a reload of a large schema cache rests while there are requests, and ends all the same', async (t) => {
  const many = `many_${fixture.name}`
  await fixture.query(`create schema ${many}; grant usage on schema ${many} to ${role};
    do $$ begin for number in 1..1001 loop execute format('create table ${many}.t%s (id int)', number); end loop; end $$;
    grant select on all tables in schema ${many} to ${role}`)
  t.teardown(() => fixture.query(`drop schema ${many} cascade`))
  const { ask, events, reload } = await start(t, fixture.adminUri, { schemas: [many] }, { dbPool: 1 })
  await reload()
  await fixture.query(`create table ${many}.late (id int); grant select on ${many}.late to ${role}`)
  let isOver = false
  const reloaded = reload().then(() => (isOver = true))
  let requests = 0
  while (!isOver) {
    t.equal((await ask('/t7')).status, 200)
    requests++
    await pause(20)
  }
  await reloaded
  t.equal(events.length, 3)
  // Without rests it holds the only connection until its end.
  t.ok(requests > 3, `${requests} requests were answered during the reload`)
  t.equal((await ask('/late')).status, 200, 'the change is seen')
})

t.test('requests get 503 until the schema cache is loaded', async (t) => {
  const late = `late_${fixture.name}`
  const { ask, events } = await start(t, fixture.adminUri, { schemas: [late] })
  t.match(events, [{ kind: 'schema cache failed', retrySeconds: 1 }])
  const early = await ask('/items')
  t.equal(early.status, 503)
  t.match(await early.json(), { code: 'PGRST002' })
  await fixture.query(`create schema ${late} create table items (id int); grant usage on schema ${late} to ${role};
    grant select on all tables in schema ${late} to ${role}`)
  t.teardown(() => fixture.query(`drop schema ${late} cascade`))
  t.ok(await until(async () => (await ask('/items')).status === 200), 'loading is retried')
})

t.test('a failed reload keeps the schema cache', async (t) => {
  const { ask, events, reload } = await start(t, fixture.adminUri)
  await fixture.query('alter schema public rename to hidden')
  t.teardown(() => undefined)
  try {
    await reload()
    t.match(events, [{ kind: 'schema cache loaded' }, { kind: 'schema cache failed' }])
    t.equal((await ask('/nothing')).status, 404, 'not 503')
  } finally {
    await fixture.query('alter schema hidden rename to public')
  }
})

t.test('close() closes all connections', async (t) => {
  const mine = `engine ${fixture.name}`
  const database = connect(fixture.adminUri, { env: { PGAPPNAME: mine } })
  const rest = await createRest({ database, schemas: ['public'], identify })
  t.equal((await fetchHandler(rest)(new Request('http://localhost/items'))).status, 200)
  const count = async (): Promise<number> => {
    const { rows } = await fixture.query(
      'select count(*)::int as n from pg_stat_activity where application_name = $1',
      [mine],
    )
    return Number(rows[0]?.n)
  }
  t.ok((await count()) > 0)
  await rest.close()
  await database.close()
  t.ok(await until(async () => (await count()) === 0))
})

t.test('invalid options are rejected', async (t) => {
  const database = connect(fixture.adminUri)
  t.teardown(() => database.close())
  const rejects = async (options: object, message: string): Promise<void> => {
    const all = { database, schemas: ['public'], identify, ...options }
    await t.rejects(createRest(all as RestOptions), { name: 'TypeError', message: `createRest: ${message}` })
  }
  await rejects({ database: 'postgres://' }, 'database must be the result of connect() of rowhouse/postgres')
  await rejects({ schemas: [] }, 'schemas must be an array of at least one name')
  await rejects({ schemas: 'public' }, 'schemas must be an array of at least one name')
  await rejects({ identify: { role: 'anon' } }, 'identify must be a function')
  const wrong: readonly (readonly [object, string])[] = [
    [{ dbMaxRow: 1 }, 'there is no setting dbMaxRow; did you mean dbMaxRows?'],
    [{ colour: 1 }, 'there is no setting colour'],
    [{ dbSchemas: ['a'] }, 'use schemas instead of the setting dbSchemas'],
    [{ dbMaxRows: -1 }, 'the setting dbMaxRows is -1, but must be a whole number or null'],
    [
      { dbTxEnd: 'never' },
      'the setting dbTxEnd is "never", but must be one of commit, commit-allow-override, rollback, rollback-allow-override',
    ],
    [{ dbPreparedStatements: 'no' }, 'the setting dbPreparedStatements is "no", but must be a boolean'],
    [{ restBodyLimit: 0.5 }, 'the setting restBodyLimit is 0.5, but must be a whole number, 0 or more'],
    [{ serverCorsAllowedOrigins: '*' }, 'the setting serverCorsAllowedOrigins is "*", but must be an array'],
    [{ dbPreRequest: 'check' }, 'the setting dbPreRequest is "check", but must be an object { schema, name } or null'],
  ]
  for (const [settings, message] of wrong) await rejects({ settings }, message)
})
