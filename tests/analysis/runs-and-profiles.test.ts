// Classification runs and profiles as used by the mobile client through supabase-js, and changes that are refused.
import { createClient } from '@supabase/supabase-js'
import t, { type Test } from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { detailsOf, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { url, call } = await startApplication(t, database.authenticatorUri, { SESSION_SECRETS: 's'.repeat(32) })
const newKey = (role: string) =>
  withClient(database.adminUri, async (client) => (await createApiKey(client, { role, label: role })).key)
const publishable = await newKey('anon')
const secret = await newKey('service_role')

async function user(email: string) {
  const signedUp = await signUp(call, email)
  const { access_token: token } = detailsOf<{ access_token: string }>(await signedUp.call('POST', '/auth/token'))
  const client = createClient(url, publishable, {
    // Node 20 has no WebSocket, and the test does not need one.
    realtime: { transport: class {} as never },
    accessToken: () => Promise.resolve(token),
  })
  const rest = (method: string, path: string, body: unknown, prefer = 'return=representation') =>
    call(method, `/rest/v1${path}`, { body, headers: { Authorization: `Bearer ${token}`, Prefer: prefer } })
  return { id: signedUp.id, client, rest }
}
const ann = await user('ann@example.org')
const bob = await user('bob@example.org')

const uuid = (n: number): string => `cccccccc-0000-4000-8000-${String(n).padStart(12, '0')}`
/** A run as the client creates it, with its own key and time. */
const run = (n: number, owner: string, more: object = {}) => ({
  confidence: 87,
  created_at: new Date(Date.UTC(2026, 0, 1, n)).toISOString(),
  id: uuid(n),
  image_source: (['camera', 'gallery', 'file'] as const)[n % 3],
  image_uri: `file:///data/user/0/images/${n}.jpg`,
  is_positive: true,
  model_version: 'v1.0.0',
  recommendation: 'Report to the local authority.',
  result_label: 'Water Hyacinth',
  user_id: owner,
  ...more,
})
const stored = async (n: number) =>
  (await database.query('select * from public.classification_runs where id = $1', [uuid(n)])).rows[0]
const refused = (t: Test, answer: { error: unknown; status: number }, label: string): void => {
  t.equal(answer.status, 403, label)
  t.match(answer.error, { code: '42501', message: /row-level security policy/ }, label)
}

t.test('create', async (t) => {
  const given = await ann.client.from('classification_runs').insert(run(1, ann.id))
  t.strictSame([given.status, given.error], [201, null])
  t.match(await stored(1), { user_id: ann.id, created_at: new Date(Date.UTC(2026, 0, 1, 1)), confidence: '87' })
  refused(t, await ann.client.from('classification_runs').insert(run(2, bob.id)), "another's run")
  t.equal(await stored(2), undefined)
  t.equal((await ann.client.from('classification_runs').insert(run(1, ann.id))).status, 409)
})

t.test('addresses that a page could run are refused', async (t) => {
  const taken = [
    'http://a/1',
    'https://a/1',
    'HTTPS://a/1',
    'file:///a.jpg',
    'content://media/1',
    'ph://A1/L0/001',
    'ni:///sha-256;x',
  ]
  const scripts = [
    ...[
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      'data:text/html,x',
      'DATA:image/svg+xml,x',
      'vbscript:x',
      'VBScript:x',
    ],
    ...[
      ' javascript:x',
      '\tjavascript:x',
      'java\nscript:x',
      'java\tscript:x',
      '\u0001javascript:x',
      '\u00a0javascript:x',
    ],
    ...['blob:https://a/1', 'about:blank', 'filesystem:x', 'view-source:x', 'x:', '//a/1', 'javascript&colon;x'],
    ...['https\n:javascript:x', 'xhttps:x', 'javascript:https://a/1', 'file', 'file/https:'],
  ]
  const places: readonly (readonly [table: string, column: string, path: string])[] = [
    ['classification_runs', 'image_uri', `/classification_runs?id=eq.${uuid(1)}`],
    ['profiles', 'avatar_url', `/profiles?id=eq.${ann.id}`],
  ]
  for (const [table, column, path] of places) {
    for (const uri of taken) {
      // The server's own name of an image.
      if (uri.startsWith('ni:') && column !== 'image_uri') continue
      t.equal((await ann.rest('PATCH', path, { [column]: uri })).status, 200, `${column} ${uri}`)
    }
    for (const uri of scripts) {
      const label = `${column} ${JSON.stringify(uri)}`
      const given = await ann.rest('PATCH', path, { [column]: uri })
      t.equal(given.status, 400, label)
      t.match(given.text, new RegExp(`/${column}`), label)
      // The database is the authority: for functions, views and other ways to write.
      const change = `update public.${table} set ${column} = $1 where id = $2`
      const id = column === 'image_uri' ? uuid(1) : ann.id
      await t.rejects(
        database.query(change, [uri, id]),
        { code: '23514', message: new RegExp(`${table}_${column}_scheme_check`) },
        label,
      )
    }
  }
  await ann.rest('PATCH', `/profiles?id=eq.${ann.id}`, { avatar_url: null })
  const given = await ann.rest('POST', '/classification_runs', run(20, ann.id, { image_uri: 'JavaScript:alert(1)' }))
  t.match(given.text, /must begin with http:, https:, file:, content:, ph: or ni:, not with javascript:/)
})

t.test('an upsert of existing and new runs', async (t) => {
  const table = ann.client.from('classification_runs')
  const history = [run(1, ann.id, { result_label: 'Needs Review' }), run(3, ann.id), run(4, ann.id)]
  for (const round of ['first', 'again']) {
    const given = await table.upsert(history, { onConflict: 'id' })
    t.strictSame([given.status < 300, given.error], [true, null], round)
  }
  t.match(await stored(1), { result_label: 'Needs Review', created_at: new Date(Date.UTC(2026, 0, 1, 1)) })
  t.match(await stored(3), { user_id: ann.id })

  await bob.client.from('classification_runs').insert(run(5, bob.id))
  refused(t, await table.upsert([run(6, ann.id), run(5, ann.id)], { onConflict: 'id' }), "the key of another's run")
  refused(t, await table.upsert([run(6, ann.id), run(3, bob.id)], { onConflict: 'id' }), 'given to another')
  t.strictSame([(await stored(5))?.user_id, (await stored(3))?.user_id], [bob.id, ann.id])
  t.equal(await stored(6), undefined, 'all or none')
  t.equal((await table.upsert(run(5, ann.id), { onConflict: 'id', ignoreDuplicates: true })).error, null)
  t.equal((await stored(5))?.user_id, bob.id)
})

t.test('runs can be listed and deleted', async (t) => {
  const table = () => ann.client.from('classification_runs')
  const listed = await table().select('*').eq('user_id', ann.id).order('created_at', { ascending: false })
  t.strictSame(
    (listed.data as { id: string }[]).map(({ id }) => id),
    [uuid(4), uuid(3), uuid(1)],
  )
  const foreign = await table().select('*').eq('user_id', bob.id)
  t.strictSame(foreign.data, [])
  await table().delete().eq('user_id', bob.id)
  t.ok(await stored(5), 'runs of other users are kept')
  const cleared = await table().delete().eq('user_id', ann.id)
  t.strictSame([cleared.status, cleared.error], [204, null])
  t.equal(await stored(1), undefined)
})

t.test('PATCH and PUT of a whole run: body -> status', async (t) => {
  await ann.rest('POST', '/classification_runs', run(10, ann.id))
  await ann.rest('POST', '/classification_runs', run(11, ann.id))
  await bob.rest('POST', '/classification_runs', run(12, bob.id))
  const own = `/classification_runs/${uuid(10)}`
  const byKey = `/classification_runs?id=eq.${uuid(10)}`
  const changed = run(10, ann.id, { confidence: 55 })
  const rows: readonly (readonly [label: string, method: string, path: string, body: object, status: number])[] = [
    ['nothing changes', 'PATCH', own, run(10, ann.id), 200],
    ['what may change', 'PATCH', own, changed, 200],
    ['by a filter', 'PATCH', byKey, changed, 200],
    ['PUT', 'PUT', byKey, changed, 200],
    ['another time', 'PATCH', own, run(10, ann.id, { confidence: 55, created_at: '2025-05-05T05:05:05Z' }), 200],
    ['given to another', 'PATCH', own, run(10, bob.id), 403],
    ['given to another by PUT', 'PUT', byKey, run(10, bob.id), 403],
    ["the key of another of one's runs", 'PATCH', own, run(11, ann.id), 409],
    ["another's run", 'PATCH', `/classification_runs/${uuid(12)}`, run(12, ann.id), 404],
    ["another's run by PUT", 'PUT', `/classification_runs?id=eq.${uuid(12)}`, run(12, ann.id), 403],
    ['a time of ours', 'PATCH', own, { updated_at: '2025-05-05T05:05:05Z' }, 400],
    ['no time', 'PATCH', own, { created_at: 'yesterday' }, 400],
  ]
  for (const [label, method, path, body, status] of rows) {
    const given = await ann.rest(method, path, body)
    t.equal(given.status, status, `${label}: ${given.text}`)
    if (status === 403) t.match(given.body, { code: '42501', message: /row-level security policy/ }, label)
  }
  t.match(await stored(10), { user_id: ann.id, confidence: '55' })
  t.match(await stored(12), { user_id: bob.id, confidence: '87' })
})

t.test('profiles', async (t) => {
  const table = () => ann.client.from('profiles')
  const first = await table().select('id,full_name,avatar_url').eq('id', ann.id).single()
  t.strictSame(first.data, { id: ann.id, full_name: 'Test', avatar_url: null }, 'created by signing up')
  const profile = { id: ann.id, full_name: 'Ann Lee', avatar_url: 'https://example.org/a.jpg' }
  for (const options of [{}, { onConflict: 'id' }]) {
    const given = await table().upsert(profile, options).select('id,full_name,avatar_url').single()
    t.strictSame([given.error, given.data], [null, profile])
  }
  refused(t, await table().upsert({ ...profile, id: bob.id }), "another's profile")
  refused(t, await table().insert({ ...profile, id: uuid(99) }), 'a profile of nobody')
  refused(
    t,
    await table()
      .update({ id: uuid(99) })
      .eq('id', ann.id),
    'another key',
  )
  t.equal((await table().update({ full_name: 'x' }).eq('id', bob.id).select()).data?.length, 0)
  await table().delete().eq('id', ann.id)
  const again = await table().upsert(profile).select('full_name').single()
  t.strictSame(again.data, { full_name: 'Ann Lee' }, 'created again by an upsert')
})

t.test('the secret key can use a table that a migration adds', async (t) => {
  await database.query(`
    create table public.sightings (
      id bigint generated by default as identity primary key,
      user_id uuid default auth.uid() references public.profiles on delete cascade,
      place text not null
    );
    create sequence public.numbers;
    alter table public.sightings enable row level security;
    create policy owner on public.sightings to authenticated
      using (user_id = (select auth.uid())) with check (user_id = (select auth.uid()));
    grant select, delete, insert (place), update (place) on public.sightings to authenticated`)
  const headers = { apikey: secret, Prefer: 'return=representation' }
  const path = '/rest/v1/sightings'
  const send = async (method: string, query: string, body?: unknown): Promise<number> => {
    // The event trigger makes the server reload the schema; until then the table is unknown.
    for (let attempt = 0; ; attempt++) {
      const { status } = await call(method, path + query, { body, headers })
      if (status !== 404 || attempt === 1000) return status
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  t.equal(await send('POST', '', { place: 'lake' }), 201)
  t.equal(await send('GET', ''), 200)
  t.equal(await send('PATCH', '?place=eq.lake', { place: 'pond' }), 200)
  t.equal(await send('DELETE', '?place=eq.pond'), 200)
  const { rows } = await database.query(
    "select has_sequence_privilege('service_role', 'public.numbers', 'usage') as may",
  )
  t.strictSame(rows, [{ may: true }])
  t.equal((await call('GET', path, { headers: { apikey: publishable } })).status, 401, 'anon has no privileges')
})

t.test('mileages are integers', async (t) => {
  const report = { manufacturer: 'Opel', model: 'Corsa', year: 2001, price: 1, lat: 1, lng: 1 }
  for (const [mileage, status] of [
    [1.5, 400],
    ['1.5', 400],
    [15, 201],
  ] as const) {
    const given = await ann.rest('POST', '/reports', { ...report, mileage })
    t.equal(given.status, status, String(mileage))
    if (status === 400) t.match(given.body, { code: '22P02', message: 'invalid input syntax for type integer: "1.5"' })
  }
  const estimate = 'manufacturer=a&model=b&year=2000&mileage=1.5&lat=1&lng=1'
  const given = await ann.rest('GET', `/rpc/estimate_report?${estimate}`, undefined)
  t.match([given.status, given.body], [400, { code: '22P02', message: 'invalid input syntax for type integer: "1.5"' }])
})
