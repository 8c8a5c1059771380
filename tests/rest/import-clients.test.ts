// Imports by curl, by `importRows` of rowhouse/client, and through the whole service with its log.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@supabase/supabase-js'
import t from 'tap'
import { importRows } from 'rowhouse/client'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { readmeSection, sectionFunction } from '../support/readme-section.ts'
import { signToken } from '../support/token.ts'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.notes (id int primary key, text text not null, owner text not null default (
    current_setting('request.jwt.claims')::json->>'sub'));
  alter table public.notes enable row level security;
  create policy own on public.notes to authenticated
    using (owner = current_setting('request.jwt.claims')::json->>'sub')
    with check (owner = current_setting('request.jwt.claims')::json->>'sub');
  grant select, insert, update on public.notes to authenticated`)
const { url, call, logged } = await startApplication(t, database.authenticatorUri, { REST_BODY_LIMIT: '1kb' })
const token = await signToken({ role: 'authenticated', sub: 'ann' })
const client = createClient(url, token, {
  accessToken: () => Promise.resolve(token),
  realtime: { transport: class {} as never },
})
const count = async () => Number((await database.query('select count(*) as n from public.notes')).rows[0]?.n)
const row = (id: number) => ({ id, text: `note ${id}` })

t.test('curl', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-import-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const lines = Array.from({ length: 200 }, (_, id) => `${JSON.stringify(row(id))}\n`)
  await writeFile(join(folder, 'notes.ndjson'), lines.join(''))
  const env = { PATH: process.env.PATH, URL: url, TOKEN: token }
  const shell = promisify(execFile)
  const { stdout } = await shell('/bin/sh', ['-e', '-c', readmeSection('import-curl')], { cwd: folder, env })
  t.equal(stdout, '')
  t.equal(await count(), 200)
  t.match(logged().find(({ event }) => event === 'import') ?? logged(), {
    event: 'import',
    state: 'done',
    relation: 'public.notes',
    rows: 200,
    msg: /^Imported into public\.notes: 200 rows, 0\.0 MiB, \d+ rows\/s$/,
  })
})

t.test('importRows', async (t) => {
  await database.query('truncate public.notes')
  const example = await sectionFunction<[typeof client, typeof importRows, readonly object[]]>(
    'import',
    ['client', 'importRows', 'rows'],
    ['error'],
  )
  t.match(await example(client, importRows, [row(1), row(2)]), { error: null })
  t.match(await example(client, importRows, [row(2), row(3)]), { error: null }, 'an upsert')
  t.equal(await count(), 3)

  async function* many() {
    for (let id = 10; id < 5000; id++) yield await Promise.resolve(row(id))
  }
  t.strictSame(await importRows(client.from('notes').insert([]), many()), { data: null, error: null, status: 201 })
  t.equal(await count(), 4993)

  const fault = await importRows(client.from('notes').insert([]), [row(6000), row(1)])
  t.match(fault, { data: null, status: 409, error: { code: '23505', row: 2 } })
  const refused = await importRows(client.from('notes').insert([]), [{ ...row(6000), owner: 'bob' }])
  t.match(refused, { status: 403, error: { code: '42501', row: 1 } })
  const closed = createClient('http://127.0.0.1:1', 'a key', { realtime: { transport: class {} as never } })
  t.match(await importRows(closed.from('notes').insert([]), [row(1)]), {
    status: 0,
    error: { message: /fetch failed/ },
  })

  function* broken() {
    yield row(7000)
    throw new Error('a fault of the rows')
  }
  await t.rejects(importRows(client.from('notes').insert([]), broken()), { message: 'a fault of the rows' })
  await t.rejects(importRows(Promise.resolve({ data: null, error: null, status: 200 }), []), TypeError)
  t.equal(await count(), 4993)
})

t.test('an Idempotency-Key is refused, and OpenAPI describes imports', async (t) => {
  const answer = await call('POST', '/rest/v1/notes', {
    body: JSON.stringify(row(8000)),
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/x-ndjson', 'Idempotency-Key': '"a"' },
  })
  t.match(answer, { status: 400, body: { code: 'PGRSTX74' } })
  const document = await call('GET', '/openapi.json', { headers: { Authorization: `Bearer ${token}` } })
  t.match(document.body, {
    paths: { '/rest/v1/notes': { post: { requestBody: { content: { 'application/x-ndjson': {} } } } } },
  })
})
