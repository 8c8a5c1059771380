// The extensions beyond PostgREST. One file measures one extension; add it to the list.
import type { Dataset } from '../dataset.ts'
import type { Options } from '../options.ts'
import type { Postgres } from '../postgres.ts'
import type { Server } from '../servers.ts'
import { measureImport } from './import.ts'
import { measureBatch } from './batch.ts'
import { measureKeyset } from './keyset.ts'
import { measureExport } from './export.ts'
import { measureConditional } from './conditional.ts'

export type ExtensionContext = {
  /** Starts a server on the data of the benchmark, with additional settings. The benchmark stops it at its end. */
  readonly startWith: (env: Readonly<Record<string, string>>) => Promise<Server>
  readonly postgres: Postgres
  readonly dataset: Dataset
  readonly options: Options
  readonly print: (line: string) => void
}

/** Measures an extension, prints a line with its figure and its goal, and returns the numbers. */
export type MeasureExtension = (context: ExtensionContext) => Promise<Readonly<Record<string, number>>>

const extensions: Readonly<Record<string, MeasureExtension>> = {
  import: measureImport,
  batch: measureBatch,
  keyset: measureKeyset,
  export: measureExport,
  conditional: measureConditional,
}

/** Measures the extensions in turn. `--only NAME` chooses some of them. */
export async function measureExtensions(
  context: ExtensionContext,
): Promise<Readonly<Record<string, Readonly<Record<string, number>>>>> {
  const { only } = context.options
  const results: Record<string, Readonly<Record<string, number>>> = {}
  for (const [name, measure] of Object.entries(extensions)) {
    if (only.length === 0 || only.includes(name)) results[name] = await measure(context)
  }
  return results
}
