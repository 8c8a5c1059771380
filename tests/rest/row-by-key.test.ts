// Rows addressed by their key in the path, on the service's tables.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { call } = await startApplication(t, database.authenticatorUri, { SESSION_SECRETS: 's'.repeat(32) })

const alice = '11111111-1111-4111-8111-111111111111'
const bob = '22222222-2222-4222-8222-222222222222'
const token = (sub: string) => signToken({ role: 'authenticated', sub })
const as = async (sub: string, more: Record<string, string> = {}) => ({
  headers: { Authorization: `Bearer ${await token(sub)}`, ...more },
})
const run = {
  image_uri: 'https://images.test/1.jpg',
  image_source: 'phone',
  result_label: 'water hyacinth',
  confidence: 97.5,
  is_positive: true,
}

t.before(async () => {
  for (const sub of [alice, bob]) {
    const created = await call('POST', '/rest/v1/profiles', { body: { full_name: 'x' }, ...(await as(sub)) })
    t.equal(created.status, 201, created.text)
  }
})

async function createRun(): Promise<string> {
  const { body, status, text } = await call('POST', '/rest/v1/classification_runs', {
    body: run,
    ...(await as(alice, { Prefer: 'return=representation' })),
  })
  t.equal(status, 201, text)
  return (body as { id: string }[])[0]?.id ?? ''
}

t.test('requests and responses of the specification', async (t) => {
  const created = await call('POST', '/rest/v1/classification_runs', { body: run, ...(await as(alice)) })
  t.match(created, { status: 201, text: '' })
  t.equal(created.headers.get('location'), null)
  const withLocation = await call('POST', '/rest/v1/classification_runs', {
    body: run,
    ...(await as(alice, { Prefer: 'return=headers-only' })),
  })
  t.match(withLocation.headers.get('location'), /^\/rest\/v1\/classification_runs\?id=eq\.[0-9a-f-]{36}$/)

  const id = await createRun()
  const path = `/rest/v1/classification_runs/${id}`
  const got = await call('GET', path, await as(alice))
  t.match(got, { status: 200, body: { id, user_id: alice, confidence: 97.5 } })
  t.equal(got.headers.get('content-type'), 'application/json; charset=utf-8')
  const head = await call('HEAD', path, await as(alice))
  t.match(head, { status: 200, text: '' })

  const patched = await call('PATCH', path, { body: { confidence: 12 }, ...(await as(alice)) })
  t.match(patched, { status: 200, text: '' })
  const returned = await call('PATCH', path, {
    body: { is_positive: false },
    ...(await as(alice, { Prefer: 'return=representation' })),
  })
  t.match(returned, { status: 200, body: { id, confidence: 12, is_positive: false } })
  t.match(
    await call('PATCH', path, { body: {}, ...(await as(alice)) }),
    { status: 200, text: '' },
    'no columns to change',
  )

  for (const [method, body] of [['GET'], ['PATCH', { confidence: 1 }], ['PATCH', {}], ['DELETE']] as const) {
    const other = await call(method, path, { body, ...(await as(bob)) })
    t.match(other, { status: 404, body: { code: 'PGRST116' } }, `${method} of another user's row`)
  }
  t.match(await call('DELETE', path, await as(alice)), { status: 204, text: '' })
  t.match(await call('GET', path, await as(alice)), { status: 404 })
  t.match(await call('DELETE', path, await as(alice)), { status: 404 })
})

t.test('rows that cannot be addressed by key', async (t) => {
  const rows = [
    ['GET', '/rest/v1/classification_runs/no-uuid', 400, '22P02'],
    ['PATCH', '/rest/v1/classification_runs/no-uuid', 400, '22P02'],
    ['DELETE', "/rest/v1/classification_runs/'; drop table profiles --", 400, '22P02'],
    ['GET', '/rest/v1/classification_runs/%ff', 404, 'PGRST125'],
    ['GET', '/rest/v1/classification_runs/1/2', 404, 'PGRST125'],
    ['GET', '/rest/v1/nothing/1', 404, 'PGRST125'],
    ['POST', `/rest/v1/classification_runs/${alice}`, 405, 'PGRST117'],
  ] as const
  for (const [method, path, status, code] of rows) {
    const body = method === 'PATCH' ? { confidence: 1 } : method === 'POST' ? run : undefined
    const answer = await call(method, path, { body, ...(await as(alice)) })
    t.match(answer, { status, body: { code } }, `${method} ${path}`)
  }
})

t.test("PostgREST's paths keep PostgREST's responses", async (t) => {
  const id = await createRun()
  const path = `/rest/v1/classification_runs?id=eq.${id}`
  t.match(await call('PATCH', path, { body: { confidence: 3 }, ...(await as(alice)) }), { status: 204 })
  const list = await call('GET', path, await as(alice))
  t.match(list, { status: 200, body: [{ id }] })
  t.equal(list.headers.get('content-location'), `/rest/v1/classification_runs?id=eq.${id}`)
  t.match(await call('DELETE', path, await as(alice)), { status: 204 })
  t.match(await call('PATCH', path, { body: { confidence: 3 }, ...(await as(alice)) }), { status: 204 })
})

t.test('profiles are addressed by key, too', async (t) => {
  const path = `/rest/v1/profiles/${alice}`
  t.match(await call('PATCH', path, { body: { full_name: 'Alice' }, ...(await as(alice)) }), {
    status: 200,
    text: '',
  })
  t.match(await call('GET', path, await as(alice)), { status: 200, body: { id: alice, full_name: 'Alice' } })
  t.match(await call('GET', path, await as(bob)), { status: 404 })
  t.match(await call('DELETE', path, await as(bob)), { status: 404 })
  t.match(await call('DELETE', path, await as(alice)), { status: 204 })
})

t.test('bodies are validated before the database is queried', async (t) => {
  const rows = [
    ['POST', { ...run, confidence: 101, extra: 1 }, 400, /\/confidence .*\/extra|\/extra .*\/confidence/],
    ['POST', [run, { ...run, image_uri: 'no uri' }], 400, /\/1\/image_uri/],
    ['POST', {}, 400, /\/image_uri is required/],
    ['POST', '{', 400, undefined],
  ] as const
  for (const [method, body, status, details] of rows) {
    const answer = await call(method, '/rest/v1/classification_runs', { body, ...(await as(bob)) })
    t.match(answer, { status, body: { code: 'PGRST102', ...(details ? { details } : {}) } }, JSON.stringify(body))
  }
  const csv = async (text: string) =>
    call('POST', '/rest/v1/classification_runs', { body: text, ...(await as(bob, { 'Content-Type': 'text/csv' })) })
  const header = 'image_uri,image_source,result_label,confidence,is_positive'
  t.match(await csv(`${header}\nhttps://a.test/1,phone,x,50,true`), { status: 201 })
  t.match(await csv(`${header}\nhttps://a.test/1,phone,x,500,true`), {
    status: 400,
    body: { details: /\/0\/confidence/ },
  })
  const type = { 'Content-Type': 'text/plain' }
  t.match(await call('POST', '/rest/v1/classification_runs', { body: 'x', ...(await as(bob, type)) }), {
    status: 415,
  })
  const large = 'x'.repeat(11 * 1024 * 1024)
  const tooLarge = await call('POST', '/rest/v1/classification_runs', { body: large, ...(await as(bob)) })
  t.match(tooLarge, { status: 413, body: { code: 'PGRST102' } })
})
