// What becomes of a server under more load than it can serve: requests at 0.5 to 4 times the rate that it sustains, with
// and without load shedding.
import { setTimeout as pause } from 'node:timers/promises'
import { databaseName, userToken, type Dataset } from '../dataset.ts'
import type { LoadGenerator } from '../load.ts'
import type { Options } from '../options.ts'
import { runSql, type Postgres } from '../postgres.ts'
import { rawRequest, type BenchRequest } from '../request.ts'
import type { Server } from '../servers.ts'
import { chosenWorkloads } from '../workloads.ts'
import { percentile, playOpenLoop, type OpenLoopResult } from './open-loop.ts'

type OverloadContext = {
  /** Starts a server with additional settings. */
  readonly startWith: (env: Readonly<Record<string, string>>) => Promise<Server>
  readonly postgres: Postgres
  readonly dataset: Dataset
  readonly generator: LoadGenerator
  readonly options: Options
  readonly print: (line: string) => void
}

/** One point of the curve. Rates are per second, times in milliseconds. */
export type OverloadPoint = {
  readonly load: number
  readonly offered: number
  readonly goodput: number
  readonly shed: number
  /** Requests with another status, or without a response. */
  readonly failed: number
  readonly p50: number
  readonly p99: number
  readonly shedP99: number
}

type Play = (rate: number, seconds: number) => Promise<OpenLoopResult>

type Curve = { readonly sustained: number; readonly points: readonly OverloadPoint[] }

/** Multiples of the sustained rate. */
const loads = [0.5, 1, 1.5, 2, 4]
/** Goals at twice the sustained rate: goodput as a share of the best, and milliseconds. */
const goals = { goodput: 0.8, p99: 1000 }
/** Connections of the generator: enough that requests do not wait in it for a response to earlier ones. */
const connections = 4000
/**
 * How the sustained rate is found: rates that grow from a share of what a closed loop reaches, each for some seconds, until one is
 * not sustained: a share of its requests is answered later than within `p99` milliseconds, or after the time. Something else on the
 * machine may be the cause, so that is tried again.
 */
const search = { from: 0.3, growth: 1.2, seconds: 2, share: 0.97, p99: 100, tries: 3 }
/** Milliseconds between two loads, in which the server finishes. */
const rest = 1000

/** A function that waits for 20 ms, so that the pool is what limits the rate. */
const slowFunction = `create or replace function public.bench_wait() returns integer language plpgsql stable
  as $$ begin perform pg_sleep(0.02); return 1; end $$;
  grant execute on function public.bench_wait to anon, authenticated;`

const slowRead: BenchRequest = {
  method: 'GET',
  path: '/rpc/bench_wait',
  headers: { Authorization: `Bearer ${userToken(1)}`, Accept: 'application/json' },
  body: undefined,
}

/** Reads that are measured without `--only`, from the shortest to a longer one: the processors limit them. */
const reads = ['one-row', 'newest-20', 'embed-50']

/** Prints a curve for each read, and one for a slow function, which the pool limits. */
export async function measureOverload(context: OverloadContext): Promise<Readonly<Record<string, Curve>>> {
  const { startWith, postgres, dataset, generator, options, print } = context
  await runSql(postgres.adminUri(databaseName), slowFunction)
  const workloads: Readonly<Record<string, readonly BenchRequest[]>> = {
    ...Object.fromEntries(chosenWorkloads(reads).map(({ name, requests }) => [name, requests(dataset)])),
    'slow-function': [slowRead],
  }
  const curves: Record<string, Curve> = {}
  for (const [name, requests] of Object.entries(workloads)) {
    if (options.only.length > 0 && !options.only.includes(name)) continue
    let rate = 0
    for (const shedding of ['0', '250']) {
      const server = await startWith({ LOAD_SHEDDING_WAIT: shedding })
      const bytes = requests.map((request) => Buffer.from(rawRequest(request, server.url)))
      const play: Play = (wanted, duration) =>
        playOpenLoop({
          ...{ host: server.url.hostname, port: Number(server.url.port) },
          ...{ requests: bytes, rate: wanted, seconds: duration, connections },
        })
      // Both servers are measured warm.
      const { requests: done, seconds } = await generator.play({
        url: server.url,
        requests,
        seconds: 3,
        connections: 64,
      })
      if (rate === 0) rate = await sustainedRate(play, done / seconds)
      print(`${name}, load shedding ${shedding === '0' ? 'off' : 'on'}; sustained: ${rate.toFixed(0)}/s`)
      print(header)
      const points: OverloadPoint[] = []
      for (const load of loads) {
        await pause(rest)
        const point = pointOf(load, await play(rate * load, options.seconds), options.seconds)
        points.push(point)
        print(line(point))
      }
      curves[`${name}, shedding ${shedding === '0' ? 'off' : 'on'}`] = { sustained: rate, points }
      print(verdict(points))
      await server.stop()
    }
  }
  return curves
}

/** The highest rate that is sustained: see `search`. Without load shedding, which would hide that one is not. */
async function sustainedRate(play: Play, closedLoop: number): Promise<number> {
  let sustained = 0
  let rate = closedLoop * search.from
  let failures = 0
  while (failures < search.tries) {
    const { inTime, latencies } = await play(rate, search.seconds)
    await pause(rest)
    if (inTime < rate * search.seconds * search.share || percentile(latencies, 0.99) > search.p99) failures++
    else {
      sustained = rate
      failures = 0
      rate *= search.growth
    }
  }
  if (sustained === 0) throw new Error('The server does not sustain any rate that was tried')
  return sustained
}

function pointOf(load: number, result: OpenLoopResult, seconds: number): OverloadPoint {
  const { offered, statuses, latencies, shedLatencies } = result
  // Other responses with 503 say that the database cannot be reached.
  const shed = (statuses.get(503) ?? 0) - result.withoutRetryAfter
  return {
    load,
    offered: offered / seconds,
    goodput: result.inTime / seconds,
    shed: shed / seconds,
    failed: (offered - shed - latencies.length) / seconds,
    p50: percentile(latencies, 0.5),
    p99: percentile(latencies, 0.99),
    shedP99: percentile(shedLatencies, 0.99),
  }
}

const columns = ['load', 'offered/s', 'goodput/s', 'shed/s', 'failed/s', 'p50 ms', 'p99 ms', 'p99 of 503']
const header = columns.map((name) => name.padStart(10)).join(' ')

const line = ({ load, offered, goodput, shed, failed, p50, p99, shedP99 }: OverloadPoint): string =>
  [`${load}x`, ...[offered, goodput, shed, failed, p50, p99, shedP99].map((number) => number.toFixed(0))]
    .map((text) => text.padStart(10))
    .join(' ')

function verdict(points: readonly OverloadPoint[]): string {
  const best = Math.max(...points.map(({ goodput }) => goodput))
  const twice = points.find(({ load }) => load === 2)
  if (!twice) return ''
  return (
    `at 2x: goodput ${((100 * twice.goodput) / best).toFixed(0)} % of the best (goal: ${100 * goals.goodput} %), ` +
    `p99 ${twice.p99.toFixed(0)} ms (goal: ${goals.p99} ms)`
  )
}
