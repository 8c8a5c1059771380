// Measures one server with one workload, for some seconds.
import type { LoadGenerator } from './load.ts'
import { forgetPeak, usageOf } from './process-usage.ts'
import type { BenchRequest } from './request.ts'
import type { Sample } from './results.ts'
import type { Server } from './servers.ts'
import type { Workload } from './workloads.ts'

export type Exercise = {
  readonly generator: LoadGenerator
  readonly workload: Workload
  readonly requests: readonly BenchRequest[]
  readonly connections: number
  /** Process id of the database; undefined if it is not on this machine. */
  readonly database?: number | undefined
}

/** The base URL of a workload's paths. */
export const addressFor = ({ url }: Server, { mount }: Workload): URL => (mount === 'rest' ? url : new URL(url.origin))

/** @throws Error if responses were not as the workload expects, because the result would be meaningless */
export async function measure(server: Server, exercise: Exercise, seconds: number): Promise<Sample> {
  const { generator, workload, requests, connections, database } = exercise
  await forgetPeak(server.pid)
  const before = await usageOf(server.pid)
  const databaseBefore = database === undefined ? undefined : await usageOf(database)
  const played = await generator.play({ url: addressFor(server, workload), requests, connections, seconds })
  const after = await usageOf(server.pid)
  const databaseAfter = database === undefined ? undefined : await usageOf(database)
  const wrong = workload.status >= 400 ? played.requests - played.refused : played.refused
  if (wrong > 0 || played.broken > 0 || played.requests === 0) {
    const { name } = server
    throw new Error(
      `${name}, ${workload.name}: of ${played.requests} answers ${wrong} were not ${workload.status}, ${played.broken} broken`,
    )
  }
  const cpuSeconds = before && after && after.cpuSeconds - before.cpuSeconds
  const databaseSeconds = databaseBefore && databaseAfter && databaseAfter.cpuSeconds - databaseBefore.cpuSeconds
  const microsecondsOf = (seconds: number | undefined): number | undefined =>
    seconds === undefined ? undefined : (seconds / played.requests) * 1_000_000
  return {
    perSecond: played.requests / played.seconds,
    p50: played.p50,
    p99: played.p99,
    cpuMicroseconds: microsecondsOf(cpuSeconds),
    databaseMicroseconds: microsecondsOf(databaseSeconds),
    cpuSeconds,
    peakBytes: after?.peakBytes,
  }
}
