// Measures this server's memory over many requests of all kinds.
import { cleanUp, databaseName, type Dataset } from './dataset.ts'
import type { LoadGenerator } from './load.ts'
import type { Options } from './options.ts'
import type { Postgres } from './postgres.ts'
import { usageOf } from './process-usage.ts'
import { memoryOf } from './profile.ts'
import { median } from './results.ts'
import type { Server } from './servers.ts'
import { workloads, type WorkloadName } from './workloads.ts'

/** Number of requests of each kind in the mixture. Large ones are rare, because they take most of the time. */
const mixture: Readonly<Partial<Record<WorkloadName, number>>> = {
  'one-row': 800,
  'newest-20': 400,
  'filter-100': 100,
  'rows-1000': 10,
  'embed-50': 100,
  'count-exact': 100,
  'rpc-scalar': 400,
  'insert-minimal': 200,
  'insert-full': 200,
  'bulk-insert-1000': 1,
  'update-one': 400,
  'upsert-100': 10,
  'not-found': 100,
  'bad-filter': 100,
  'expired-token': 100,
}

export type SoakPoint = {
  readonly requests: number
  readonly residentBytes: number
  readonly heapBytes: number
  readonly externalBytes: number
}

/** Growth from the second to the last quarter, as a ratio of medians. The first quarter is the warm-up. */
export function growthOf(values: readonly number[]): number | undefined {
  const quarter = Math.floor(values.length / 4)
  const before = median(values.slice(quarter, 2 * quarter))
  const after = median(values.slice(values.length - quarter))
  return before === undefined || after === undefined ? undefined : after / before
}

export async function soak(
  server: Server,
  postgres: Postgres,
  dataset: Dataset,
  generator: LoadGenerator,
  options: Options,
  print: (line: string) => void,
): Promise<SoakPoint[]> {
  const requests = workloads
    .flatMap(({ name, requests }) => requests(dataset).slice(0, mixture[name] ?? 0))
    .map((request, index) => ({ request, order: Math.imul(index, 2654435761) >>> 0 }))
    .sort((a, b) => a.order - b.order)
    .map(({ request }) => request)
  const points: SoakPoint[] = []
  let done = 0
  print('    requests   RSS MiB  heap MiB  external MiB')
  while (done < options.requests) {
    const { url } = server
    const played = await generator.play({ url, requests, connections: options.connections, seconds: 5 })
    if (played.broken > 0) throw new Error(`${played.broken} requests got no answer`)
    done += played.requests
    const memory = await memoryOf(server)
    const usage = await usageOf(server.pid)
    const point = {
      requests: done,
      residentBytes: usage?.residentBytes ?? memory.rss,
      heapBytes: memory.heapUsed,
      externalBytes: memory.external,
    }
    points.push(point)
    const megabytes = [point.residentBytes, point.heapBytes, point.externalBytes].map((bytes) => bytes / 2 ** 20)
    print(`${String(done).padStart(12)}  ${megabytes.map((value) => value.toFixed(1).padStart(8)).join('  ')}`)
    await cleanUp(postgres.adminUri(databaseName))
  }
  const growth = growthOf(points.map(({ residentBytes }) => residentBytes))
  if (growth !== undefined) {
    print(`RSS of the last quarter is ${growth.toFixed(2)}× that of the second: ${growth < 1.1 ? 'flat' : 'GROWS'}`)
  }
  return points
}
