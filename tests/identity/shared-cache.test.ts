// A cache between clients and the service never hands one caller the answer of another, nor another representation.
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { loadFixture } from '../support/fixture.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { SharedCache } from '../support/shared-cache.ts'
import { signToken } from '../support/token.ts'

const seed = testSeed()
const requests = Number(process.env.REQUESTS ?? 250)

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await loadFixture(database, 'cache-differential')
await database.query(`
  create function public.who() returns json stable language plpgsql as $$
  begin
    perform set_config('response.headers', '[{"Cache-Control": "max-age=60"}]', true);
    return json_build_array(current_role, current_setting('request.jwt.claims')::json ->> 'sub',
      current_setting('request.cookies')::json);
  end $$;
  create function archive.who() returns text stable language sql as $$ select 'archive' $$;
  create function public.gone() returns json stable language plpgsql as $$
  begin
    perform set_config('response.status', '404', true);
    return json_build_array(current_role, current_setting('request.jwt.claims')::json ->> 'sub');
  end $$;
  grant execute on all functions in schema public, archive to anon, authenticated, service_role`)
const { key } = await withClient(database.adminUri, (client) =>
  createApiKey(client, { role: 'service_role', label: 'test' }),
)
const { call } = await startApplication(t, database.authenticatorUri, {
  SERVICES: 'rest',
  REST_BASE_PATH: '/',
  PGRST_DB_SCHEMAS: 'public,archive',
  PGRST_DB_MAX_ROWS: '10',
  PGRST_LOG_LEVEL: 'crit',
  PGRST_SERVER_CORS_ALLOWED_ORIGINS: 'https://one.test,https://two.test',
})
const bearer = async (sub: string) => ({
  Authorization: `Bearer ${await signToken({ role: 'authenticated', sub, exp: 4_000_000_000 })}`,
})
type Headers = Readonly<Record<string, string>>
const callers: readonly [Headers, ...Headers[]] = [
  {},
  await bearer('ann'),
  await bearer('bob'),
  { apikey: key },
  { Cookie: 'a=1' },
  { Cookie: 'a=2' },
  { Authorization: 'Bearer invalid' },
]
const paths = [
  ...['/items?order=id', '/items?select=name&id=eq.1', '/items?select=owner&limit=1&order=id', '/items?id=eq.99'],
  ...['/items?select=data&id=eq.30', '/rpc/who', '/rpc/gone', '/nothing', '/rpc/items_of?who=ann&order=id', '/'],
] as const
const variants: readonly [Headers, ...Headers[]] = [
  ...([{}, {}, { Accept: 'text/csv' }] as const),
  ...([{ Accept: 'application/vnd.pgrst.object+json' }, { Prefer: 'count=exact' }] as const),
  ...([{ Accept: 'application/vnd.pgrst.array+json;nulls=stripped' }, { Accept: 'image/png' }] as const),
  ...([{ Range: '0-0' }, { 'Accept-Profile': 'archive' }, { Prefer: 'pagination=keyset' }] as const),
  ...([{ Origin: 'https://one.test' }, { Origin: 'https://two.test' }] as const),
]

t.test(`${requests} requests through a cache, SEED=${seed}`, async (t) => {
  const { pick } = seededRandom(seed)
  const cache = new SharedCache(call)
  const different: string[] = []
  for (let number = 0; number < requests; number++) {
    const request = { path: pick(paths), headers: { ...pick(variants), ...pick(variants), ...pick(callers) } }
    const cached = await cache.get(request)
    const direct = await call('GET', request.path, { headers: request.headers })
    // Without an origin, the CORS headers of a stored response have no effect.
    const cors = 'Origin' in request.headers ? ['access-control-allow-origin'] : []
    const names = ['content-type', 'content-range', 'link', 'rows-truncated', ...cors]
    const seen = [cached, direct].map(({ status, text, headers }) => [
      ...[status, text],
      ...names.map((name) => `${name}: ${headers.get(name)}`),
    ])
    if (JSON.stringify(seen[0]) !== JSON.stringify(seen[1])) different.push(JSON.stringify({ request, seen }))
  }
  t.strictSame(different.slice(0, 3), [])
  // A response that SQL allows to be stored, and one that is stored only to be confirmed.
  for (const [path, way] of [
    ['/rpc/who', 'fresh'],
    ['/items?select=name&id=eq.1', 'confirmed'],
  ] as const) {
    const request = { path, headers: {} }
    const empty = new SharedCache(call)
    await empty.get(request)
    await empty.get(request)
    t.equal(empty.used[way], 1, `${path}: ${way}`)
  }
})
