// Large and slow bodies against the real program: their effect on other requests, and on memory.
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { jwtSecret } from '../support/application.ts'
import { createFixtureDatabase } from '../support/fixture.ts'
import { startPosting } from '../support/posting-process.ts'
import { says, startProgram, type Program } from '../support/program.ts'
import { postHead, rawRequest } from '../support/raw-request.ts'
import { bearer } from '../support/token.ts'

const database = await createFixtureDatabase('writes')
t.teardown(() => database.drop())
await database.query(`
  create table garage.shut (id int, name text, note text);
  create unlogged table garage.heap (id int, name text, note text);
  grant insert on garage.heap to garage_clerk;
`)
const clerk = await bearer('garage_clerk')

async function start(t: Test, env: Readonly<Record<string, string>> = {}): Promise<Program> {
  const program = startProgram(t, {
    PGRST_DB_URI: database.uri('garage_server', 'garage'),
    PGRST_DB_SCHEMAS: 'garage',
    PGRST_DB_ANON_ROLE: 'garage_anon',
    PGRST_JWT_SECRET: jwtSecret,
    PGRST_LOG_LEVEL: 'crit',
    ...env,
  })
  await program.line(says('listening'))
  await timesOf(program, 1000)
  return program
}

/** Milliseconds of reads, one at a time on each of four connections; Infinity for a read that fails. */
async function timesOf({ call }: Program, milliseconds: number): Promise<number[]> {
  const end = performance.now() + milliseconds
  const times: number[] = []
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (performance.now() < end) {
        const start = performance.now()
        const status = await call('GET', '/rest/v1/tags?limit=1').then(
          (answer) => answer.status,
          () => 0,
        )
        times.push(status === 200 ? performance.now() - start : Infinity)
        await sleep(2)
      }
    }),
  )
  return times.sort((a, b) => a - b)
}

const p99 = (times: readonly number[]): number => times[Math.floor(times.length * 0.99)] ?? Infinity
const shown = (times: readonly number[]): string =>
  `${times.length} reads, p50 ${(times[times.length >> 1] ?? NaN).toFixed(1)} ms, p99 ${p99(times).toFixed(1)} ms, longest ${(times.at(-1) ?? NaN).toFixed(1)} ms`

/** Resident memory of the process in MiB. */
async function memoryOf({ pid }: Program): Promise<number> {
  const [, kibibytes] = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1024
}

/** Compares the reads of other clients during an activity with those before and after it. */
async function bystanders(t: Test, program: Program, title: string, attack: () => Promise<() => Promise<unknown>>) {
  const before = await timesOf(program, 5000)
  const stop = await attack()
  const during = await timesOf(program, 8000)
  const outcome = await stop()
  const after = await timesOf(program, 5000)
  t.comment(`${title}: ${JSON.stringify(outcome)}`)
  t.comment(`before: ${shown(before)}`)
  t.comment(`during: ${shown(during)}`)
  t.comment(`after:  ${shown(after)}`)
  t.ok(during.at(-1) !== Infinity, 'no read failed')
  return { quiet: Math.max(p99(before), p99(after)), during: p99(during), outcome }
}

const rows = 100_000 // 7.4 MB

t.test('six concurrent posts of 7.4 MB by a role without privileges', async (t) => {
  const program = await start(t)
  const url = `${program.url()}/rest/v1/shut`
  const { quiet, during, outcome } = await bystanders(t, program, 'refused', () =>
    startPosting({ url, headers: {}, connections: 6, rows }),
  )
  t.strictSame(Object.keys(outcome as object), ['401'], 'all requests are answered')
  // Parsing them would take more than a second.
  t.ok(during <= Math.max(3 * quiet, 150), `p99 ${during.toFixed(1)} ms beside ${quiet.toFixed(1)} ms`)
})

t.test('six concurrent posts of 7.4 MB by a role with privileges', async (t) => {
  const program = await start(t)
  const url = `${program.url()}/rest/v1/heap`
  const { during, outcome } = await bystanders(t, program, 'permitted', () =>
    startPosting({ url, headers: { Authorization: clerk, Prefer: 'return=minimal' }, connections: 6, rows }),
  )
  t.strictSame(Object.keys(outcome as object), ['201'], 'all rows are written')
  const { rows: counted } = await database.query('select count(*) % $1 as rest from garage.heap', [rows])
  t.strictSame(counted, [{ rest: '0' }])
  await database.query('truncate garage.heap')
  // Parsing one body blocks the process; parsing six in a row would take six times as long.
  t.ok(during < 3000, `p99 ${during.toFixed(1)} ms`)
})

t.test('sixty concurrent posts of 7.4 MB with a budget of 32 MiB', async (t) => {
  const program = await start(t, { REST_BODY_BUDGET: '32mb', PGRST_DB_POOL_ACQUISITION_TIMEOUT: '3' })
  const quiet = await memoryOf(program)
  let most = 0
  const watch = setInterval(() => {
    void memoryOf(program).then((memory) => (most = Math.max(most, memory)))
  }, 50)
  const url = `${program.url()}/rest/v1/heap`
  const { outcome } = await bystanders(t, program, 'many', () =>
    startPosting({ url, headers: { Authorization: clerk, Prefer: 'return=minimal' }, connections: 60, rows }),
  )
  clearInterval(watch)
  t.comment(`memory: ${quiet.toFixed(0)} MiB before, ${most.toFixed(0)} MiB at most`)
  t.strictSame(
    Object.keys(outcome as object).filter((status) => status !== '201' && status !== '503'),
    [],
    'written, or refused with 503',
  )
  const { rows: counted } = await database.query('select count(*)::int as count from garage.heap')
  t.equal(
    counted[0]?.count,
    ((outcome as Record<string, number>)['201'] ?? 0) * rows,
    'each written once, and no other rows',
  )
  await database.query('truncate garage.heap')
  // The sixty bodies are 444 MB in total, and several times that once they are parsed.
  t.ok(most < 700, `${most.toFixed(0)} MiB`)
})

t.test('three hundred requests whose bodies never arrive', async (t) => {
  const timeout = 5
  const program = await start(t, { SERVER_REQUEST_TIMEOUT: String(timeout) })
  let began = 0
  const ends: number[] = []
  const kinds = [
    () => 'GET /rest/v1/tags HTTP/1.1\r\nHost: x\r\nX-Half: ',
    () => `${postHead('/rest/v1/notes', 100)}{"message":"`,
    () => `${postHead('/rest/v1/notes', 0, { 'Transfer-Encoding': 'chunked' })}1\r\n{\r\n`,
    () => `${postHead('/rest/v1/shut', 1_000_000)}[`,
    () => `${postHead('/rest/v1/heap', 1_000_000, { Authorization: clerk })}[${' '.repeat(200_000)}`,
  ]
  const { quiet, during } = await bystanders(t, program, 'never arriving', () => {
    began = performance.now()
    const requests = Array.from({ length: 300 }, (_, index) => {
      const request = rawRequest(program.url(), kinds[index % kinds.length]?.() ?? '')
      void request.closed.then(() => ends.push(performance.now() - began))
      return { ...request, drips: index % 2 === 0 && index % kinds.length !== 2 }
    })
    const dripping = setInterval(() => {
      for (const { socket, drips } of requests) if (drips && !socket.destroyed) socket.write(' ')
    }, 500)
    return Promise.resolve(async () => {
      await Promise.all(requests.map(({ closed }) => closed))
      clearInterval(dripping)
      return { longest: `${Math.round(ends.at(-1) ?? NaN)} ms` }
    })
  })
  t.equal(ends.length, 300)
  t.ok(during <= Math.max(3 * quiet, 150), `p99 ${during.toFixed(1)} ms beside ${quiet.toFixed(1)} ms`)
})
