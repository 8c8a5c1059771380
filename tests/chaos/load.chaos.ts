// Slow readers, writes that wait for a lock, and a server without free slots: their effect on other requests.
import { createHash } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createOwnedDatabase } from '../support/authenticator.ts'
import { startBuiltProgram, type BuiltProgram } from '../support/built-program.ts'
import { withClient } from '../support/database.ts'
import { requestSlowly, type SlowRequest } from '../support/slow-request.ts'
import { figures, quantile, timeAll } from '../support/timings.ts'

t.setTimeout(600_000)

const mebibyte = 1024 ** 2
const { database, uri, authenticator, anonymous } = await createOwnedDatabase(t)
await database.query(`
  create table public.items (id int primary key, text text not null);
  insert into public.items select i, 'item ' || i from generate_series(1, 1000) i;
  create table public.counters (id int primary key, n int not null);
  insert into public.counters select i, 0 from generate_series(1, 10) i;
  create function public.add_one(counter int) returns int language sql volatile as
    $$ update public.counters set n = n + 1 where id = counter returning n $$;
  create function public.large(bytes int, seed int) returns table (text text) language sql stable as
    $$ select repeat(md5(seed::text), bytes / 32) $$;
  grant select, update on public.items, public.counters to ${anonymous}`)

const start = (t: Test, env: Record<string, string> = {}): Promise<BuiltProgram> =>
  startBuiltProgram(t, { DATABASE_URL: uri, PGRST_DB_ANON_ROLE: anonymous, REST_BASE_PATH: '/', ...env })

const expectedHash = (bytes: number, seed: number): string => {
  const text = createHash('md5')
    .update(String(seed))
    .digest('hex')
    .repeat(bytes / 32)
  return createHash('sha256').update(`[{"text":"${text}"}]`).digest('hex')
}

/** Reads a row; a failed read fails the test. */
async function read(t: Test, url: string, id: number): Promise<void> {
  const response = await fetch(`${url}/items?id=eq.${id}`)
  const text = await response.text()
  if (text !== `[{"id":${id},"text":"item ${id}"}]`) t.fail(`${response.status}: ${text.slice(0, 200)}`)
}

/** Reads rows concurrently until `isOver`. */
async function readMany(t: Test, url: string, isOver: () => boolean): Promise<number[]> {
  const readers = [1, 2, 3, 4].map((reader) =>
    timeAll(isOver, async () => {
      await read(t, url, reader)
      await pause(5)
    }),
  )
  return (await Promise.all(readers)).flat()
}

const after = (milliseconds: number): (() => boolean) => {
  const end = performance.now() + milliseconds
  return () => performance.now() > end
}

t.test('a hundred writes of one locked row do not delay reads', async (t) => {
  const { url } = await start(t)
  await readMany(t, url, after(2000))
  const alone = await readMany(t, url, after(4000))
  const writes = await withClient(database.adminUri, async (client) => {
    await client.query('begin; select from public.counters where id = 1 for update')
    const sent = Array.from({ length: 100 }, () =>
      fetch(`${url}/rpc/add_one`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: '{"counter":1}',
      }).then(({ status }) => status),
    )
    await pause(500)
    const beside = await readMany(t, url, after(4500))
    t.comment(`reads alone: ${figures(alone)}`)
    t.comment(`reads beside 100 writes of a locked row: ${figures(beside)}`)
    // A busy machine causes pauses of its own. Without a reserve, reads would wait for the lock, which is held for 5 s.
    t.ok(quantile(beside, 0.99) < Math.max(quantile(alone, 0.99) * 3, 1500))
    await client.query('commit')
    return Promise.all(sent)
  })
  t.ok(
    writes.every((status) => status === 200),
    'all writes succeed when the row is unlocked',
  )
  const { rows } = await database.query('select n from public.counters where id = 1')
  t.strictSame(rows, [{ n: 100 }], 'each takes effect once')
})

/** Waits for the headers of all responses. */
const begun = (requests: readonly SlowRequest[]) => Promise.allSettled(requests.map(({ response }) => response))

for (const [name, env] of [
  ['memory and files', {}],
  ['files alone', { DB_POOL_SPILL_MEMORY: '0' }],
] as const) {
  t.test(`as many slow readers as connections: ${name}`, async (t) => {
    const { url, memory, unnamedFiles } = await start(t, env)
    await readMany(t, url, after(1000))
    const size = 64 * mebibyte
    const before = await memory()
    const [alone = NaN] = await timeAll(after(10), () =>
      requestSlowly(`${url}/rpc/large?bytes=${size}&seed=0`).finish(),
    )
    const slow = Array.from({ length: 10 }, (_, seed) => requestSlowly(`${url}/rpc/large?bytes=${size}&seed=${seed}`))
    await begun(slow)
    const begin = performance.now()
    await Promise.all([1, 2, 3, 4].map((id) => read(t, url, id)))
    const first = performance.now() - begin
    const later = await readMany(t, url, after(5000))
    const peak = await memory()
    t.comment(
      `an answer takes ${alone.toFixed(0)} ms; first reads after ${first.toFixed(0)} ms; then ${figures(later)}`,
    )
    t.comment(
      `memory ${Math.round(before / mebibyte)} -> ${Math.round(peak / mebibyte)} MiB; files ${await unnamedFiles()}`,
    )
    t.ok(Math.max(first, ...later) < 2000 + 4 * alone, 'others wait until two of the responses have arrived')
    t.ok(peak - before < 300 * mebibyte, 'memory is bounded')
    t.ok((await unnamedFiles()) > 0)
    const results = await Promise.all(slow.slice(0, 5).map(({ finish }) => finish()))
    results.forEach(({ hash }, seed) => t.equal(hash, expectedHash(size, seed), 'the same bytes'))
    for (const { hangUp } of slow.slice(5)) hangUp()
    for (let time = 0; time < 100 && (await unnamedFiles()) > 0; time++) await pause(50)
    t.equal(await unnamedFiles(), 0, 'no temporary file is left')
  })
}

t.test('two hundred slow readers do not delay other requests', async (t) => {
  const env = { DB_POOL_SPILL_DISK: '4gb', PGRST_DB_POOL_ACQUISITION_TIMEOUT: '60' }
  const { url, memory, unnamedFiles } = await start(t, env)
  await readMany(t, url, after(1000))
  const before = await memory()
  const size = 8 * mebibyte
  const slow: SlowRequest[] = []
  let peak = 0
  let isOver = false
  const reads = readMany(t, url, () => isOver)
  // Concurrent requests would measure how fast the database produces such responses.
  while (slow.length < 200) {
    const next = Array.from({ length: 5 }, (_, index) =>
      requestSlowly(`${url}/rpc/large?bytes=${size}&seed=${slow.length + index}`),
    )
    slow.push(...next)
    await begun(next)
    peak = Math.max(peak, await memory())
  }
  isOver = true
  const responses = await Promise.all(slow.map(({ response }) => response))
  t.ok(
    responses.every(({ statusCode }) => statusCode === 200),
    'each response has started',
  )
  t.comment(`reads: ${figures(await reads)}`)
  t.comment(
    `memory ${Math.round(before / mebibyte)} -> ${Math.round(peak / mebibyte)} MiB; files ${await unnamedFiles()}`,
  )
  t.ok(peak - before < 500 * mebibyte)
  const results = await Promise.all(slow.filter((_, seed) => seed % 20 === 0).map(({ finish }) => finish()))
  results.forEach(({ hash }, index) => t.equal(hash, expectedHash(size, index * 20)))
  for (const { hangUp } of slow) hangUp()
  for (let time = 0; time < 100 && (await unnamedFiles()) > 0; time++) await pause(50)
  t.equal(await unnamedFiles(), 0)
})

t.test('without spill space, slow readers are disconnected', async (t) => {
  const { url } = await start(t, { DB_POOL_SPILL_MEMORY: '0', DB_POOL_SPILL_DISK: '0', PGRST_DB_POOL: '3' })
  await readMany(t, url, after(1000))
  const slow = Array.from({ length: 3 }, (_, seed) =>
    requestSlowly(`${url}/rpc/large?bytes=${64 * mebibyte}&seed=${seed}`),
  )
  await begun(slow)
  const times = await readMany(t, url, after(4000))
  const ends = await Promise.allSettled(slow.map(({ finish }) => finish()))
  const givenUp = ends.filter(({ status }) => status === 'rejected').length
  t.comment(`reads: ${figures(times)}; ${givenUp} of 3 given up`)
  t.ok(Math.max(...times) < 8000)
  t.ok(givenUp > 0)
})

t.test('fifty requests on a server with three connection slots', async (t) => {
  await database.query(`alter role ${authenticator} connection limit 3`)
  t.teardown(() => database.query(`alter role ${authenticator} connection limit -1`))
  const { url } = await start(t)
  await Promise.all(Array.from({ length: 50 }, (_, index) => read(t, url, index + 1)))
  t.pass('all fifty have their row')
})
