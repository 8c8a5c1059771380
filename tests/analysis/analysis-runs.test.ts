// Stored predictions: their owner, who can read them, and the accepted credentials.
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@supabase/supabase-js'
import { SignJWT } from 'jose'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { detailsOf, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { childProcesses } from '../support/child-processes.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { form, patient, prefix, upload } from '../support/image-upload.ts'
import { bearer } from '../support/token.ts'
import { greenLake, lake } from '../support/test-image.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const env = { ...patient, SESSION_SECRETS: 's'.repeat(32) }
const { url, call } = await startApplication(t, database.authenticatorUri, env)
const newKey = (role: string, userId?: string) =>
  withClient(database.adminUri, async (client) => (await createApiKey(client, { role, label: role, userId })).key)
const publishable = await newKey('anon')

async function user(email: string) {
  const signedUp = await signUp(call, email)
  const token = async (): Promise<string> =>
    detailsOf<{ access_token: string }>(await signedUp.call('POST', '/auth/token')).access_token
  const current = await token()
  const client = createClient(url, publishable, {
    // Node 20 has no WebSocket, and the test does not need one.
    realtime: { transport: class {} as never },
    accessToken: () => Promise.resolve(current),
  })
  return { ...signedUp, client, headers: { Authorization: `Bearer ${current}` } }
}
const ann = await user('ann@example.org')
const bob = await user('bob@example.org')
const green = await greenLake()
const file = (bytes: Uint8Array = green, name = 'a.jpg') => ({ bytes, name })
const store = (headers: Readonly<Record<string, string>>, ...more: readonly (readonly [string, string])[]) =>
  upload(url, '/predict', form(['file', file()], ['store', 'true'], ...more), headers)
const count = async (): Promise<number> =>
  Number((await database.query('select count(*) from public.classification_runs')).rows[0]?.count)

t.test('nothing is stored for a client that leaves during the analysis', async (t) => {
  t.equal((await store(ann.headers)).status, 200)
  const before = await count()
  const [analyser = NaN] = await childProcesses(process.pid, 'analyser/main.')
  for (const [path, name] of [
    ['/predict', 'file'],
    ['/predict/batch', 'files'],
  ] as const) {
    process.kill(analyser, 'SIGSTOP')
    const leaving = new AbortController()
    const sent = fetch(`${url}${prefix}${path}`, {
      method: 'POST',
      body: form([name, file()], ['store', 'true']),
      headers: ann.headers,
      signal: leaving.signal,
    }).catch(() => 'gone')
    await pause(500)
    leaving.abort()
    t.equal(await sent, 'gone')
    await pause(100)
    process.kill(analyser, 'SIGCONT')
    // Analysed after the other one.
    t.equal((await upload(url, '/predict', form(['file', file()]))).status, 200)
    await pause(200)
    t.equal(await count(), before, path)
  }
  await database.query('delete from public.classification_runs')
})

t.test('a stored prediction is a run of the caller that nobody else can read', async (t) => {
  const answer = await store(ann.headers, ['image_source', 'camera'], ['image_uri', 'file:///data/1.jpg'])
  t.equal(answer.status, 200, answer.text)
  const { run_id: id } = answer.body as { run_id: string }
  const { data, error } = await ann.client
    .from('classification_runs')
    .select()
    .order('created_at', { ascending: false })
  t.equal(error, null)
  t.match(data, [
    {
      ...{ id, user_id: ann.id, image_source: 'camera', image_uri: 'file:///data/1.jpg', is_positive: false },
      ...{
        confidence: 50,
        result_label: 'Needs Review',
        model_version: /^colour-index-baseline\/1/,
        recommendation: /green cover/,
      },
      analysis: {
        ...{ classification: 'needs_review', coverage_percent: 6.3, risk_level: 'LOW', method: 'colour-index' },
        ...{
          image_width: 320,
          image_height: 240,
          boxes: [{ x1: 120, y1: 90, x2: 200, y2: 150, width: 80, height: 60 }],
        },
      },
    },
  ])
  t.equal(data?.length, 1)
  t.strictSame((await bob.client.from('classification_runs').select()).data, [], 'another user cannot read it')
  t.strictSame((await bob.client.from('classification_runs').select().eq('id', id)).data, [])
  await bob.client.from('classification_runs').delete().eq('id', id)
  await bob.client.from('classification_runs').update({ result_label: 'x' }).eq('id', id)
  t.match(
    (await ann.client.from('classification_runs').select()).data,
    [{ id, result_label: 'Needs Review' }],
    'nor change it',
  )
  t.equal((await call('GET', `/rest/v1/classification_runs/${id}`, { headers: bob.headers })).status, 404)
})

t.test('without store=true, predictions are not stored', async (t) => {
  const before = await count()
  for (const path of ['/predict', '/predict?store=false', '/predict?store=']) {
    const answer = await upload(url, path, form(['file', file()]), ann.headers)
    t.equal(answer.status, 200, path)
    t.notOk('run_id' in (answer.body as object), path)
  }
  t.equal(await count(), before)
})

t.test('every form of store=true, and every credential', async (t) => {
  const secretOfAnn = await newKey('authenticated', ann.id)
  const json = { 'Content-Type': 'application/json' }
  const encoded = JSON.stringify({
    image_base64: green.toString('base64'),
    store: true,
    image_source: 'gallery',
    image_uri: 'content://media/5',
  })
  const answers = {
    query: await upload(url, '/predict?store=true&image_source=gallery', form(['file', file()]), ann.headers),
    json: await upload(url, '/predict', encoded, { ...json, ...ann.headers }),
    'json with a number': await upload(
      url,
      '/predict',
      JSON.stringify({ image_base64: green.toString('base64'), store: 1 }),
      { ...json, ...ann.headers },
    ),
    raw: await upload(url, '/predict?store=1', green, { 'Content-Type': 'image/jpeg', ...ann.headers }),
    cookie: await store({ Cookie: ann.cookie }),
    key: await store({ apikey: secretOfAnn }),
    'key and token': await store({ apikey: publishable, ...ann.headers }),
    older: await upload(url, '/v1/predict?store=true', form(['file', file(await lake())]), ann.headers),
  }
  for (const [name, { status, text }] of Object.entries(answers)) t.equal(status, 200, `${name}: ${text}`)
  const { rows } = await database.query(
    'select user_id, image_source, image_uri from public.classification_runs order by created_at',
  )
  t.ok(rows.every(({ user_id }) => user_id === ann.id))
  t.equal(rows.length, 1 + Object.keys(answers).length)
  t.match(rows.slice(1, 4), [
    { image_source: 'gallery', image_uri: /^ni:\/\/\/sha-256;[\w-]{43}$/ },
    { image_source: 'gallery', image_uri: 'content://media/5' },
    { image_source: 'file' },
  ])
  for (const store of [[true], { value: true }]) {
    const answer = await upload(url, '/predict', JSON.stringify({ image_base64: green.toString('base64'), store }), {
      ...json,
      ...ann.headers,
    })
    t.match(answer, { status: 422, body: { detail: [{ loc: ['body', 'store'] }] } }, JSON.stringify(store))
  }
})

t.test('several images are stored all or not at all', async (t) => {
  const before = await count()
  const files = [
    ['files', file(green, '1.jpg')],
    ['files', file(Buffer.from('x'), '2.jpg')],
    ['files', file(await lake(), '3.jpg')],
  ] as const
  const answer = await upload(url, '/predict/batch?store=true', form(...files), bob.headers)
  t.equal(answer.status, 200, answer.text)
  const items = answer.body as { index: number; run_id: string }[]
  t.strictSame(
    items.map(({ index }) => index),
    [0, 2],
  )
  const { data } = await bob.client.from('classification_runs').select('id, result_label')
  t.strictSame(
    new Set(data),
    new Set([
      { id: items[0]?.run_id, result_label: 'Needs Review' },
      { id: items[1]?.run_id, result_label: 'No Water Hyacinth' },
    ]),
  )
  const uris = (n: number) => Array.from({ length: n }, (_, index) => ['image_uri', `file:///${index}.jpg`] as const)
  t.equal((await upload(url, '/predict/batch?store=true', form(...files, ...uris(3)), bob.headers)).status, 200)
  t.equal(
    (
      await database.query(
        `select from public.classification_runs where image_uri in ('file:///0.jpg', 'file:///2.jpg')`,
      )
    ).rows.length,
    2,
  )
  const few = await upload(url, '/predict/batch?store=true', form(...files, ...uris(2)), bob.headers)
  t.match(few, {
    status: 422,
    body: { detail: [{ loc: ['body', 'image_uri'], msg: 'There are 3 images, but 2 addresses' }] },
  })
  const bad = form(
    ...files,
    ['image_uri', 'file:///x.jpg'],
    ['image_uri', 'file:///y.jpg'],
    ['image_uri', 'no address'],
  )
  t.equal((await upload(url, '/predict/batch?store=true', bad, bob.headers)).status, 422)
  t.equal(await count(), before + 4)
})

t.test('predictions that violate a constraint are not stored', async (t) => {
  const before = await count()
  const rows: readonly (readonly [
    string,
    Readonly<Record<string, string>>,
    readonly (readonly [string, string])[],
    number,
    unknown,
  ])[] = [
    ['an invalid URL', ann.headers, [['image_uri', 'not an address']], 422, [{ loc: ['body', 'image_uri'] }]],
    ['a script', ann.headers, [['image_uri', 'javascript:alert(1)']], 422, [{ loc: ['body', 'image_uri'] }]],
    [
      'a very long URL',
      ann.headers,
      [['image_uri', `https://x/${'y'.repeat(3000)}`]],
      422,
      [{ loc: ['body', 'image_uri'] }],
    ],
    [
      'a source without end',
      ann.headers,
      [['image_source', 'x'.repeat(200)]],
      422,
      [{ loc: ['body', 'image_source'] }],
    ],
    [
      'two URLs',
      ann.headers,
      [
        ['image_uri', 'file:///1'],
        ['image_uri', 'file:///2'],
      ],
      422,
      [{ loc: ['body', 'image_uri'] }],
    ],
    ['nobody', {}, [], 401, /Storing a run needs/],
    ['a publishable key', { apikey: publishable }, [], 401, /Storing a run needs/],
    ['a key of nobody in particular', { apikey: await newKey('service_role') }, [], 403, /may not store/],
    [
      'a user without a profile',
      { Authorization: await bearer('authenticated', { sub: '99999999-9999-4999-8999-999999999999' }) },
      [],
      403,
      /may not store/,
    ],
    [
      'a subject that is no user',
      { Authorization: await bearer('authenticated', { sub: 'somebody' }) },
      [],
      403,
      /may not store/,
    ],
  ]
  for (const [name, headers, more, status, detail] of rows) {
    const answer = await store(headers, ...more)
    t.equal(answer.status, status, `${name}: ${answer.text}`)
    t.match(answer.body, { detail }, name)
    t.notMatch(answer.text, /classification_runs|profiles|policy|user_id/, 'no details of the database are disclosed')
  }
  t.equal(await count(), before)
})

t.test('invalid and expired credentials get 401, with or without store=true', async (t) => {
  const before = await count()
  const sign = (key: string, alg = 'HS256') =>
    new SignJWT({ role: 'authenticated', sub: ann.id }).setProtectedHeader({ alg }).sign(new TextEncoder().encode(key))
  const [head = '', claims = ''] = (ann.headers.Authorization.split(' ')[1] ?? '').split('.')
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`
  const carl = await user('carl@example.org')
  t.equal((await carl.call('POST', '/auth/signout')).status, 200)
  const forged: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'another key': { Authorization: `Bearer ${await sign('another secret of more than 32 characters')}` },
    'no algorithm': { Authorization: `Bearer ${none}` },
    'no signature': { Authorization: `Bearer ${head}.${claims}.` },
    'no token': { Authorization: 'Bearer x' },
    'another scheme': { Authorization: 'Basic YW5uOng=' },
    'an unknown key': { apikey: 'sb_secret_0000000000000000000000' },
    'a key that is none': { apikey: 'x' },
    'an expired token': { Authorization: await bearer('authenticated', { sub: ann.id, exp: 1 }) },
    'a session that has ended': carl.headers,
  }
  for (const [name, headers] of Object.entries(forged)) {
    t.equal((await store(headers)).status, 401, name)
    const plain = await upload(url, '/predict', form(['file', file()]), headers)
    t.equal(plain.status, 401, `${name}: never treated as anonymous`)
    t.match(plain.body, { detail: String }, name)
  }
  t.equal((await store({ Cookie: `${ann.cookie}x` })).status, 401, 'a forged cookie')
  t.equal(await count(), before)
})

t.test('pages of other sites cannot store with the cookie of a user', async (t) => {
  const before = await count()
  const pages: readonly Readonly<Record<string, string>>[] = [
    { Origin: 'https://evil.example' },
    { 'Sec-Fetch-Site': 'cross-site' },
    { Origin: 'null' },
  ]
  for (const page of pages) t.equal((await store({ Cookie: ann.cookie, ...page })).status, 401, JSON.stringify(page))
  t.equal(await count(), before)
  const own = await startApplication(t, database.authenticatorUri, {
    ...env,
    PGRST_SERVER_CORS_ALLOWED_ORIGINS: 'https://app.example',
  })
  const listed = await upload(own.url, '/predict?store=true', form(['file', file()]), {
    Cookie: ann.cookie,
    Origin: 'https://app.example',
  })
  t.equal(listed.status, 200, 'listed origins can')
  t.equal(listed.headers.get('access-control-allow-credentials'), 'true')
})

t.test('image-anonymous=false refuses callers without credentials', async (t) => {
  const app = await startApplication(t, database.authenticatorUri, { ...env, IMAGE_ANONYMOUS: 'false' })
  const nobody: readonly Readonly<Record<string, string>>[] = [{}, { apikey: publishable }]
  for (const headers of nobody) {
    for (const path of ['/predict', '/predict/batch', '/v1/predict']) {
      const answer = await upload(app.url, path, form(['file', file()], ['files', file()]), headers)
      t.match(answer, { status: 401, body: { detail: 'Not authenticated' } }, path)
      t.equal(answer.headers.get('www-authenticate'), 'Bearer')
    }
  }
  t.equal((await upload(app.url, '/predict', form(['file', file()]), ann.headers)).status, 200)
  t.equal((await upload(app.url, '/predict', form(['file', file()]), { Cookie: ann.cookie })).status, 200)
  t.equal((await app.call('GET', `${prefix}/health`)).status, 200, 'health checks need no credentials')
})
