// Large bodies of several callers at once, in memory that is used again, while clients hang up, read slowly and sessions of
// the database are terminated: whatever arrives belongs to its caller, byte for byte.
import { request as httpRequest } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { fetchHandler } from '../../server/adapters/fetch.ts'
import { nodeHandler } from '../../server/adapters/node.ts'
import { createRest } from '../../server/index.ts'
import { connect } from '../../server/postgres/index.ts'
import { buffers } from '../../server/postgres/protocol/buffer-pool.ts'
import { createDatabase } from '../support/database.ts'
import { listen } from '../support/listening.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { trustAllStatements } from '../support/sharing.ts'
import { until } from '../support/until.ts'

trustAllStatements()
const fixture = await createDatabase()
t.teardown(() => fixture.drop())
await fixture.query(`
  create function public.fill(mark text, size int) returns json stable language sql as
    $$ select ('{"v":' || to_json(repeat(mark, size)) || '}')::json $$;
  create function public.echo(json) returns json stable language sql as $$ select $1 $$;
  create function public.kept(json) returns json volatile language sql as $$ select $1 $$`)
const database = connect(fixture.adminUri, { dbPool: 4, dbPoolAcquisitionTimeout: 100, dbPoolSpillMemory: 256 * 1024 })
const rest = await createRest({
  database,
  schemas: ['public'],
  identify: () => ({ role: 'postgres', claims: {} }),
  onSchema: () => undefined,
})
t.teardown(async () => {
  await rest.close()
  await database.close()
})
const url = await listen(t, nodeHandler(rest, { onError: () => undefined }))
const handle = fetchHandler(rest)

const seed = testSeed()
const random = seededRandom(seed)

type Outcome = { readonly status: number; readonly body: Buffer; readonly isWhole: boolean }
type Manner = { readonly hangsUpAfter: number; readonly isSlow: boolean }
type Sent = { readonly method: string; readonly path: string; readonly body: string | undefined }

/** Over a socket that the client may destroy, in the middle of its body as well. */
const overSocket = ({ method, path, body }: Sent, { hangsUpAfter, isSlow }: Manner): Promise<Outcome> =>
  new Promise((resolve) => {
    const chunks: Buffer[] = []
    let received = 0
    let status = 0
    const sent = httpRequest(url + path, { method, agent: false, headers: { 'Content-Type': 'application/json' } })
    const end = (isWhole: boolean): void =>
      resolve({ status, body: Buffer.concat(chunks), isWhole: isWhole && received <= hangsUpAfter })
    // Without a response.
    sent.on('error', () => end(false)).on('close', () => status === 0 && end(false))
    sent.on('response', (response) => {
      status = response.statusCode ?? 0
      response.on('error', () => end(false)).on('close', () => end(response.complete && response.readableEnded))
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        received += chunk.length
        if (received > hangsUpAfter) sent.destroy()
        else if (isSlow) {
          response.pause()
          setTimeout(() => response.resume(), 2)
        }
      })
    })
    if (body !== undefined && hangsUpAfter < 1000) {
      sent.write(body.slice(0, body.length / 2))
      setTimeout(() => sent.destroy(), 1)
    } else sent.end(body)
  })

async function overFetch({ method, path, body }: Sent, { hangsUpAfter, isSlow }: Manner): Promise<Outcome> {
  const abort = new AbortController()
  const chunks: Buffer[] = []
  let status = 0
  try {
    const headers = { 'Content-Type': 'application/json' }
    const { signal } = abort
    const init = body === undefined ? { method, headers, signal } : { method, headers, signal, body }
    const response = await handle(new Request(`http://localhost${path}`, init))
    status = response.status
    let received = 0
    const reader = response.body?.getReader()
    for (;;) {
      const chunk = await reader?.read()
      if (chunk?.done !== false) break
      const bytes = Buffer.from(chunk.value as Uint8Array)
      chunks.push(bytes)
      received += bytes.length
      if (received > hangsUpAfter) {
        if (random.chance(0.5)) abort.abort()
        else await reader?.cancel()
      }
      if (isSlow) await pause(1)
    }
    return { status, body: Buffer.concat(chunks), isWhole: received <= hangsUpAfter }
  } catch {
    return { status, body: Buffer.concat(chunks), isWhole: false }
  }
}

/** One request of a caller; what is wrong with its outcome, if anything. */
async function ask(mark: string, mayFail: boolean): Promise<string | undefined> {
  const size = [100, 9000, 70_000, 300_000, 1_500_000][random.below(5)] ?? 0
  const whole = JSON.stringify({ v: mark.repeat(size) })
  const name = random.pick(['fill', 'echo', 'kept'])
  const sent: Sent =
    name === 'fill'
      ? { method: 'GET', path: `/rpc/fill?mark=${mark}&size=${size}`, body: undefined }
      : { method: 'POST', path: `/rpc/${name}`, body: whole }
  const manner = {
    hangsUpAfter: mayFail && random.chance(0.4) ? random.below(size + 500) : Infinity,
    isSlow: random.chance(0.3),
  }
  const { status, body, isWhole } = await (random.chance(0.5) ? overSocket : overFetch)(sent, manner)
  if (status === 200) {
    if (!Buffer.from(whole).subarray(0, body.length).equals(body)) return `${name}: bytes of another caller`
    if (isWhole && body.length !== whole.length) return `${name}: ${body.length} of ${whole.length} bytes`
    return mayFail || isWhole ? undefined : `${name}: cut`
  }
  return mayFail && (status === 0 || status >= 500) ? undefined : `${name}: ${status} ${body.toString().slice(0, 200)}`
}

const marks = [...'abcdefghij']
const wave = async (each: number, mayFail: boolean): Promise<(string | undefined)[]> => {
  const outcomes = marks.map(async (mark) => {
    const own: (string | undefined)[] = []
    for (let time = 0; time < each; time++) own.push(await ask(mark, mayFail))
    return own
  })
  return (await Promise.all(outcomes)).flat().filter((fault) => fault !== undefined)
}

t.test('without faults', async (t) => {
  t.strictSame(await wave(4, false), [])
  t.ok(buffers.unusedBytes > 0, 'memory was given back')
})

t.test('with faults', async (t) => {
  let isRunning = true
  const running = wave(8, true).finally(() => (isRunning = false))
  const ending = (async () => {
    while (isRunning) {
      await pause(50)
      // It may end a connection of its own pool, whose last statement was this one.
      await fixture
        .query(
          `select pg_terminate_backend(pid) from pg_stat_activity
           where datname = current_database() and pid <> pg_backend_pid() and query ~ 'fill|echo|kept' limit 1`,
        )
        .catch(() => undefined)
    }
  })()
  t.strictSame(await running, [])
  await ending
})

t.test('after the faults', async (t) => {
  t.ok(await until(async () => (await ask('z', false)) === undefined))
  t.strictSame(await wave(4, false), [])
})
