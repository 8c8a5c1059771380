// Measurements, their summary, and their targets.
import type { WorkloadName } from './workloads.ts'

/** One round of a server with a workload. */
export type Sample = {
  readonly perSecond: number
  /** Milliseconds. */
  readonly p50: number
  readonly p99: number
  /** Processor time that a response cost the server, in microseconds; undefined if the system does not report it. */
  readonly cpuMicroseconds: number | undefined
  /** The same of the database's processes. */
  readonly databaseMicroseconds: number | undefined
  readonly cpuSeconds: number | undefined
  readonly peakBytes: number | undefined
}

export type WorkloadResult = {
  readonly workload: WorkloadName
  /** The reason why it was not measured. */
  readonly refused: string | undefined
  readonly rowhouse: readonly Sample[]
  readonly postgrest: readonly Sample[]
  /** Transactions per second of pgbench. */
  readonly pgbench: readonly number[]
}

/** The middle value; the mean of the two middle ones for an even number of values. Undefined for no values. */
export function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length / 2
  const upper = sorted[Math.floor(half)]
  return Number.isInteger(half) && upper !== undefined ? ((sorted[half - 1] ?? upper) + upper) / 2 : upper
}

const medianOf = (samples: readonly Sample[], of: (sample: Sample) => number | undefined): number | undefined =>
  median(samples.map(of).filter((value) => value !== undefined))

const ratio = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined || other === 0 ? undefined : one / other

export type Summary = {
  readonly [Field in keyof Sample]: number | undefined
}

export const summaryOf = (samples: readonly Sample[]): Summary => ({
  perSecond: medianOf(samples, ({ perSecond }) => perSecond),
  p50: medianOf(samples, ({ p50 }) => p50),
  p99: medianOf(samples, ({ p99 }) => p99),
  cpuMicroseconds: medianOf(samples, ({ cpuMicroseconds }) => cpuMicroseconds),
  databaseMicroseconds: medianOf(samples, ({ databaseMicroseconds }) => databaseMicroseconds),
  cpuSeconds: medianOf(samples, ({ cpuSeconds }) => cpuSeconds),
  peakBytes: samples.reduce<number | undefined>(
    (most, { peakBytes }) => (peakBytes === undefined ? most : Math.max(most ?? 0, peakBytes)),
    undefined,
  ),
})

export type Ratios = {
  readonly perSecond: number | undefined
  readonly p99: number | undefined
  readonly cpu: number | undefined
  readonly database: number | undefined
  readonly ceiling: number | undefined
}

/** This server's medians relative to PostgREST's and to pgbench's. */
export function ratiosOf({ rowhouse, postgrest, pgbench }: WorkloadResult): Ratios {
  const own = summaryOf(rowhouse)
  const other = summaryOf(postgrest)
  return {
    perSecond: ratio(own.perSecond, other.perSecond),
    p99: ratio(own.p99, other.p99),
    cpu: ratio(own.cpuMicroseconds, other.cpuMicroseconds),
    database: ratio(own.databaseMicroseconds, other.databaseMicroseconds),
    ceiling: ratio(own.perSecond, median(pgbench)),
  }
}

/** A target with its measured value; `reached` is undefined if it was not measured. */
export type Verdict = {
  readonly what: string
  readonly bound: 'at least' | 'at most'
  readonly target: number
  readonly value: number | undefined
  readonly unit: '×' | 'MiB' | 's'
  readonly reached: boolean | undefined
}

const targets: Readonly<Partial<Record<WorkloadName, readonly [perSecond: number, p99: number]>>> = {
  'one-row': [7.5, 0.7],
  'newest-20': [6.5, 0.7],
  'rpc-scalar': [7, 0.7],
  'update-one': [2.6, 0.7],
  'insert-minimal': [2.4, 0.7],
  'insert-full': [2.4, 0.7],
  'embed-50': [5.5, 1],
  'filter-100': [4.5, 1],
  'upsert-100': [2.5, 1],
  'count-exact': [7, 1],
  'rows-1000': [2.2, 1],
  'bulk-insert-1000': [1.2, 1],
  'not-found': [1, 1],
  'bad-filter': [1, 1],
  'expired-token': [1, 1],
}

type Wanted = Omit<Verdict, 'reached'>

const judged = (wanted: Wanted): Verdict => {
  const { value, bound, target } = wanted
  const reached = value === undefined ? undefined : bound === 'at least' ? value >= target : value <= target
  return { ...wanted, reached }
}

/** The targets of one workload. */
export function verdictsOf(result: WorkloadResult): Verdict[] {
  const { workload } = result
  const ratios = ratiosOf(result)
  const verdicts: Verdict[] = []
  const [perSecond, p99] = targets[workload] ?? []
  if (perSecond !== undefined && p99 !== undefined) {
    const what = `${workload}: `
    verdicts.push(
      judged({ what: `${what}requests/s`, bound: 'at least', target: perSecond, value: ratios.perSecond, unit: '×' }),
      judged({ what: `${what}p99`, bound: 'at most', target: p99, value: ratios.p99, unit: '×' }),
    )
  }
  if (workload === 'newest-20') {
    verdicts.push(
      judged({
        what: 'newest-20: CPU of the database',
        bound: 'at most',
        target: 0.45,
        value: ratios.database,
        unit: '×',
      }),
    )
  }
  if (workload === 'one-row') {
    verdicts.push(
      judged({ what: 'one-row: of pgbench', bound: 'at least', target: 0.4, value: ratios.ceiling, unit: '×' }),
      judged({ what: 'one-row: CPU per request', bound: 'at most', target: 0.6, value: ratios.cpu, unit: '×' }),
    )
  }
  return verdicts
}

/** The targets of the process as a whole. */
export function overallVerdicts(results: readonly WorkloadResult[], startSeconds: number | undefined): Verdict[] {
  const peak = summaryOf(results.flatMap(({ rowhouse }) => rowhouse)).peakBytes
  const value = peak === undefined ? undefined : peak / 2 ** 20
  return [
    judged({ what: 'peak memory', bound: 'at most', target: 110, value, unit: 'MiB' }),
    judged({ what: 'start to ready, 100 tables', bound: 'at most', target: 1, value: startSeconds, unit: 's' }),
  ]
}
