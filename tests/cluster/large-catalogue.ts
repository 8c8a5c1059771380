// The program on a database with 10,000 tables and 1,000 roles: time from its start until it is ready, memory, and the
// latency of reads while the schema cache is reloaded after changes. Run it with `npm run test:large-catalogue`.
//
// `TABLES` and `ROLES` change the size, `SECONDS` the shortest duration of a window of the measurement (default 5). Fails when
// a bar is missed by far, because other load on the machine counts, too.
import { readFile } from 'node:fs/promises'
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort } from '../support/free-port.ts'
import { nodeOptions } from '../support/node-options.ts'
import { createCatalogue, tableFunction } from './catalogue.ts'
import { startDebianServer } from './debian-server.ts'
import { clientOf } from './load.ts'

const size = { tables: Number(process.env.TABLES ?? 10_000), roles: Number(process.env.ROLES ?? 1000) }
const seconds = Number(process.env.SECONDS ?? 5)
const rounds = 5
const bars = { start: 5000, ratio: 1.5 }
/** How many times a bar may be missed on a busy machine. */
const tolerance = 3
const readsPerSecond = 200
const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

const closings: (() => unknown)[] = []
let failures = 0
const check = (value: number, bar: number, text: string): void => {
  const verdict = value <= bar ? 'ok' : value <= bar * tolerance ? 'missed' : 'NOT OK'
  console.log(`${verdict} - ${text} (at most ${bar})`)
  if (verdict === 'NOT OK') failures++
}

/** Seconds of processor time that a process has used. */
async function processorTime(pid: number): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

const percentile = (values: readonly number[], part: number): number =>
  [...values].sort((a, b) => a - b)[Math.min(Math.floor(values.length * part), values.length - 1)] ?? NaN

/**
 * Latencies of reads, which begin at a fixed rate whether or not earlier ones have ended.
 *
 * @param isEnough whether a number of them is enough
 */
async function readSteadily(
  read: () => Promise<unknown>,
  isEnough: (count: number) => boolean = (count) => count >= seconds * readsPerSecond,
): Promise<number[]> {
  const latencies: number[] = []
  const running: Promise<void>[] = []
  const start = performance.now()
  for (let count = 0; !isEnough(count); count++) {
    const due = start + (count * 1000) / readsPerSecond
    const early = due - performance.now()
    if (early > 0) await pause(early)
    running.push(read().then(() => void latencies.push(performance.now() - due)))
  }
  await Promise.all(running)
  return latencies
}

try {
  const server = await startDebianServer({ max_locks_per_transaction: '1024', shared_buffers: '256MB' })
  closings.unshift(server.stop)
  const owner = await server.pool.connect()
  await owner.query(tableFunction)
  await createCatalogue((text) => owner.query(text), size)
  owner.release()
  console.log(`# ${size.tables} tables of ten columns, ${size.roles} roles`)

  const [port, adminPort] = [await freePort(), await freePort()]
  const started = performance.now()
  const child = spawn(process.execPath, [...nodeOptions, main, 'serve'], {
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: `postgresql://authenticator@127.0.0.1:${server.port}/postgres`,
      PGRST_DB_SCHEMAS: 'api',
      PGRST_DB_ANON_ROLE: 'anon',
      PGRST_JWT_SECRET: 'a secret for tests, of more than 32 characters',
      PGRST_SERVER_PORT: String(port),
      PGRST_ADMIN_SERVER_PORT: String(adminPort),
      PGRST_LOG_LEVEL: 'crit',
      SERVICES: 'rest',
      // A busy machine would be taken for an overload.
      LOAD_SHEDDING_WAIT: '0',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // Counted in the log, because requests for metrics would disturb what is measured.
  let loads = 0
  createInterface(child.stderr).on('line', (line) => {
    console.error(line)
    if (line.includes('"schema-cache-loaded"')) loads++
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  closings.unshift(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const isReady = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${adminPort}/ready`).then(
      ({ status }) => status === 200,
      () => false,
    )
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error('the program has ended')
    await pause(20)
  }
  const pid = child.pid ?? 0
  const start = Math.round(performance.now() - started)
  check(
    start,
    bars.start,
    `ready after ${start} ms, of which ${await processorTime(pid)} s processor time of the program`,
  )
  const memory = async (): Promise<number> =>
    Math.round(Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024)
  console.log(`# ${await memory()} MB of resident memory`)

  const client = clientOf(`http://127.0.0.1:${port}`, 64)
  let next = 0
  const read = async (): Promise<void> => {
    const reply = await client('GET', `/rest/v1/t${1 + (next++ % 50)}?id=eq.1`)
    if (reply.status !== 200) throw new Error(`a read got ${reply.status} ${reply.body}`)
  }
  await readSteadily(read)
  // Every reload finds something that has changed.
  const changes = [
    'alter table api.t100 add column more text',
    `comment on table api.t20 is 'Changed'`,
    'create table api.more (id bigint primary key references api.t50 (id))',
    'alter table api.t100 drop column more',
    `comment on table api.t20 is 'Changed again'`,
    'drop table api.more',
  ]
  let changed = 0
  /** Changes something. @returns milliseconds until it is loaded, and connections are new */
  const reload = async (): Promise<number> => {
    const count = loads
    const begin = performance.now()
    await server.query(changes[changed++ % changes.length] ?? '')
    await server.query('notify pgrst')
    while (loads === count) await pause(20)
    return Math.round(performance.now() - begin)
  }
  const quiet: number[][] = []
  const reloading: number[][] = []
  const reloadTimes: number[] = []
  // Windows alternate, so that other load on the machine affects both. They are of the same length, because the p99 of a short
  // one is usually lower: it meets no burst of other load.
  for (let round = 0; round < rounds; round++) {
    let isOver = false
    const reloads = (async () => {
      const end = performance.now() + seconds * 1000
      do reloadTimes.push(await reload())
      while (performance.now() < end)
      // The first statements on new connections, too.
      await pause(1000)
      isOver = true
    })()
    const busy = await readSteadily(read, () => isOver)
    await reloads
    reloading.push(busy)
    quiet.push(await readSteadily(read, (count) => count >= busy.length))
  }
  /** The median of a percentile of all windows. */
  const typical = (windows: readonly number[][], part: number): number =>
    percentile(
      windows.map((latencies) => percentile(latencies, part)),
      0.5,
    )
  const [still, busy] = [typical(quiet, 0.99), typical(reloading, 0.99)]
  const figures = [quiet, reloading].map((windows) => {
    const [p50, p99, maximum] = [typical(windows, 0.5), typical(windows, 0.99), percentile(windows.flat(), 1)]
    return `p50 ${p50.toFixed(1)}, p99 ${p99.toFixed(1)}, maximum ${maximum.toFixed(1)} ms`
  })
  console.log(`# ${readsPerSecond} reads/s: ${figures[0]}; during ${reloadTimes.length} reloads: ${figures[1]}`)
  check(
    Number((busy / still).toFixed(2)),
    bars.ratio,
    `p99 during reloads is ${(busy / still).toFixed(2)} times that without`,
  )
  // After a second without requests, a reload does not rest.
  await pause(1500)
  const typicalReload = percentile(reloadTimes, 0.5)
  console.log(`# a reload takes ${typicalReload} ms, without requests ${await reload()} ms`)
  console.log(`# ${await memory()} MB of resident memory after the reloads`)
} finally {
  for (const close of closings) await close()
}
console.log(failures === 0 ? 'passed' : `${failures} failed`)
process.exit(failures === 0 ? 0 : 1)
