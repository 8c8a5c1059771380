// The program with a replica: the same answers as without, metrics, log, settings. `SEED=` repeats a run.
import { createClient, type SupabaseClient } from '@supabase/supabase-js'
import t from 'tap'
import { ConfigError } from '../../../server/config/config-error.ts'
import { toReplicaConfigs } from '../../../server/running/connection-setting.ts'
import { startApplication } from '../../support/application.ts'
import { readFixture } from '../../support/fixture.ts'
import { generatedRead } from '../../support/generated-reads.ts'
import { startReplication } from '../../support/replication.ts'
import { freePort } from '../../support/free-port.ts'
import { readmeSection, runSection, sectionFunction } from '../../support/readme-section.ts'
import { requestOf } from '../../support/request-table.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'
import { send, type RawAnswer, type SentRequest } from '../../support/sent-request.ts'
import { signToken } from '../../support/token.ts'
import { until } from '../../support/until.ts'
import { commonSettings, readTables } from '../../tables/reads/read-tables.ts'

const { primary, standbys } = await startReplication(t, 1)
const [replica] = standbys
if (!replica) throw new Error('there is no replica')
await primary.query(await readFixture('reads'))
await primary.query(`
  create role visitor;
  alter role visitor set pgrst.read = 'sometimes';
  create function garage.calm() returns void stable language sql as $$ select $$;
  create function garage.busy() returns void volatile language sql as $$ select $$;
  create function garage.port() returns int stable language sql as $$ select inet_server_port() $$`)

const environment = {
  // Metrics exist only for an admin server to read.
  PGRST_ADMIN_SERVER_PORT: '1',
  PGRST_DB_ANON_ROLE: 'visitor',
  PGRST_DB_SCHEMAS: 'garage, depot',
  PGRST_DB_EXTRA_SEARCH_PATH: 'tools',
  PGRST_LOG_LEVEL: 'crit',
  REST_BASE_PATH: '/',
  ...commonSettings,
}
const uri = primary.uri()
const withReplica = { ...environment, DATABASE_REPLICA_URLS: ` ${replica.uri()} ` }

const metric = (text: string, name: string): number =>
  Number(new RegExp(`^${name}{[^}]*} (\\S+)$`, 'm').exec(text)?.[1])

t.test('the answers are those of the primary', async (t) => {
  const on = await startApplication(t, uri, withReplica)
  const off = await startApplication(t, uri, environment)
  const metrics = (): Promise<string> => on.service.metrics.text()
  t.ok(await until(async () => metric(await metrics(), 'rowhouse_replica_usable') === 1))
  const seed = testSeed(20_261_123)
  const random = seededRandom(seed)
  const written = readTables
    .filter(({ settings }) => settings === undefined)
    .flatMap(({ rows }) => rows)
    .filter((_, index) => index % 3 === 0)
  const requests: readonly SentRequest[] = [
    ...(await Promise.all(written.map(requestOf))),
    ...random.some(250, 250, () => generatedRead(random)),
  ]
  const partsOf = ({ status, header, body }: RawAnswer): unknown => [
    status,
    body.toString(),
    ...(['Content-Range', 'Content-Type', 'Content-Length', 'Vary', 'Cache-Control'] as const).map(header),
    ...['ETag', 'Link', 'Rowhouse-Position'].map((name) => header(name as 'Vary')),
  ]
  const queue = requests.values()
  const work = async (): Promise<void> => {
    for (const request of queue) {
      const [first, second] = await Promise.all([send(on.url, request), send(off.url, request)])
      t.strictSame(partsOf(first), partsOf(second), `${request.method} ${request.path}`)
    }
  }
  await Promise.all(Array.from({ length: 6 }, work))
  const text = await metrics()
  const reads = metric(text, 'rowhouse_replica_reads_total')
  t.comment(`${reads} of ${requests.length} requests ran on the replica`)
  t.ok(reads > requests.length / 3, `${reads} of ${requests.length} requests ran on the replica`)
  t.ok(metric(text, 'rowhouse_replica_reruns_total') < reads, 'answers of the replica')
  t.ok(metric(text, 'rowhouse_replica_lag_seconds') < 10)
  t.ok(on.logged().some(({ msg }) => msg === `Reading from the replica 127.0.0.1:${replica.port}`))
  const ignored = 'role visitor: ignoring pgrst.read = sometimes: allowed is primary or any'
  t.ok(on.logged().some(({ msg }) => msg === ignored))
  t.notMatch(await off.service.metrics.text(), 'rowhouse_replica')
})

t.test('the pre-request function decides whether reads may run on a replica', async (t) => {
  const portWith = async (name: string): Promise<readonly [number, number]> => {
    const { service, url, logged } = await startApplication(t, uri, { ...withReplica, PGRST_DB_PRE_REQUEST: name })
    t.ok(await until(async () => metric(await service.metrics.text(), 'rowhouse_replica_usable') === 1))
    const port = (await (await fetch(`${url}/rpc/port`)).json()) as number
    await service.engine.reload()
    return [
      port,
      logged().filter(({ level, msg }) => level === 'warn' && String(msg).includes('db-pre-request')).length,
    ]
  }
  t.strictSame(await portWith('garage.calm'), [replica.port, 0])
  t.strictSame(await portWith('garage.busy'), [primary.port, 1], 'a volatile one: one warning')
})

t.test('the position of a write is valid in other processes, and its cookie is that of the mount path', async (t) => {
  await primary.query(`
    create table garage.drops (id int primary key);
    grant all on garage.drops to visitor`)
  const settings = { ...withReplica, REST_BASE_PATH: '/rest/v1', PGRST_JWT_SECRET: undefined, SECURE_COOKIES: 'true' }
  const one = await startApplication(t, uri, settings)
  const other = await startApplication(t, uri, { ...settings, DATABASE_REPLICA_WAIT: '0' })
  t.ok(await until(async () => metric(await other.service.metrics.text(), 'rowhouse_replica_usable') === 1))
  await replica.query('select pg_wal_replay_pause()')
  t.teardown(() => replica.query('select pg_wal_replay_resume()'))
  const written = await fetch(`${one.url}/rest/v1/drops`, {
    method: 'POST',
    body: '{"id":1}',
    headers: { 'content-type': 'application/json' },
  })
  t.equal(written.status, 201)
  const cookie = written.headers.get('set-cookie') ?? ''
  t.match(cookie, /^rowhouse-position=1\.[\w.-]+; Path=\/rest\/v1; Max-Age=70; HttpOnly; SameSite=Lax; Secure$/)
  const ids = async (headers: Record<string, string>): Promise<unknown> =>
    (await fetch(`${other.url}/rest/v1/drops`, { headers })).json()
  t.strictSame(await ids({ cookie: cookie.split(';')[0] ?? '' }), [{ id: 1 }])
  t.strictSame(await ids({}), [])
})

t.test('the lines of the README', async (t) => {
  await primary.query(`
    create table public.notes (text text);
    grant all on public.notes to visitor`)
  const ports = { 'db-1': primary.port, 'db-2': replica.port, 'db-3': await freePort() }
  const real = Object.entries(ports).reduce(
    (text, [name, port]) => text.replaceAll(name, `127.0.0.1:${port}`),
    readmeSection('replica-urls').replaceAll('authenticator@', 'postgres:postgres@').replaceAll('/app', '/postgres'),
  )
  const settings = Array.from(real.matchAll(/export (\w+)='(.*)'/g), ([, name = '', value = '']) => [name, value])
  t.equal(settings.length, 2)
  const { url, service } = await startApplication(t, String(settings[0]?.[1]), {
    PGRST_DB_ANON_ROLE: 'visitor',
    PGRST_DB_SCHEMAS: 'public',
    PGRST_LOG_LEVEL: 'crit',
    PGRST_ADMIN_SERVER_PORT: '1',
    ...(Object.fromEntries(settings) as Record<string, string>),
  })
  const usable = new RegExp(`^rowhouse_replica_usable{replica="127.0.0.1:${replica.port}"} 1$`, 'm')
  t.ok(await until(async () => usable.test(await service.metrics.text())))
  await replica.query('select pg_wal_replay_pause()')
  t.teardown(() => replica.query('select pg_wal_replay_resume()'))
  const plain = async (): Promise<unknown> => (await fetch(`${url}/rest/v1/notes`)).json()
  const stdout = await runSection('replica-curl', { URL: url, AUTH: 'X-Nothing: 1' })
  t.strictSame(JSON.parse(stdout), [{ text: 'new' }], 'curl sees its own write')
  t.strictSame(await plain(), [], 'another client reads from the replica')
  const connect = await sectionFunction<
    [(url: string, key: string, options: object) => SupabaseClient, string, string]
  >('replica-client', ['createClient', 'url', 'key'], ['client'])
  // supabase-js wants a WebSocket, which Node 20 lacks.
  const create = (to: string, key: string, options: object): SupabaseClient =>
    createClient(to, key, { ...options, realtime: { transport: class {} as never } }) as SupabaseClient
  const { client } = (await connect(create, url, await signToken({ role: 'visitor' }))) as { client: SupabaseClient }
  t.equal((await client.from('notes').insert({ text: 'newer' })).error, null)
  t.strictSame(
    (await client.from('notes').select()).data,
    [{ text: 'new' }, { text: 'newer' }],
    'and so does supabase-js',
  )
  t.strictSame(await plain(), [])
})

t.test('invalid connection strings are reported without their passwords', (t) => {
  try {
    toReplicaConfigs(['postgresql://login:geheim@host:port/'], {})
    t.fail('it is accepted')
  } catch (error) {
    t.ok(error instanceof ConfigError)
    t.match(String(error), 'DATABASE_REPLICA_URLS')
    t.notMatch(String(error), 'geheim')
  }
  t.end()
})
