// Three processes behind Debian's haproxy and nginx, with the configurations of the README: throughput, and restarts of each
// process under load. Run it with `npm run test:balancer`.
//
// `REQUESTS` is the number of requests during the restarts with each balancer (default 100000), `SECONDS` the duration of each
// measurement (default 10), `BALANCER` the only balancer. `npm run test:balancer -- --quick` takes about a minute.
import { setTimeout as pause } from 'node:timers/promises'
import { usageOf } from '../bench/process-usage.ts'
import { startChecks } from './checks.ts'
import { clientOf, rateOf } from './load.ts'
import { startBalancer, type Balancer, type BalancerName } from './balancers.ts'
import { MixedLoad } from './mixed-load.ts'
import { startServedDatabase, type Seat } from './served-database.ts'

const isQuick = process.argv.includes('--quick')
const requests = Number(process.env.REQUESTS ?? (isQuick ? 5000 : 100_000))
const seconds = Number(process.env.SECONDS ?? (isQuick ? 2 : 10))
const balancers = (['haproxy', 'nginx'] as const).filter((name) => (process.env.BALANCER ?? name) === name)
/** As in the README: longer than the checks of haproxy take. */
const drainTime = 3

const { check, end } = startChecks()

const database = await startServedDatabase({ SERVER_DRAIN_TIME: String(drainTime) })
const { query } = database

/** Reads of a row per second, with the processor time of the database and of the processes, in cores. */
async function measure(label: string, url: string, seats: readonly Seat[]): Promise<void> {
  const pids = [await database.serverPid(), ...seats.map(({ program }) => program.pid)]
  const used = async (): Promise<number[]> =>
    Promise.all(pids.map(async (pid) => (await usageOf(pid))?.cpuSeconds ?? 0))
  const client = clientOf(url, 64)
  let row = 0
  const before = await used()
  const began = performance.now()
  const rate = await rateOf(() => client('GET', `/rest/v1/films?id=eq.${1 + (row++ % 1000)}`), 64, seconds)
  const elapsed = (performance.now() - began) / 1000
  const after = await used()
  const cores = after.map((time, index) => (time - (before[index] ?? 0)) / elapsed)
  const [postgres = 0, ...processes] = cores
  const own = processes.reduce((sum, each) => sum + each, 0)
  console.log(
    `# ${label}: ${Math.round(rate)} reads/s; cores used: PostgreSQL ${postgres.toFixed(2)}, rowhouse ${own.toFixed(2)}`,
  )
}

/** Ends a process, and starts the next one on its port. @returns milliseconds until it had ended */
async function restart(seat: Seat, signal: 'SIGTERM' | 'SIGKILL'): Promise<number> {
  const began = performance.now()
  seat.program.kill(signal)
  await seat.program.ended
  const took = performance.now() - began
  seat.program = (await database.seat(seat.port)).program
  // Until the balancer has seen it.
  await pause(1500)
  return took
}

const counted = (texts: readonly string[]): string => {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  return JSON.stringify(Object.fromEntries([...counts].slice(0, 8)))
}

async function restarts(
  name: BalancerName,
  { url, errors }: Balancer,
  seats: readonly Seat[],
  key: string,
): Promise<void> {
  await query('truncate public.ledger')
  const load = new MixedLoad({ url, clients: 16, allServices: true, key })
  await load.start()
  const began = performance.now()
  let number = 0
  const ending: number[] = []
  while ((load.answered < requests || number < seats.length) && load.failures.length < 100) {
    const seat = seats[number++ % seats.length]
    if (seat) ending.push(await restart(seat, 'SIGTERM'))
    console.log(`# ${name}: ${load.answered} requests, ${load.failures.length} failed, ${number} restarts`)
  }
  const rate = load.answered / ((performance.now() - began) / 1000)
  const failed = [...load.failures]
  // A connection that nginx opens when a process closes its socket can be reset.
  const tolerated = name === 'nginx' ? Math.ceil(number / 5) : 0
  check(
    failed.length <= tolerated,
    `${name}: ${failed.length} of ${load.answered + failed.length} requests failed during ${number} restarts by SIGTERM ` +
      `(${Math.round(rate)} requests/s, longest end ${Math.round(Math.max(...ending))} ms) ${counted(failed)}`,
  )
  for (const [text, times] of await errors()) console.log(`# ${name} logged ${times} times: ${text}`)
  // A killed process loses the requests that it has received. Those with an Idempotency-Key are sent again.
  load.repeatsKeyed = true
  const [before, answered] = [load.failures.length, load.answered]
  for (const seat of seats) await restart(seat, 'SIGKILL')
  await load.stop()
  const killed = load.failures.slice(before)
  const keyed = killed.filter((text) => text.startsWith('insert with a key'))
  console.log(
    `# ${name}: ${killed.length} of ${load.answered - answered + killed.length} requests failed during ${seats.length} restarts by SIGKILL ${counted(killed)}`,
  )
  check(keyed.length === 0, `${name}: none with an Idempotency-Key did in the end; ${load.repeated} were sent again`)
  const { acknowledged, lost, doubled } = await load.verify(query)
  check(
    lost === 0 && doubled === 0,
    `${name}: of ${acknowledged} acknowledged inserts ${lost} are missing, ${doubled} rows are there twice`,
  )
}

try {
  await database.migrate()
  const key = await database.createKey()
  const seats = [await database.seat(), await database.seat(), await database.seat()]
  const [first] = seats as [Seat]
  const ports = seats.map(({ port }) => port)
  await measure('1 process, directly', `http://127.0.0.1:${first.port}`, [first])
  for (const name of balancers) {
    const single = await startBalancer(name, [first.port])
    await measure(`1 process behind ${name}`, single.url, [first])
    await single.stop()
    const balancer = await startBalancer(name, ports)
    await measure(`3 processes behind ${name}`, balancer.url, seats)
    await restarts(name, balancer, seats, key)
    await balancer.stop()
  }
} finally {
  await database.stop()
}
end()
