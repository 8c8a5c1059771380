// Compares two builds of this program on the same data, in turn: what a change costs.
import { cleanUp, databaseName, type Dataset } from './dataset.ts'
import { measure, type Exercise } from './measurement.ts'
import type { LoadGenerator } from './load.ts'
import type { Options } from './options.ts'
import type { Postgres } from './postgres.ts'
import { median, type Sample } from './results.ts'
import { alignedTable, figure } from './results-table.ts'
import type { Server } from './servers.ts'
import type { Workload } from './workloads.ts'

export type Builds = { readonly own: Server; readonly other: Server }

export type AgainstResult = {
  readonly workload: string
  /** Of the same round, this build / the other one: medians over the rounds. */
  readonly perSecondRatio: number | undefined
  readonly cpuRatio: number | undefined
  readonly databaseRatio: number | undefined
  readonly own: readonly Sample[]
  readonly other: readonly Sample[]
}

type Against = {
  readonly builds: Builds
  readonly postgres: Postgres
  readonly dataset: Dataset
  readonly generator: LoadGenerator
  readonly options: Options
  readonly print: (line: string) => void
}

/**
 * Plays every workload to both builds. The build that is first alternates, so that a drift of the machine favours
 * neither, and ratios are those of a pair.
 *
 * @throws Error if responses were not as the workload expects
 */
export async function compareBuilds(workloads: readonly Workload[], against: Against): Promise<AgainstResult[]> {
  const results: AgainstResult[] = []
  for (const workload of workloads) results.push(await playBoth(workload, against))
  against.print(table(results))
  return results
}

async function playBoth(workload: Workload, against: Against): Promise<AgainstResult> {
  const { builds, dataset, generator, options, postgres } = against
  const exercise: Exercise = {
    generator,
    workload,
    requests: workload.requests(dataset),
    connections: options.connections,
    database: postgres.pid,
  }
  const samples = { own: [] as Sample[], other: [] as Sample[] }
  for (const server of [builds.own, builds.other]) await measure(server, exercise, options.warmUpSeconds)
  for (let round = 0; round < options.rounds; round++) {
    for (const name of round % 2 === 0 ? (['own', 'other'] as const) : (['other', 'own'] as const)) {
      samples[name].push(await measure(builds[name], exercise, options.seconds))
      if (workload.writes) await cleanUp(postgres.adminUri(databaseName))
    }
  }
  const ratio = (of: (sample: Sample) => number | undefined): number | undefined =>
    median(
      samples.own.flatMap((own, round) => {
        const other = samples.other[round]
        const [mine, theirs] = [of(own), other && of(other)]
        return mine === undefined || theirs === undefined || theirs === 0 ? [] : [mine / theirs]
      }),
    )
  return {
    workload: workload.name,
    perSecondRatio: ratio(({ perSecond }) => perSecond),
    cpuRatio: ratio(({ cpuMicroseconds }) => cpuMicroseconds),
    databaseRatio: ratio(({ databaseMicroseconds }) => databaseMicroseconds),
    ...samples,
  }
}

function table(results: readonly AgainstResult[]): string {
  const middle = (samples: readonly Sample[], of: (sample: Sample) => number | undefined): string =>
    figure(median(samples.flatMap((sample) => of(sample) ?? [])))
  const titles = ['workload', 'req/s', 'other', 'ratio', 'CPU µs/req', 'other', 'ratio', 'DB µs/req', 'other', 'ratio']
  const lines = results.map(({ workload, own, other, perSecondRatio, cpuRatio, databaseRatio }) => [
    workload,
    middle(own, ({ perSecond }) => perSecond),
    middle(other, ({ perSecond }) => perSecond),
    perSecondRatio?.toFixed(3) ?? '–',
    middle(own, ({ cpuMicroseconds }) => cpuMicroseconds),
    middle(other, ({ cpuMicroseconds }) => cpuMicroseconds),
    cpuRatio?.toFixed(3) ?? '–',
    middle(own, ({ databaseMicroseconds }) => databaseMicroseconds),
    middle(other, ({ databaseMicroseconds }) => databaseMicroseconds),
    databaseRatio?.toFixed(3) ?? '–',
  ])
  return alignedTable([titles, ...lines])
}
