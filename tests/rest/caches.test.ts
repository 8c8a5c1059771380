// No cache may show one caller another's data: many users send requests of the same shapes concurrently, with cached
// statements, plans and tokens, while the schema is reloaded.
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { signToken } from '../support/token.ts'

const users = 50
const runsEach = 6
const rounds = 12

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { call, service } = await startApplication(t, database.authenticatorUri, { PGRST_DB_POOL: '6' })

type Run = { id: string; user_id: string; confidence: number; result_label: string }

await database.query(`
  insert into auth.users (id, email, encrypted_password) select gen_random_uuid(), 'user' || i || '@example.com', 'x' from generate_series(1, ${users}) i;
  insert into public.classification_runs (user_id, image_uri, image_source, result_label, confidence, is_positive)
    select u.id, 'https://images.test/' || i, 'test', 'label' || i, i, i % 2 = 0
    from auth.users u, generate_series(1, ${runsEach}) i`)
const { rows } = await database.query(
  'select id::text, user_id::text, confidence::int, result_label from public.classification_runs',
)
const all = rows as Run[]
const ids = [...new Set(all.map(({ user_id }) => user_id))]
const tokens = new Map<string, string>()
for (const id of ids) tokens.set(id, await signToken({ role: 'authenticated', sub: id }))
const admin = await signToken({ role: 'service_role' })
const anonymous = await signToken({ role: 'anon' })

const as = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } })
const path = '/rest/v1/classification_runs'

async function readAll(t: Test, user: string, round: number): Promise<void> {
  const token = tokens.get(user) ?? ''
  const own = all.filter(({ user_id }) => user_id === user)
  const mine = own[round % own.length]
  const other = all[(round * 7 + user.charCodeAt(0)) % all.length]
  const get = async (query: string, credential = token) =>
    (await call('GET', `${path}?${query}`, as(credential))).body as Run[]
  const list = await get('select=id,user_id,confidence&order=confidence')
  t.ok(
    list.length === own.length && list.every(({ user_id }) => user_id === user),
    'the list contains only rows of the user',
  )
  t.strictSame(await get(`id=eq.${mine?.id}&select=id,result_label`), [
    { id: mine?.id, result_label: mine?.result_label },
  ])
  const foreign = other?.user_id === user ? 1 : 0
  t.equal((await get(`id=eq.${other?.id}&select=id`)).length, foreign, 'rows of others are not visible')
  const limit = 1 + (round % runsEach)
  t.equal((await get(`confidence=gte.${limit}&user_id=eq.${user}`)).length, runsEach - limit + 1)
  t.equal(
    (await get(`confidence=gte.${limit}&user_id=eq.${other?.user_id}`, admin)).length,
    runsEach - limit + 1,
    'admin',
  )
  const refused = await call('GET', `${path}?confidence=gte.${limit}&user_id=eq.${user}`, as(anonymous))
  t.match(refused, { body: { code: '42501' } }, 'a request of the same shape as anon')
  const faulty = await call('GET', `${path}?id=equals.${mine?.id}&user_id=equals.${user}`, as(token))
  t.match(faulty, {
    status: 400,
    body: { code: 'PGRST100', message: `"failed to parse filter (equals.${mine?.id})" (line 1, column 3)` },
  })
}

t.test('50 users with requests of the same shapes, while the schema changes', async (t) => {
  let done = false
  const disturb = async () => {
    for (let number = 0; !done; number++) {
      await database.query(
        number % 2 === 0 ? 'create view public.extra as select 1 as one' : 'drop view if exists public.extra',
      )
      await service.engine.reload()
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  }
  const disturbing = disturb()
  for (let round = 0; round < rounds; round++) {
    await Promise.all(ids.map((user) => readAll(t, user, round)))
  }
  done = true
  await disturbing
})

t.test('revoking a privilege takes effect at once', async (t) => {
  const [user = ''] = ids
  const token = tokens.get(user) ?? ''
  for (let time = 0; time < 4; time++) {
    t.match(await call('GET', `${path}?confidence=eq.${time}`, as(token)), { status: 200 })
  }
  await database.query('revoke select on public.classification_runs from authenticated')
  t.match(await call('GET', `${path}?confidence=eq.9`, as(token)), { status: 403, body: { code: '42501' } })
  await database.query('grant select on public.classification_runs to authenticated')
  t.match(await call('GET', `${path}?confidence=eq.9`, as(token)), { status: 200 })
})

t.test('every request of a cached shape uses its own values', async (t) => {
  const insert = async (label: string) =>
    call('POST', '/rest/v1/classification_runs?select=result_label', {
      body: {
        user_id: ids[0],
        image_uri: 'https://images.test/x',
        image_source: 'values',
        result_label: label,
        confidence: 1,
        is_positive: true,
      },
      headers: { Authorization: `Bearer ${admin}`, Prefer: 'return=representation' },
    })
  const labels = [
    'plain',
    "quote'",
    'double"',
    'back\\slash',
    'ünï cödé',
    '$1',
    'a,b',
    '{x}',
    'null',
    '%',
    '*',
    'eq.x',
    'a&b=c',
    '😀',
  ]
  for (const label of labels) {
    t.match(await insert(label), { status: 201, body: [{ result_label: label }] }, `insert ${label}`)
    const query = `result_label=eq.${encodeURIComponent(label)}&image_source=eq.values&select=result_label`
    for (let time = 0; time < 3; time++) {
      const answer = await call('GET', `${path}?${query}`, as(admin))
      t.strictSame(answer.body, [{ result_label: label }], label)
    }
    t.match(await call('GET', `${path}?${query.replace('select', 'limit=1&select')}`, as(admin)), {
      body: [{ result_label: label }],
    })
  }
  const location = await call('GET', `${path}?result_label=eq.a%26b&image_source=eq.values`, as(admin))
  t.equal(
    location.headers.get('content-location'),
    `${path}?image_source=eq.values&result_label=eq.a%26b`,
    'the canonical query is that of the request',
  )
  for (let time = 0; time < 3; time++) {
    const nul = await call('GET', `${path}?result_label=eq.a%00b&image_source=eq.values`, as(admin))
    t.equal(nul.status, 200)
    t.match(await call('GET', `${path}?result_label=eq.%ff&image_source=eq.values`, as(admin)), { status: 400 })
    t.match(await call('GET', `${path}?confidence=eq.no-number`, as(admin)), { status: 400, body: { code: '22P02' } })
  }
})
