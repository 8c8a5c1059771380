// The rounds: both servers and pgbench in turn, workload by workload.
import { join } from 'node:path'
import { cleanUp, databaseName, type Dataset } from './dataset.ts'
import { differenceOf, faultOf } from './agreement.ts'
import { addressFor, measure, type Exercise } from './measurement.ts'
import type { LoadGenerator } from './load.ts'
import type { Options } from './options.ts'
import { clientCount, pgbenchScript, playPgbench } from './pgbench.ts'
import type { Postgres } from './postgres.ts'
import { profiled, readProfile, selfTimes } from './profile.ts'
import { send, type BenchRequest } from './request.ts'
import type { Sample, WorkloadResult } from './results.ts'
import type { Server } from './servers.ts'
import { statementsOn, type StatementsOf } from './statements.ts'
import type { Workload } from './workloads.ts'

export type Contestants = {
  readonly rowhouse: Server
  readonly postgrest: Server | undefined
  /** This program. */
  readonly pgbench: string | undefined
}

export type Comparison = {
  readonly contestants: Contestants
  readonly postgres: Postgres
  readonly dataset: Dataset
  readonly generator: LoadGenerator
  readonly options: Options
  readonly print: (line: string) => void
}

/** Runs every workload in turn. A workload with unexpected responses is refused, with the reason. */
export async function compare(workloads: readonly Workload[], comparison: Comparison): Promise<WorkloadResult[]> {
  const { contestants, postgres } = comparison
  const statementsOf =
    contestants.pgbench === undefined ? undefined : await statementsOn(postgres.authenticatorUri(databaseName))
  const results: WorkloadResult[] = []
  for (const workload of workloads) results.push(await runWorkload(workload, comparison, statementsOf))
  return results
}

async function runWorkload(
  workload: Workload,
  { contestants: { rowhouse, postgrest, pgbench }, postgres, dataset, generator, options, print }: Comparison,
  statementsOf: StatementsOf | undefined,
): Promise<WorkloadResult> {
  const requests = workload.requests(dataset)
  const { connections } = options
  const exercise: Exercise = { generator, workload, requests, connections, database: postgres.pid }
  const rival = workload.mount === 'rest' ? postgrest : undefined
  const admin = postgres.adminUri(databaseName)
  const samples = { rowhouse: [] as Sample[], postgrest: [] as Sample[], pgbench: [] as number[] }
  const result = (refused?: string): WorkloadResult => ({ workload: workload.name, refused, ...samples })
  const tidy = async (): Promise<void> => {
    if (workload.writes) await cleanUp(admin)
  }
  try {
    const fault = await disagreement(workload, requests, rowhouse, rival)
    if (fault !== undefined) throw new Error(fault)
    const script =
      statementsOf && workload.ceiling ? pgbenchScript(requests.slice(0, clientCount).map(statementsOf)) : undefined
    await measure(rowhouse, exercise, options.warmUpSeconds)
    await tidy()
    if (rival) {
      // In a short run, warming up only prepares the statements on every connection: the code is already compiled.
      if (options.quick) await Promise.all(requests.slice(0, 100).map((it) => send(it, addressFor(rival, workload))))
      else await measure(rival, exercise, options.warmUpSeconds)
      await tidy()
    }
    for (let round = 0; round < options.rounds; round++) {
      const run = () => measure(rowhouse, exercise, options.seconds)
      const file = options.profile === undefined ? undefined : join(options.profile, `${workload.name}.cpuprofile`)
      const profile = round === 0 && file !== undefined
      samples.rowhouse.push(profile ? await profiled(rowhouse, file, run) : await run())
      if (profile) await printProfile(workload, file, print)
      await tidy()
      if (rival) {
        samples.postgrest.push(await measure(rival, exercise, options.seconds))
        await tidy()
      }
      if (script !== undefined && pgbench !== undefined) {
        const uri = postgres.authenticatorUri(databaseName)
        samples.pgbench.push(await playPgbench(pgbench, uri, script, options.seconds))
        await tidy()
      }
      print(`${workload.name} ${round + 1}/${options.rounds}: ${roundInWords(samples)}`)
    }
    return result()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    print(`${workload.name} refused: ${reason}`)
    await tidy()
    return result(reason)
  }
}

function roundInWords(samples: { rowhouse: Sample[]; postgrest: Sample[]; pgbench: number[] }): string {
  const figures = [samples.rowhouse.at(-1)?.perSecond, samples.postgrest.at(-1)?.perSecond, samples.pgbench.at(-1)]
  return figures.map((value) => (value === undefined ? '–' : Math.round(value))).join(' / ')
}

/** Sends the first few requests to each server, and describes what is wrong with the responses. */
async function disagreement(
  workload: Workload,
  requests: readonly BenchRequest[],
  rowhouse: Server,
  rival: Server | undefined,
): Promise<string | undefined> {
  for (const request of requests.slice(0, 3)) {
    const own = await send(request, addressFor(rowhouse, workload))
    const fault = faultOf(own, workload)
    if (fault !== undefined) return `${rowhouse.name} ${fault}`
    if (!rival) continue
    const other = await send(request, addressFor(rival, workload))
    const otherFault = faultOf(other, workload)
    if (otherFault !== undefined) return `${rival.name} ${otherFault}`
    const difference = differenceOf(own, other, workload)
    if (difference !== undefined) return `the answers differ: ${difference}`
  }
  return undefined
}

async function printProfile({ name }: Workload, file: string, print: (line: string) => void): Promise<void> {
  print(`\n${name}: where the time goes (${file})`)
  const most = selfTimes(await readProfile(file)).slice(0, 40)
  for (const { where, share } of most) print(`${(share * 100).toFixed(1).padStart(6)} %  ${where}`)
  print('')
}
