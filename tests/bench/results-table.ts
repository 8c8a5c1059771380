// Formats results as text.
import { median, ratiosOf, summaryOf, verdictsOf, type Verdict, type WorkloadResult } from './results.ts'

/** Formats a number with three significant digits: 12300, 123, 12.3, 1.23, 0.12. */
export function figure(value: number | undefined): string {
  if (value === undefined) return '–'
  if (value >= 100) return String(Math.round(value))
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

const times = (value: number | undefined): string => (value === undefined ? '–' : `${value.toFixed(2)}×`)
const mebibytes = (bytes: number | undefined): string => figure(bytes === undefined ? undefined : bytes / 2 ** 20)
const pair = (one: string, other: string): string => (other === '–' ? one : `${one} / ${other}`)

/** A table with columns as wide as necessary: the first one left-aligned, the others right-aligned. */
export function alignedTable(rows: readonly (readonly string[])[]): string {
  const widths: number[] = []
  for (const row of rows) row.forEach((cell, index) => (widths[index] = Math.max(widths[index] ?? 0, cell.length)))
  return rows
    .map((row) =>
      row
        .map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

const titles = [
  'workload',
  'req/s',
  'PostgREST',
  'ratio',
  'p50 ms',
  'p99 ms',
  'p99 ratio',
  'CPU µs/req',
  'DB µs/req',
  'CPU s',
]

const mark = (verdicts: readonly Verdict[]): string => {
  const known = verdicts.filter(({ reached }) => reached !== undefined)
  if (known.length === 0) return ''
  return known.every(({ reached }) => reached) ? 'reached' : 'missed'
}

/** One line per workload. Pairs are this server / PostgREST. */
export function resultsTable(results: readonly WorkloadResult[]): string {
  const lines = results.map((result) => {
    const own = summaryOf(result.rowhouse)
    const other = summaryOf(result.postgrest)
    const ratios = ratiosOf(result)
    if (result.refused !== undefined) return [result.workload, 'refused']
    return [
      result.workload,
      figure(own.perSecond),
      figure(other.perSecond),
      times(ratios.perSecond),
      pair(figure(own.p50), figure(other.p50)),
      pair(figure(own.p99), figure(other.p99)),
      times(ratios.p99),
      pair(figure(own.cpuMicroseconds), figure(other.cpuMicroseconds)),
      pair(figure(own.databaseMicroseconds), figure(other.databaseMicroseconds)),
      pair(figure(own.cpuSeconds), figure(other.cpuSeconds)),
      pair(mebibytes(own.peakBytes), mebibytes(other.peakBytes)),
      figure(median(result.pgbench)),
      times(ratios.ceiling),
      mark(verdictsOf(result)),
    ]
  })
  return alignedTable([[...titles, 'peak MiB', 'pgbench', 'of it', 'target'], ...lines])
}

/** One line per target. */
export function verdictsTable(verdicts: readonly Verdict[]): string {
  const lines = verdicts.map(({ what, bound, target, value, unit, reached }) => [
    what,
    value === undefined ? 'not measured' : `${value.toFixed(2)} ${unit}`,
    `${bound} ${target} ${unit}`,
    reached === undefined ? '' : reached ? 'reached' : 'MISSED',
  ])
  return alignedTable([['target', 'measured', 'wanted', ''], ...lines])
}
