// Three processes on one database: whichever of them gets a request, the client sees the same.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createApiKey, revokeApiKey } from '../../../server/identity/api-key/api-key.ts'
import { askAuth, claimsOf, codeOf, passwordGrant, refreshGrant, sessionOf, signUp } from '../../support/auth.ts'
import { createMigratedDatabase, withClient } from '../../support/database.ts'
import { freePort } from '../../support/free-port.ts'
import { form, upload } from '../../support/image-upload.ts'
import { browse, client, startProvider } from '../../support/oidc-provider.ts'
import {
  challengeOf,
  keysFromDatabase,
  keysSql,
  newSigningKey,
  onlyVerifying,
  publishKeys,
  startProcesses,
} from '../../support/processes.ts'
import { says } from '../../support/program.ts'
import { challenge, codeOfApp, enroll } from '../../support/second-factor.ts'
import { lake } from '../../support/test-image.ts'
import { until } from '../../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const folder = await mkdtemp(join(tmpdir(), 'rowhouse-processes-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
await database.query(`${keysSql}
  create table public.notes (id int generated always as identity primary key, text text not null);
  insert into public.notes (text) select 'note ' || n from generate_series(1, 6) n;
  grant select, insert on public.notes to anon, authenticated;
  insert into storage.buckets (id, name) values ('files', 'files');
  create policy everything on storage.objects to authenticated using (true) with check (true)`)
let currentKey = newSigningKey()
await publishKeys(database, [currentKey], [])

const provider = await startProvider(t, { ann: { email: 'ann@example.org', email_verified: true } })
const page = 'http://localhost:3000/welcome'
const port = await freePort()
const env = {
  ...keysFromDatabase,
  DATABASE_URL: database.authenticatorUri,
  SESSION_SECRETS: 's'.repeat(32),
  STORAGE_FILE_BACKEND_PATH: folder,
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_SITE_URL: 'http://localhost:3000',
  // The provider redirects to the balancer, which would choose any process.
  API_EXTERNAL_URL: `http://127.0.0.1:${port}/auth/v1`,
  GOTRUE_EXTERNAL_ACME_ENABLED: 'true',
  GOTRUE_EXTERNAL_ACME_CLIENT_ID: client.id,
  GOTRUE_EXTERNAL_ACME_SECRET: client.secret,
  GOTRUE_EXTERNAL_ACME_URL: provider.issuer,
  // Without a model, images are counted and not analysed.
  IMAGE_RATE_LIMIT: '1',
  IMAGE_REQUIRE_MODEL: 'true',
}
const programs = await startProcesses(t, [
  env,
  { ...env, PGRST_SERVER_PORT: String(port) },
  { ...env, SERVER_DRAIN_TIME: '10' },
])
const [first, second, third] = programs as [(typeof programs)[0], (typeof programs)[0], (typeof programs)[0]]
const [one, two, three] = [first, second, third].map(({ url }) => askAuth(url())) as [
  ReturnType<typeof askAuth>,
  ReturnType<typeof askAuth>,
  ReturnType<typeof askAuth>,
]
provider.serve(`http://127.0.0.1:${port}/auth/v1/callback`)

const withToken = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })
const rest = '/rest/v1/notes'
const statusesWith = (token: string): Promise<number[]> =>
  Promise.all(programs.map(async ({ call }) => (await call('GET', rest, withToken(token))).status))

let account = await signUp(one)

t.test('a session of tokens and a cookie, at its end, too', async (t) => {
  const { access_token: token, refresh_token: refresh } = sessionOf(await passwordGrant(two, account.user.email))
  t.strictSame(await statusesWith(token), [200, 200, 200])
  const next = sessionOf(await refreshGrant(two, refresh))
  t.strictSame(await statusesWith(next.access_token), [200, 200, 200])
  const { cookie = '', status } = await third.call('POST', '/auth/session', withToken(next.access_token))
  t.ok(status < 300)
  const withCookie = (): Promise<number[]> =>
    Promise.all(
      programs.map(async ({ call }) => (await call('GET', '/auth/me', { headers: { Cookie: cookie } })).status),
    )
  t.strictSame(await withCookie(), [200, 200, 200])
  t.equal((await one('POST', '/logout?scope=local', { token: next.access_token })).status, 204)
  t.strictSame(await statusesWith(token), [401, 401, 401], 'at once, although the tokens are cached')
  t.strictSame(await withCookie(), [401, 401, 401])
  t.equal(codeOf(await refreshGrant(one, next.refresh_token)), 'refresh_token_not_found')
})

t.test('an API key, until it is revoked', async (t) => {
  const created = await withClient(database.adminUri, (client) =>
    createApiKey(client, { role: 'service_role', label: 'a' }),
  )
  const statuses = (): Promise<number[]> =>
    Promise.all(
      programs.map(async ({ call }) => (await call('GET', rest, { headers: { apikey: created.key } })).status),
    )
  t.notOk((await statuses()).includes(401), 'accepted')
  await withClient(database.adminUri, (client) => revokeApiKey(client, created.id))
  const began = performance.now()
  t.ok(await until(async () => (await statuses()).every((status) => status === 401)))
  // Without notifications, a cached key is valid for 30 seconds.
  t.ok(performance.now() - began < 28_000, 'refused before its cache entry ends')
})

t.test('sign-in at a provider: begun, called back and finished at different processes', async (t) => {
  const verifier = 'v'.repeat(50)
  const query = new URLSearchParams({
    provider: 'acme',
    redirect_to: page,
    login_hint: 'ann',
    code_challenge: challengeOf(verifier),
    code_challenge_method: 's256',
  })
  const target = await browse(`${first.url()}/auth/v1/authorize?${query.toString()}`, page)
  const body = { auth_code: target.searchParams.get('code'), code_verifier: verifier }
  const session = sessionOf(await three('POST', '/token?grant_type=pkce', { body }))
  t.equal(session.user.email, 'ann@example.org')
  t.not((await one('POST', '/token?grant_type=pkce', { body })).status, 200, 'once')
})

t.test('a second factor: enrolled, challenged and verified at different processes', async (t) => {
  const { access_token: token } = account
  const factor = await enroll(one, token)
  const body = { challenge_id: await challenge(two, token, factor), code: codeOfApp(factor) }
  account = sessionOf(await three('POST', `/factors/${factor.id}/verify`, { token, body }))
  t.equal(claimsOf(account).aal, 'aal2')
  t.not((await one('POST', `/factors/${factor.id}/verify`, { token, body })).status, 200, 'once')
})

t.test('an Idempotency-Key takes effect once at all processes together', async (t) => {
  const rounds = 10
  for (let round = 0; round < rounds; round++) {
    const write = async ({ call }: (typeof programs)[0]): Promise<number> => {
      for (;;) {
        const headers = { 'Idempotency-Key': `"many-${round}"`, Prefer: 'return=minimal' }
        const { status } = await call('POST', rest, { body: { text: `once ${round}` }, headers })
        // The first request is still running.
        if (status !== 409) return status
        await new Promise((resume) => setTimeout(resume, 10))
      }
    }
    t.strictSame(await Promise.all(programs.map(write)), [201, 201, 201])
  }
  const { rows } = await database.query("select text from public.notes where text like 'once %' order by id")
  t.strictSame(
    rows.map(({ text }) => text),
    Array.from({ length: rounds }, (_, round) => `once ${round}`),
  )
})

t.test('the pages of a walk', async (t) => {
  const ids: unknown[] = []
  let query = '?select=id&order=id&limit=2&text=like.note*'
  for (let number = 0; query !== ''; number++) {
    const { call } = programs[number % 3] ?? first
    const { body, headers, text } = await call('GET', `${rest}${query}`, {
      headers: { Prefer: 'count=keyset, pagination=keyset' },
    })
    if (!Array.isArray(body)) throw new Error(text)
    ids.push(...(body as { id: number }[]).map(({ id }) => id))
    query = /<([^>]*)>; rel="next"/.exec(headers.get('link') ?? '')?.[1] ?? ''
  }
  t.strictSame(ids, [1, 2, 3, 4, 5, 6])
})

t.test('a resumable upload, one piece at each process, and a signed URL', async (t) => {
  const { access_token: token } = account
  const headers = { Authorization: `Bearer ${token}`, 'Tus-Resumable': '1.0.0' }
  const metadata = Object.entries({ bucketName: 'files', objectName: 'a.txt', contentType: 'text/plain' })
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',')
  const created = await first.call('POST', '/storage/v1/upload/resumable', {
    headers: { ...headers, 'Upload-Length': '9', 'Upload-Metadata': metadata },
  })
  t.equal(created.status, 201, created.text)
  const path = new URL(created.headers.get('location') ?? '').pathname
  const patch = (program: (typeof programs)[0], offset: number, body: string) =>
    program.call('PATCH', path, {
      headers: { ...headers, 'Upload-Offset': String(offset), 'Content-Type': 'application/offset+octet-stream' },
      body,
    })
  t.equal((await patch(second, 0, 'one ')).status, 204)
  // Both send the rest: one of them is too late.
  const last = await Promise.all([patch(third, 4, 'three'), patch(first, 4, 'three')])
  t.strictSame(last.map(({ status }) => status).sort(), [204, 409])
  const authorized = withToken(token)
  t.equal((await first.call('GET', '/storage/v1/object/files/a.txt', authorized)).text, 'one three')
  const signed = await second.call('POST', '/storage/v1/object/sign/files/a.txt', {
    ...authorized,
    body: { expiresIn: 60 },
  })
  const { signedURL } = signed.body as { signedURL: string }
  t.equal((await third.call('GET', `/storage/v1${signedURL}`)).text, 'one three')
  // A replaced object is served by no process from its memory.
  t.equal((await second.call('PUT', '/storage/v1/object/files/a.txt', { ...authorized, body: '"new"' })).status, 200)
  for (const { call } of programs)
    t.equal((await call('GET', '/storage/v1/object/files/a.txt', authorized)).text, '"new"')
})

t.test('the limit of images per minute', async (t) => {
  const image = form(['file', { bytes: await lake() }])
  const answers = await Promise.all(programs.map(({ url }) => upload(url(), '/predict', image)))
  t.strictSame(answers.map(({ status }) => status).sort(), [429, 429, 503])
  for (const { url } of programs) {
    const refused = await upload(url(), '/predict', image)
    t.equal(refused.status, 429)
    t.ok(Number(refused.headers.get('retry-after')) > 30, 'until the next image of the minute')
  }
})

t.test('keys are replaced in two steps, and no process refuses a token of another', async (t) => {
  const doors = [one, two, three]
  const refused: string[] = []
  let isOver = false
  let accepted = 0
  const walk = async (): Promise<void> => {
    let session = account
    for (let turn = 0; !isOver; turn++) {
      session = sessionOf(await refreshGrant(doors[turn % 3] ?? one, session.refresh_token))
      for (const status of await statusesWith(session.access_token)) {
        if (status === 200) accepted++
        else refused.push(`${status} in turn ${turn}`)
      }
    }
  }
  const walking = walk()
  const nextKey = newSigningKey()
  await publishKeys(database, [currentKey, onlyVerifying(nextKey)], programs)
  await publishKeys(database, [onlyVerifying(currentKey), nextKey], programs)
  const before = accepted
  await until(() => Promise.resolve(accepted > before + 12))
  isOver = true
  await walking
  t.strictSame(refused, [])
  t.ok(accepted > before)
  const old = currentKey
  currentKey = nextKey
  await publishKeys(database, [currentKey], programs)
  for (const { call } of programs) {
    const { text } = await call('GET', '/auth/v1/.well-known/jwks.json')
    t.match(text, String(currentKey.kid))
    t.notMatch(text, String(old.kid))
  }
})

t.test('keys that are invalid change nothing, and callers cannot read keys', async (t) => {
  const { access_token: token } = sessionOf(await passwordGrant(one, account.user.email))
  const before = programs.map(({ logged }) => logged().length)
  await database.query(`update private.jwt_keys set keys = '[{"kty": "oct"}]'; notify pgrst, 'reload config'`)
  await Promise.all(programs.map(({ line }, index) => line(says('config-invalid'), before[index])))
  t.strictSame(await statusesWith(token), [200, 200, 200])
  for (const { written } of programs) t.notMatch(written(), String(currentKey.d), 'the log has no keys')
  await publishKeys(database, [currentKey], programs)
  const { rows } =
    await database.query(`select rolname from pg_roles where rolname in ('anon', 'authenticated', 'service_role')
    and (has_function_privilege(rolname, 'private.load_settings()', 'execute') or has_table_privilege(rolname, 'private.jwt_keys', 'select')
      or has_schema_privilege(rolname, 'private', 'usage'))`)
  t.strictSame(rows, [])
})

t.test('one notification reloads the schema of all', async (t) => {
  await database.query(`create table public.later (id int); grant select on public.later to anon;
    notify pgrst, 'reload schema'`)
  const served = async (): Promise<boolean> => {
    const answers = await Promise.all(programs.map(({ call }) => call('GET', '/rest/v1/later')))
    return answers.every(({ status }) => status === 200)
  }
  t.ok(await until(served))
})

t.test('a process that ends is not ready, and serves until its balancer has noticed', async (t) => {
  third.kill('SIGTERM')
  await third.line(({ event }) => event === 'draining')
  const began = performance.now()
  const isReady = await third.call('GET', '/ready')
  t.equal(isReady.status, 503)
  t.match(isReady.body, { status: 'not ready', checks: { running: false, database: true, schemaCache: true } })
  t.equal((await third.call('GET', '/health')).status, 200, 'it responds')
  const statuses: number[] = []
  for (let time = 0; time < 20; time++) statuses.push((await third.call('GET', rest)).status)
  t.strictSame(new Set(statuses), new Set([200]))
  const { headers } = await third.call('GET', rest)
  t.not(headers.get('connection'), 'close', 'the balancer may keep its connections')
  t.equal(await third.ended, 0)
  t.ok(performance.now() - began > 5000)
  for (const { call } of [first, second]) t.equal((await call('GET', '/ready')).status, 200)
})
