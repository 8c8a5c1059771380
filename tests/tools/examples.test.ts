// The examples of the guide "As a library", each in its server.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import type { Server } from 'node:http'
import t, { type Test } from 'tap'
import { createDatabase } from '../support/database.ts'
import { guideText } from '../support/readme-section.ts'

const database = await createDatabase()
t.teardown(() => database.drop())
await database.query(`
  do $$ begin create role example_reader nologin; exception when duplicate_object then null; end $$;
  create schema example;
  create table example.items (id int primary key, name text);
  insert into example.items values (1, 'Häuser'), (2, 'rows');
  grant usage on schema example to example_reader;
  grant select, insert on example.items to example_reader`)
t.teardown(() => database.query('drop owned by example_reader'))
process.env.EXAMPLE_DATABASE_URL = database.adminUri

type Ask = (path: string, init?: RequestInit) => Promise<Response>

async function askServer(server: Server): Promise<Ask> {
  if (!server.listening) await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return (path, init) => fetch(`http://127.0.0.1:${port}${path}`, init)
}

async function reads(t: Test, ask: Ask): Promise<void> {
  const found = await ask('/rest/items?id=eq.1&select=name')
  t.equal(found.status, 200)
  t.equal(found.headers.get('content-range'), '0-0/*')
  t.strictSame(await found.json(), [{ name: 'Häuser' }])
}

async function writes(t: Test, ask: Ask, id: number): Promise<void> {
  const created = await ask('/rest/items', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Prefer: 'return=headers-only' },
    body: JSON.stringify({ id, name: 'new' }),
  })
  t.equal(created.status, 201)
  t.equal(created.headers.get('location'), `/rest/items?id=eq.${id}`)
  const missing = await ask('/rest/nothing')
  t.equal(missing.status, 404)
  t.match(await missing.json(), { code: 'PGRST205' })
}

t.test('node:http', async (t) => {
  const { server, close } = await import('../examples/http.ts')
  t.teardown(close)
  const ask = await askServer(server)
  await reads(t, ask)
  await writes(t, ask, 11)
  t.equal((await ask('/other')).status, 404, 'a path that is not below the mount path')
})

t.test('Express', async (t) => {
  const { server, close } = await import('../examples/express.ts')
  t.teardown(close)
  const ask = await askServer(server)
  await reads(t, ask)
  await writes(t, ask, 12)
  t.equal(await (await ask('/hello')).text(), 'hello', 'the other routes of the application')
})

t.test('Fastify', async (t) => {
  const { server, close } = await import('../examples/fastify.ts')
  t.teardown(close)
  const ask = await askServer(server)
  await reads(t, ask)
  await writes(t, ask, 13)
  t.equal(await (await ask('/hello')).text(), 'hello', 'the other routes of the application')
})

t.test('Hono', async (t) => {
  const { app, close } = await import('../examples/hono.ts')
  t.teardown(close)
  const ask: Ask = async (path, init) => app.request(path, init)
  await reads(t, ask)
  await writes(t, ask, 14)
  t.equal(await (await ask('/hello')).text(), 'hello', 'the other routes of the application')
})

t.test('the guide contains the lines of the examples', async (t) => {
  const section = guideText('server/adapters/README.md')
  const shown = [...section.matchAll(/```ts\n([^]*?)```/g)].flatMap(([, code = '']) => code.trimEnd().split('\n'))
  const texts = await Promise.all(
    ['http', 'express', 'fastify', 'hono'].map((name) =>
      readFile(new URL(`../examples/${name}.ts`, import.meta.url), 'utf8'),
    ),
  )
  const written = new Set(texts.flatMap((text) => text.split('\n')).map((line) => line.replace(/^export /, '').trim()))
  t.ok(shown.length > 20, `${shown.length} lines`)
  for (const line of shown) {
    const code = line
      .trim()
      .replace("connect('postgresql://authenticator@localhost/app')", "connect(process.env.EXAMPLE_DATABASE_URL ?? '')")
    if (code !== '' && !code.startsWith('//')) t.ok(written.has(code), code)
  }
})
