// The engine without its extensions is PostgREST's core; with them, the same requests use them.
import t from 'tap'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { connect } from '../../server/postgres/index.ts'
import { Engine, type EngineOptions } from '../../server/rest/engine.ts'
import { settingsOf } from '../../server/rest/rest-options.ts'
import { noRoleSettings } from '../../server/rest/settings.ts'
import type { LoadedSettings } from '../../server/rest/snapshot.ts'
import { createDatabase } from '../support/database.ts'

const fixture = await createDatabase()
t.teardown(() => fixture.drop())
const role = `extended_${fixture.name}`
await fixture.query(`
  create role ${role} nologin;
  grant ${role} to current_user;
  create table clients (id int primary key, name text);
  create table items (id int primary key, name text, client_id int references clients);
  insert into clients values (1, 'one');
  insert into items select n, 'n' || n, 1 from generate_series(1, 3) n;
  create function twice(n int) returns int immutable language sql as 'select 2 * n';
  grant all on all tables in schema public to ${role}`)
t.teardown(() => fixture.query(`drop owned by ${role}; drop role ${role}`))

type Given = { readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
type Answer = { readonly status: number; readonly headers: Headers; readonly body: unknown; readonly code: unknown }

/** An engine with some extensions; by default all. */
async function start(extensions?: EngineOptions<LoadedSettings>['extensions']) {
  const database = connect(fixture.adminUri, { dbPool: 2 })
  const identify = () => ({ role, claims: {} })
  const config = settingsOf({ database, schemas: ['public'], identify, settings: { dbAggregatesEnabled: true } })
  const loaded = { config, roleSettings: noRoleSettings }
  const engine = new Engine({
    database,
    settings: { initial: loaded, read: () => Promise.resolve(loaded) },
    identify,
    validator: { forTable: () => undefined },
    ...(extensions && { extensions }),
    onRequest: () => undefined,
    onEvent: () => undefined,
    onWarning: () => undefined,
    isUnavailable: () => true,
    isFinal: () => false,
  })
  await engine.start()
  t.teardown(async () => {
    await engine.close()
    await database.close()
  })
  const handle = fetchHandler(engine)
  return async (method: string, path: string, { headers = {}, body }: Given = {}): Promise<Answer> => {
    const type = { 'Content-Type': 'application/json', Prefer: 'tx=commit', ...headers }
    const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
    const request = new Request(`http://localhost${path}`, { method, headers: type, ...(text && { body: text }) })
    const response = await handle(request)
    const answered = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true && answered !== ''
    const parsed: unknown = isJson ? JSON.parse(answered) : answered
    const code = (parsed as { readonly code?: unknown } | null)?.code
    return { status: response.status, headers: response.headers, body: parsed, code }
  }
}

const core = await start(() => [])
const extended = await start()
const representation = { Prefer: 'return=representation' }
const ndjson = { 'Content-Type': 'application/x-ndjson' }
const batch = { body: { requests: [{ id: 'a', method: 'get', url: '/items?select=id&id=eq.1' }] } }

t.test('reads, writes and calls need no extension', async (t) => {
  for (const ask of [core, extended]) {
    // The second and third time, the plan is cached.
    for (let time = 0; time < 3; time++) {
      const read = await ask('GET', '/items?select=id,clients(name)&id=eq.1')
      t.strictSame(read.body, [{ id: 1, clients: { name: 'one' } }])
    }
    const created = await ask('POST', '/items', { headers: representation, body: { id: 9, name: 'n9' } })
    t.strictSame([created.status, created.body], [201, [{ id: 9, name: 'n9', client_id: null }]])
    t.equal((await ask('PATCH', '/items?id=eq.9', { body: { name: 'm9' } })).status, 204)
    t.strictSame((await ask('GET', '/items?select=name&id=eq.9')).body, [{ name: 'm9' }])
    t.equal((await ask('DELETE', '/items?id=eq.9')).status, 204)
    t.equal((await ask('POST', '/rpc/twice', { body: { n: 4 } })).body, 8)
    t.equal((await ask('GET', '/rpc/twice?n=4')).body, 8)
    t.equal(
      (await ask('GET', '/items', { headers: { Accept: 'text/csv' } })).body,
      'id,name,client_id\n1,n1,1\n2,n2,1\n3,n3,1',
    )
    t.equal((await ask('GET', '/')).status, 200)
  }
})

t.test('what extensions add', async (t) => {
  const rows: readonly (readonly [string, string, Given, unknown, unknown])[] = [
    ['POST', '/$batch', batch, 'PGRST205', undefined],
    ['GET', '/items/1', {}, 'PGRST125', undefined],
    ['POST', '/items', { headers: ndjson, body: '{"id":20}\n{"id":21}' }, 'PGRST102', undefined],
    ['POST', '/clients', { body: { id: 5, items: [{ id: 50 }] } }, 'PGRST204', undefined],
    ['PATCH', '/items?id=eq.1', { headers: { 'If-Match': '"0"' }, body: { name: 'n1' } }, undefined, 'PGRSTX50'],
    ['GET', '/items?select=name&distinct=on.(name)', {}, 'PGRST100', undefined],
    ['GET', '/items?select=client_id&having=client_id.gt.0', {}, 'PGRST100', undefined],
    ['GET', '/items?offset=1', { headers: { Prefer: 'pagination=keyset' } }, undefined, 'PGRSTX43'],
  ]
  for (const [method, path, given, withoutExtensions, withThem] of rows) {
    t.equal((await core(method, path, given)).code, withoutExtensions, `${method} ${path}`)
    t.equal((await extended(method, path, given)).code, withThem, `${method} ${path} with extensions`)
  }
  await extended('DELETE', '/items?id=gte.20')
  await extended('DELETE', '/clients?id=eq.5')
})

t.test('headers of extensions', async (t) => {
  const path = '/items?id=eq.1'
  t.equal((await core('GET', path)).headers.get('etag'), null)
  const tag = (await extended('GET', path)).headers.get('etag') ?? ''
  t.match(tag, /^"/)
  t.equal((await core('GET', path, { headers: { 'If-None-Match': tag } })).status, 200)
  t.equal((await extended('GET', path, { headers: { 'If-None-Match': tag } })).status, 304)
  const keyset = { headers: { Prefer: 'pagination=keyset' } }
  t.equal((await core('GET', '/items?limit=1', keyset)).headers.get('link'), null)
  t.match((await extended('GET', '/items?limit=1', keyset)).headers.get('link'), /rel="next"/)
})

t.test('the functions of extensions are called in the order of the list', async (t) => {
  const names: string[] = []
  const named = (name: string) => ({
    respond: <T>(response: T): T => {
      names.push(name)
      return response
    },
  })
  const ask = await start(() => [named('first'), {}, named('second')])
  t.equal((await ask('GET', '/items?id=eq.1')).status, 200)
  t.strictSame(names, ['first', 'second'])
})
