// Functions as Supabase's documentation has them, called by two users.
import { createHmac } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { clientWith, startFunctionServer } from '../support/function-server.ts'
import { listen } from '../support/listening.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const mails: unknown[] = []
const mailService = await listen(t, (request, response) => {
  let body = ''
  request.on('data', (chunk: Buffer) => (body += chunk.toString()))
  request.on('end', () => {
    mails.push([request.headers.authorization, JSON.parse(body)])
    response.setHeader('Content-Type', 'application/json').end('{"id":"m1"}')
  })
})
const folder = fileURLToPath(new URL('../fixtures/functions/examples/supabase/functions', import.meta.url))
const { url, database, logged } = await startFunctionServer(t, {
  FUNCTIONS_DIR: folder,
  EXAMPLE_GREETING: 'Good morning',
  STORAGE_BACKEND: 'file',
  MAIL_URL_FOR_TESTS: mailService,
})
const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002']
await database.query(`
  create table public.notes (id int generated always as identity primary key, text text, owner_id uuid default auth.uid());
  alter table public.notes enable row level security;
  create policy own on public.notes to authenticated using (owner_id = (select auth.uid())) with check (owner_id = (select auth.uid()));
  grant select, insert, update, delete on public.notes to authenticated, service_role;
  insert into public.notes (text, owner_id) values ('of Ann', '${ann}'), ('of Bob', '${bob}');
  insert into storage.buckets (id, name) values ('images', 'images');
  notify pgrst, 'reload schema'`)
const publishable = await signToken({ role: 'anon' })
const tokenOf = (sub: string): Promise<string> => signToken({ role: 'authenticated', sub })
const asAnn = clientWith(url, publishable, await tokenOf(ann)).functions
const asBob = clientWith(url, publishable, await tokenOf(bob)).functions

t.test('hello, with a greeting of the environment', async (t) => {
  const { data, ...rest } = await asAnn.invoke<unknown>('hello', { body: { name: 'Ada' } })
  t.equal(rest.error, null)
  t.strictSame(data, { message: 'Good morning Ada!' })
})

t.test('CORS of the function', async (t) => {
  const preflight = await fetch(`${url}/functions/v1/cors`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
  })
  t.equal(await preflight.text(), 'ok')
  t.equal(preflight.headers.get('access-control-allow-headers'), 'authorization, x-client-info, apikey, content-type')
  const { data } = await asAnn.invoke<unknown>('cors', { body: { name: 'Ada' } })
  t.strictSame(data, { message: 'Hello Ada!' })
  const { response } = await asAnn.invoke('cors', { body: 'no JSON' })
  t.equal(response?.status, 400)

  const server = await fetch(`${url}/functions/v1/preflight-only`, {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
  })
  t.equal(server.status, 204, 'the server answers for a function that does not')
})

t.test('the database, as the caller and as the service', async (t) => {
  const name = 'select-from-table-with-auth-rls'
  t.strictSame((await asAnn.invoke<unknown>(name)).data, { data: [{ text: 'of Ann' }], error: null })
  t.strictSame((await asBob.invoke<unknown>(name)).data, { data: [{ text: 'of Bob' }], error: null })
  const anonymous = await clientWith(url, publishable).functions.invoke(name)
  t.equal(anonymous.response?.status, 500, 'anon may not read the table')
  t.strictSame((await asAnn.invoke<unknown>('count-all')).data, { count: 2, error: null })
})

type Tasks = { readonly tasks: readonly { readonly id: number; readonly text: string }[] }

t.test('a REST API of several paths and methods', async (t) => {
  const created = await asAnn.invoke<Tasks>('restful-tasks', { body: { task: { text: 'new' } } })
  const id = created.data?.tasks[0]?.id
  t.type(id, 'number')
  const path = `restful-tasks/${id}`
  t.strictSame((await asAnn.invoke<unknown>(path, { method: 'GET' })).data, { tasks: [{ id, text: 'new' }] })
  t.strictSame((await asBob.invoke<unknown>(path, { method: 'GET' })).data, { tasks: [] }, 'not of another user')
  const changed = await asAnn.invoke<Tasks>(path, { method: 'PUT', body: { task: { text: 'changed' } } })
  t.equal(changed.data?.tasks[0]?.text, 'changed')
  t.strictSame((await asBob.invoke<Tasks>(path, { method: 'DELETE' })).data, { tasks: [] })
  t.equal((await asAnn.invoke<Tasks>(path, { method: 'DELETE' })).data?.tasks.length, 1)
})

t.test('events as a stream', async (t) => {
  const { data } = await asAnn.invoke<Response>('streams')
  const chunks: string[] = []
  for await (const chunk of data?.body as unknown as AsyncIterable<Uint8Array>)
    chunks.push(Buffer.from(chunk).toString())
  t.equal(chunks.join(''), [0, 1, 2, 3, 4].map((n) => `data: ${n}\n\n`).join(''))
  t.ok(chunks.length > 1, 'not at once')
})

t.test('an upload into storage', async (t) => {
  const form = new FormData()
  form.set('name', 'note.txt')
  form.set('file', new File(['the text'], 'note.txt', { type: 'text/plain' }))
  const { data, ...rest } = await asAnn.invoke<unknown>('file-upload-storage', { body: form })
  t.equal(rest.error, null)
  t.match(data, { path: 'note.txt', size: 8, text: 'the text' })
})

t.test('a webhook whose signature covers the raw body', async (t) => {
  const body = '{"type":"charge.succeeded",  "ü": "\\u00fc" }'
  const time = Math.floor(Date.now() / 1000)
  const sign = (text: string): string => createHmac('sha256', 'whsec_test').update(`${time}.${text}`).digest('hex')
  const send = (signature: string): Promise<Response> =>
    fetch(`${url}/functions/v1/stripe-webhook`, {
      method: 'POST',
      body,
      headers: { 'Stripe-Signature': `t=${time},v1=${signature}`, 'Content-Type': 'application/json; charset=utf-8' },
    })
  const accepted = await send(sign(body))
  t.equal(accepted.status, 200, 'without a token, because verify_jwt is false')
  t.strictSame(await accepted.json(), { ok: true, type: 'charge.succeeded' })
  t.equal((await send(sign(`${body} `))).status, 400)
})

t.test('work after the response', async (t) => {
  const response = await asAnn.invoke<string>('background-upload', { body: { text: 'later' } })
  t.equal(response.response?.status, 202)
  t.equal(response.data, 'accepted')
  const count = async (): Promise<unknown> =>
    (await database.query("select from public.notes where text = 'later'")).rows.length
  t.ok(await until(async () => (await count()) === 1))
  t.ok(
    await until(() =>
      logged().some(({ function: name, msg }) => name === 'background-upload' && String(msg).includes('stored later')),
    ),
  )
})

t.test('a service of others, with secrets of .env', async (t) => {
  const { data } = await asAnn.invoke<unknown>('send-mail', { body: { to: 'ada@example.org' } })
  t.strictSame(data, { id: 'm1' })
  t.match(mails, [['Bearer re_local', { to: 'ada@example.org' }]])
})

t.test('a router of a package', async (t) => {
  t.equal((await asAnn.invoke<string>('hono-server/hello/Ada', { method: 'GET' })).data, 'Hello Ada')
  const { data, response } = await asAnn.invoke<unknown>('hono-server/json', { body: { a: 1 } })
  t.strictSame([data, response?.status], [{ a: 1 }, 201])
})

t.test('config.toml', async (t) => {
  t.equal((await asAnn.invoke('switched-off')).response?.status, 404)
  t.equal((await asAnn.invoke<string>('elsewhere')).data, 'from elsewhere')
  t.equal((await asAnn.invoke('_shared')).response?.status, 404)
})

t.test('the environment has what Supabase sets, and nothing of the server', async (t) => {
  const { data } = await asAnn.invoke<Record<string, string>>('faults', { body: { kind: 'env' } })
  t.strictSame(Object.keys(data ?? {}).sort(), [
    'GREETING',
    'MAIL_API_KEY',
    'MAIL_URL',
    'MULTI',
    'STRIPE_WEBHOOK_SIGNING_SECRET',
    'SUPABASE_ANON_KEY',
    'SUPABASE_JWKS_URL',
    'SUPABASE_SERVICE_ROLE_KEY',
    'SUPABASE_URL',
  ])
  t.equal(data?.SUPABASE_URL, url)
  t.equal(data?.MULTI, 'two\nlines')
  t.ok(logged().some(({ msg }) => String(msg).includes('SUPABASE_URL is left out')))
})
