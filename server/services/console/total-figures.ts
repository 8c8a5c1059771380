// The figures of functions in several processes, added up.
import type { CallOutcome, FunctionCounts } from '../functions/statistics.ts'
import type { FunctionReport } from './function-protocol.ts'

/** The figures of one process. */
export type ProcessFigures = Pick<FunctionReport, 'workers' | 'running'> & {
  /** Counts by the name of the function. */
  readonly functions: readonly (readonly [name: string, counts: FunctionCounts])[]
}

export type TotalFigures = Pick<FunctionReport, 'workers' | 'running'> & {
  readonly functions: ReadonlyMap<string, FunctionCounts>
}

export function totalFigures(processes: readonly ProcessFigures[]): TotalFigures {
  const functions = new Map<string, FunctionCounts>()
  let workers: TotalFigures['workers'] = null
  let running = 0
  for (const process of processes) {
    running += process.running
    workers = sumOf(workers, process.workers)
    for (const [name, { calls, seconds }] of process.functions) {
      const known = functions.get(name)
      functions.set(name, {
        calls: sumOf<Readonly<Record<CallOutcome, number>>>(known?.calls ?? null, calls),
        seconds: (known?.seconds ?? 0) + seconds,
      })
    }
  }
  return { functions, workers, running }
}

/** Adds up numbers of the same names. */
function sumOf<Numbers extends Readonly<Record<string, number>>>(one: Numbers | null, other: Numbers): Numbers
function sumOf<Numbers extends Readonly<Record<string, number>>>(
  one: Numbers | null,
  other: Numbers | null,
): Numbers | null
function sumOf(
  one: Readonly<Record<string, number>> | null,
  other: Readonly<Record<string, number>> | null,
): Readonly<Record<string, number>> | null {
  if (one === null || other === null) return one ?? other
  return Object.fromEntries(Object.entries(one).map(([name, value]) => [name, value + (other[name] ?? 0)]))
}
