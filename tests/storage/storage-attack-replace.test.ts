// Slow uploads: an object that another user puts at their name meanwhile is replaced only if policies permit it.
import { request as httpRequest } from 'node:http'
import { setImmediate as turn } from 'node:timers/promises'
import { readdir } from 'node:fs/promises'
import t from 'tap'
import { startStorageService, storageBearer, storageFaults as faults } from '../support/storage.ts'
import { until } from '../support/until.ts'

const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'] as const
const { ask, url, database, folder } = await startStorageService(t)
await database.query(`
  insert into storage.buckets (id, name) values ('b', 'b');
  create policy "all see" on storage.objects for select to authenticated using (true);
  create policy "all insert" on storage.objects for insert to authenticated with check (owner_id = auth.uid()::text);
  create policy "owners change" on storage.objects for update to authenticated using (owner_id = auth.uid()::text);
  create policy "owners delete" on storage.objects for delete to authenticated using (owner_id = auth.uid()::text)`)

const filesIn = async (path: string): Promise<number> =>
  (await readdir(`${folder}/${path}`, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    .length

type Waiting = { readonly finish: () => Promise<{ readonly status: number; readonly text: string }> }

/** Begins a request whose body arrives when the test says so, and waits until its first bytes are there. */
async function begin(
  method: string,
  path: string,
  body: string,
  as: string,
  headers: Record<string, string>,
): Promise<Waiting> {
  const before = await filesIn('incoming')
  const request = httpRequest(`${url}/storage/v1${path}`, {
    method,
    headers: { Authorization: await storageBearer(as as typeof ann), 'Content-Length': body.length, ...headers },
  })
  const response = new Promise<{ status: number; text: string }>((resolve, reject) => {
    request.on('error', reject).on('response', (message) => {
      let text = ''
      message.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      message.on('end', () => resolve({ status: message.statusCode ?? 0, text }))
    })
  })
  request.write(body.slice(0, 1))
  t.ok(await until(async () => (await filesIn('incoming')) > before))
  return {
    finish: async () => {
      request.end(body.slice(1))
      await turn()
      return response
    },
  }
}

const content = async (name: string): Promise<string> => (await ask('GET', `/object/b/${name}`, { as: ann })).text
const upsert = { 'x-upsert': 'true' }

t.test('an object of another user is not replaced', async (t) => {
  for (const [method, name] of [
    ['POST', 'post'],
    ['PUT', 'put'],
  ] as const) {
    const late = await begin(method, `/object/b/${name}`, "ann's", ann, upsert)
    t.equal((await ask('POST', `/object/b/${name}`, { as: bob, body: "bob's" })).status, 200)
    const { status, text } = await late.finish()
    t.equal(status, 400)
    t.strictSame(JSON.parse(text), faults.rowSecurity)
    t.equal(await content(name), "bob's")
  }
  t.ok(await until(async () => (await filesIn('objects')) === 2), 'the refused bytes are removed')
})

t.test('an object that was deleted, and created by another user, is not replaced', async (t) => {
  await ask('POST', '/object/b/again', { as: ann, body: 'first' })
  const late = await begin('PUT', '/object/b/again', 'second', ann, {})
  t.equal((await ask('DELETE', '/object/b', { as: ann, body: { prefixes: ['again'] } })).status, 200)
  t.equal((await ask('POST', '/object/b/again', { as: bob, body: "bob's" })).status, 200)
  t.strictSame(JSON.parse((await late.finish()).text), faults.rowSecurity)
  t.equal(await content('again'), "bob's")
})

t.test('an object that has another owner now is not replaced', async (t) => {
  await ask('POST', '/object/b/given', { as: ann, body: 'first' })
  const late = await begin('PUT', '/object/b/given', 'second', ann, {})
  await database.query("update storage.objects set owner_id = $1 where name = 'given'", [bob])
  t.strictSame(JSON.parse((await late.finish()).text), faults.rowSecurity)
  t.equal(await content('given'), 'first')
})

t.test("a user's own object is replaced, whenever it was created", async (t) => {
  const late = await begin('PUT', '/object/b/own', 'late', ann, {})
  t.equal((await ask('POST', '/object/b/own', { as: ann, body: 'early' })).status, 200)
  t.equal((await late.finish()).status, 200)
  t.equal(await content('own'), 'late')
  const next = await begin('PUT', '/object/b/own', 'next', ann, {})
  t.equal((await ask('DELETE', '/object/b', { as: ann, body: { prefixes: ['own'] } })).status, 200)
  t.equal((await next.finish()).status, 200)
  t.equal(await content('own'), 'next', 'one that was deleted meanwhile is created again')
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => ask('PUT', '/object/b/many', { as: ann, body: `version ${index}` })),
  )
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]))
  t.match(await content('many'), /^version \d+$/)
})

t.test('resumable uploads do not replace objects of others', async (t) => {
  const base64 = (text: string): string => Buffer.from(text).toString('base64')
  const tus = { ...upsert, 'Tus-Resumable': '1.0.0' }
  const created = async (name: string): Promise<string> => {
    const { headers } = await ask('POST', '/upload/resumable', {
      as: ann,
      headers: {
        ...tus,
        'Upload-Length': '5',
        'Upload-Metadata': `bucketName ${base64('b')},objectName ${base64(name)}`,
      },
    })
    return new URL(headers.get('location') ?? '').pathname.replace('/storage/v1', '')
  }
  const patch = { ...tus, 'Upload-Offset': '0', 'Content-Type': 'application/offset+octet-stream' }
  const refused = await begin('PATCH', await created('tus'), "ann's", ann, patch)
  t.equal((await ask('POST', '/object/b/tus', { as: bob, body: "bob's" })).status, 200)
  t.strictSame(await refused.finish(), { status: 403, text: 'new row violates row-level security policy' })
  t.equal(await content('tus'), "bob's")
  const { rows } = await database.query('select from rowhouse.resumable_uploads where completed_at is not null')
  t.equal(rows.length, 0, 'a refused upload is not complete')

  const path = await created('tus own')
  const own = await begin('PATCH', path, 'later', ann, patch)
  t.equal((await ask('POST', '/object/b/tus%20own', { as: ann, body: 'early' })).status, 200)
  t.equal((await own.finish()).status, 204)
  t.equal(await content('tus%20own'), 'later')
  const named = (await database.query('select from storage.objects')).rowCount
  t.ok(await until(async () => (await filesIn('objects')) === named), 'no other bytes are left')
})
