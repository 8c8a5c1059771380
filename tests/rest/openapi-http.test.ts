// The OpenAPI documents, as returned over HTTP.
import { validate } from '@hyperjump/json-schema/openapi-3-1'
import t from 'tap'
import { signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { signToken } from '../support/token.ts'

type Json = Readonly<Record<string, unknown>>

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.notices (id int primary key, text text);
  alter table public.notices enable row level security;
  grant select on public.notices to anon;
  create function public.tell(words text) returns text language sql stable as 'select words';
  revoke execute on function public.tell from public;
  grant execute on function public.tell to authenticated;
`)
const env = { SESSION_SECRETS: 's'.repeat(32) }
const { call, service } = await startApplication(t, database.authenticatorUri, env)

const token = await signToken({ role: 'authenticated', sub: '11111111-1111-4111-8111-111111111111' })
const signedIn = { headers: { Authorization: `Bearer ${token}` } }

const pathsOf = (body: unknown): string[] => Object.keys((body as { paths: Json }).paths)

t.test("PostgREST's document follows the privileges of the caller", async (t) => {
  const anyone = await call('GET', '/rest/v1/')
  t.equal(anyone.headers.get('content-type'), 'application/openapi+json; charset=utf-8')
  t.strictSame(pathsOf(anyone.body).sort(), ['/', '/notices'])
  const member = await call('GET', '/rest/v1/', signedIn)
  for (const path of ['/classification_runs', '/profiles', '/reports', '/rpc/tell']) {
    t.ok(pathsOf(member.body).includes(path), path)
  }
  t.notOk(pathsOf(member.body).includes('/notices'), 'nothing of other roles')
  t.match(await call('GET', '/rest/v1/', { headers: { Authorization: 'Bearer x' } }), { status: 401 })

  const all = await startApplication(t, database.authenticatorUri, { ...env, PGRST_OPENAPI_MODE: 'ignore-privileges' })
  const everything = pathsOf((await all.call('GET', '/rest/v1/')).body)
  for (const path of ['/notices', '/classification_runs', '/rpc/tell']) t.ok(everything.includes(path), path)
  t.notOk(
    everything.some((path) => /sessions|api_keys|migrations/.test(path)),
    'but nothing that is not exposed',
  )
})

t.test('the document follows the session cookie', async (t) => {
  const { cookie } = await signUp(call, 'reader@example.com')
  const withCookie = (headers: Record<string, string>) => call('GET', '/openapi.json', { headers })
  const member = await withCookie({ Cookie: cookie })
  t.equal(member.status, 200)
  t.match(member.headers.get('vary'), /Cookie/)
  t.ok(pathsOf(member.body).includes('/rest/v1/classification_runs'))
  t.notOk(pathsOf(member.body).includes('/rest/v1/notices'))
  for (const stale of ['session=forged', 'other=1', `${cookie}x`]) {
    const answer = await withCookie({ Cookie: stale })
    t.equal(answer.status, 200, stale)
    t.ok(pathsOf(answer.body).includes('/rest/v1/notices'), 'as without a cookie')
  }
  t.equal(
    (await withCookie({ Cookie: cookie, apikey: 'x' })).status,
    401,
    'other credentials take precedence over the cookie',
  )
})

t.test('docs-mode shows everything', async (t) => {
  const all = await startApplication(t, database.authenticatorUri, { ...env, DOCS_MODE: 'ignore-privileges' })
  const everything = pathsOf((await all.call('GET', '/openapi.json')).body)
  for (const path of ['/rest/v1/notices', '/rest/v1/classification_runs', '/rest/v1/rpc/tell'])
    t.ok(everything.includes(path), path)
  t.strictSame(
    pathsOf((await all.call('GET', '/rest/v1/')).body).sort(),
    ['/', '/notices'],
    "but not in PostgREST's document",
  )
})

t.test('pages of other origins can read the document', async (t) => {
  const origin = 'https://app.example'
  for (const path of ['/openapi.json', '/docs-json', '/health', '/ready', '/']) {
    const { headers } = await call('GET', path, { headers: { Origin: origin } })
    t.equal(headers.get('access-control-allow-origin'), '*', path)
    t.match(headers.get('vary'), /Origin/, path)
    const preflight = await call('OPTIONS', path, {
      headers: {
        Origin: origin,
        'Access-Control-Request-Method': 'GET',
        'Access-Control-Request-Headers': 'apikey, authorization',
      },
    })
    t.equal(preflight.status, 200, path)
    t.match(preflight.headers.get('access-control-allow-headers'), /apikey/, path)
    t.equal((await call('GET', path)).headers.get('access-control-allow-origin'), null, path)
  }
  const listed = await startApplication(t, database.authenticatorUri, { ...env, ALLOWED_ORIGINS: origin })
  const ask = (from: string) => listed.call('GET', '/openapi.json', { headers: { Origin: from } })
  t.equal((await ask(origin)).headers.get('access-control-allow-origin'), origin)
  t.equal((await ask(origin)).headers.get('access-control-allow-credentials'), 'true')
  t.equal((await ask('https://other.example')).headers.get('access-control-allow-origin'), null)
})

t.test('the API root returns the document', async (t) => {
  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8'
  const page = await call('GET', '/', { headers: { Accept: browser } })
  t.equal(page.status, 200)
  t.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
  t.match(page.headers.get('content-security-policy'), /default-src 'none'/)
  t.match(page.text, 'The service is running.')
  t.notMatch(page.text, /<a |<code>|mailbox|0\.1\.0/, 'outside of development, it says no more')

  const development = await startApplication(t, database.authenticatorUri, { ...env, ROWHOUSE_EMBEDDED: 'true' })
  const { text } = await development.call('GET', '/', { headers: { Accept: browser } })
  for (const link of ['docs/', 'docs/guide/', 'openapi.json', 'health', 'auth/v1/dev/mailbox', 'console/']) {
    t.ok(text.includes(`href="${link}"`), link)
    t.equal((await development.call('GET', `/${link}`)).status, 200, link)
  }
  t.strictSame(
    Array.from(text.matchAll(/<dt><code>(.*?)<\/code>/g), ([, path]) => path),
    ['/rest/v1', '/auth/v1', '/storage/v1', '/realtime/v1', '/functions/v1', '/report', '/api/v1/water-hyacinth'],
  )
  for (const accept of ['*/*', 'application/json', 'text/plain', undefined]) {
    const { status, body } = await call('GET', '/', accept === undefined ? {} : { headers: { Accept: accept } })
    t.equal(status, 200, accept ?? 'no Accept')
    t.strictSame(
      body,
      {
        name: 'rowhouse',
        status: 'ok',
        message: 'Image analysis is served below api_prefix.',
        api_prefix: '/api/v1/water-hyacinth',
        docs_url: '/api/v1/water-hyacinth/docs',
        openapi_url: '/api/v1/water-hyacinth/openapi.json',
      },
      'as the page, no more than that it runs, and what clients of the image analysis begin with',
    )
    const full = await development.call('GET', '/', accept === undefined ? {} : { headers: { Accept: accept } })
    t.match(full.body, { name: 'rowhouse', version: /^\d/, rest: '/rest/v1', docs: '/docs', health: '/health' })
  }
  const plain = await startApplication(t, database.authenticatorUri, { ...env, SERVICES: 'rest' })
  t.strictSame((await plain.call('GET', '/')).body, { name: 'rowhouse', status: 'ok' })
  t.match((await plain.call('GET', '/rest/v1/')).body, { swagger: '2.0' }, 'clients of PostgREST find its document')
  t.match(await call('HEAD', '/'), { status: 200, text: '' })
  t.match(await call('POST', '/'), { status: 405 })
  t.match(await call('GET', '/nothing'), { status: 404 })
  const asPostgrest = await startApplication(t, database.authenticatorUri, { ...env, REST_BASE_PATH: '/' })
  const root = await asPostgrest.call('GET', '/', { headers: { Accept: browser } })
  t.match(root.headers.get('content-type'), /openapi/, 'the root has PostgREST’s document')
  t.match((await asPostgrest.call('GET', '/')).body, { swagger: '2.0' })
})

t.test('the document of the whole service is served', async (t) => {
  const anyone = await call('GET', '/openapi.json')
  const member = await call('GET', '/openapi.json', signedIn)
  for (const [who, answer] of [
    ['anyone', anyone],
    ['signed in', member],
  ] as const) {
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
    t.match(answer.headers.get('vary'), /Authorization/)
    const official = await validate('https://spec.openapis.org/oas/3.1/schema-base', answer.body as never, 'BASIC')
    t.equal(official.valid, true, `valid OpenAPI 3.1 for ${who}`)
    t.match(answer.body, { openapi: /^3\.1\./ })
    for (const path of ['/health', '/ready']) t.ok(pathsOf(answer.body).includes(path), path)
    t.ok(pathsOf(answer.body).some((path) => path.startsWith('/report')))
    t.ok(pathsOf(answer.body).some((path) => path.startsWith('/auth/')))
  }
  t.ok(pathsOf(anyone.body).includes('/rest/v1/notices'))
  t.notOk(pathsOf(anyone.body).includes('/rest/v1/classification_runs'))
  t.ok(pathsOf(member.body).includes('/rest/v1/classification_runs'))
  t.ok(pathsOf(member.body).includes('/rest/v1/rpc/tell'))
  t.notOk(pathsOf(member.body).includes('/rest/v1/notices'))
  t.match(await call('GET', '/openapi.json', { headers: { Authorization: 'Bearer x' } }), { status: 401 })
  t.match(await call('HEAD', '/openapi.json'), { status: 200, text: '' })

  await database.query('create table public.later (id int primary key); grant select on public.later to anon')
  await service.engine.reload()
  t.ok(pathsOf((await call('GET', '/openapi.json')).body).includes('/rest/v1/later'), 'with the changed schema')
  await database.query(`alter role authenticator in database ${database.name} set pgrst.openapi_mode = 'disabled'`)
  await service.engine.reloadSettings()
  const paths = pathsOf((await call('GET', '/openapi.json')).body)
  t.notOk(paths.includes('/rest/v1/notices'), 'and with the changed settings')
  t.ok(paths.includes('/health'))
})

t.test('the interactive page is served', async (t) => {
  const page = await call('GET', '/docs/')
  t.equal(page.status, 200)
  t.match(page.headers.get('content-type'), /^text\/html/)
  t.match(page.headers.get('content-security-policy'), /default-src 'none'/)
  t.notMatch(page.text, /https?:\/\//, 'no resources from other hosts')
  t.match(await call('GET', '/docs/swagger-ui-bundle.js'), { status: 200 })
  t.match(await call('GET', '/docs'), { status: 200 })
})

t.test('both documents have the extensions of PostgREST’s grammar', async (t) => {
  await database.query(`
    create table public.entries (id int primary key, text text);
    create function public.all_entries() returns setof public.entries language sql stable as 'select * from public.entries';
    grant select, insert, update, delete on public.entries to anon;
    grant execute on function public.all_entries to anon;
    alter role authenticator in database ${database.name} reset pgrst.openapi_mode;
  `)
  await service.engine.reloadSettings()
  await service.engine.reload()
  type Operation = {
    readonly parameters?: readonly { readonly $ref: string }[]
    readonly responses: Readonly<Record<string, { readonly headers?: Json; readonly content?: Json }>>
    readonly requestBody?: { readonly content: Json }
    readonly produces?: readonly string[]
  }
  type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>
  const refs = (parameters: Operation['parameters']) => (parameters ?? []).map(({ $ref }) => $ref?.split('/').at(-1))
  const contains = (found: readonly unknown[], wanted: readonly string[], name: string) =>
    wanted.forEach((item) => t.ok(found.includes(item), `${name}: ${item} of ${found.join()}`))

  const { paths } = (await call('GET', '/openapi.json')).body as { paths: Paths }
  const has = (path: string, method: string, wanted: readonly string[], status?: string, headers: string[] = []) => {
    const operation = paths[`/rest/v1${path}`]?.[method]
    contains(refs(operation?.parameters), wanted, `${method} ${path}`)
    if (status) contains(Object.keys(operation?.responses[status]?.headers ?? {}), headers, `${method} ${path}`)
    return operation
  }
  const pages = ['Link', 'Rows-Truncated']
  const read = has('/entries', 'get', ['cursor', 'distinct', 'having', 'ifNoneMatch'], '200', ['ETag', ...pages])
  contains(Object.keys(read?.responses['200']?.content ?? {}), ['text/csv', 'application/x-ndjson'], 'exports')
  const created = has('/entries', 'post', ['idempotencyKey'], '201', ['ETag', 'Idempotency-Replayed'])
  contains(Object.keys(created?.requestBody?.content ?? {}), ['text/csv', 'application/x-ndjson'], 'imports')
  has('/entries', 'patch', ['ifMatch', 'idempotencyKey'], '204', ['ETag'])
  has('/entries', 'put', ['ifMatch', 'ifAbsent'], '204', ['ETag'])
  has('/entries', 'delete', ['ifMatch'], '204')
  has('/entries/{id}', 'patch', ['ifMatch', 'idempotencyKey'], '200', ['ETag', 'Idempotency-Replayed'])
  const called = has('/rpc/all_entries', 'get', ['cursor', 'distinct', 'having'], '200', pages)
  contains(Object.keys(called?.responses['200']?.content ?? {}), ['text/csv', 'application/x-ndjson'], 'exports')
  has('/$batch', 'post', ['idempotencyKey'])
  for (const path of ['/entries', '/rpc/all_entries', '/$batch']) {
    for (const operation of Object.values(paths[`/rest/v1${path}`] ?? {})) t.ok(operation.responses['429'], path)
  }

  const { paths: old } = (await call('GET', '/rest/v1/')).body as { paths: Record<string, Operation & Json> }
  const shared = ['cursor', 'distinct', 'having', 'idempotencyKey', 'ifMatch', 'ifNoneMatch']
  contains(refs(old['/entries']?.parameters), shared, 'OpenAPI 2.0')
  contains(refs(old['/rpc/all_entries']?.parameters), ['cursor', 'idempotencyKey'], 'OpenAPI 2.0')
  t.notOk(old['/$batch'], 'programs list tables by the paths')
})
