// Functions and their logs, as the page of functions shows them.
import { relative } from 'node:path'
import { compareText } from '../../text/code-point-order.ts'
import { urlWithoutSecrets } from './hidden-secrets.ts'
import type { FunctionsView } from '../functions/functions-service.ts'
import type { FunctionEntry, FunctionLogs, FunctionReport } from './function-protocol.ts'
import { mostLines, type FunctionsSource } from './functions-source.ts'
import { totalFigures } from './total-figures.ts'

/** Functions that are listed, of which each is compiled. */
const mostFunctions = 200

const noCalls = { answered: 0, failed: 0, refused: 0, aborted: 0 } as const
const nothing: FunctionsView = { folder: null, url: null, functions: [], notes: [] }

/** The functions, with the figures of all processes. Each is compiled first, unless its files are still those of the last time. */
export async function listFunctions(source: FunctionsSource): Promise<FunctionReport> {
  const [view, problem] = await readView(source)
  const figures = await source.figures()
  const known = figures.filter((it) => it !== undefined)
  const { functions: counts, running, workers } = totalFigures(known)
  const figuresOf = (name: string): Pick<FunctionEntry, 'calls' | 'milliseconds'> => {
    const { calls = noCalls, seconds = 0 } = counts.get(name) ?? {}
    const ended = calls.answered + calls.failed + calls.aborted
    return { calls, milliseconds: ended === 0 ? null : (seconds * 1000) / ended }
  }
  const functions: FunctionEntry[] = []
  for (const { name, entrypoint, verifyJwt } of view.functions.slice(0, mostFunctions)) {
    const fault = (await source.check(name)) ?? null
    functions.push({ name, entrypoint: relative(view.folder ?? '', entrypoint), verifyJwt, ...figuresOf(name), fault })
  }
  if (view.url !== null) {
    // Another server may have functions that are not in the folder.
    const listed = new Set(functions.map(({ name }) => name))
    for (const name of [...counts.keys()].slice(0, mostFunctions)) {
      if (!listed.has(name))
        functions.push({ name, entrypoint: null, verifyJwt: true, ...figuresOf(name), fault: null })
    }
  }
  return {
    folder: view.folder,
    url: view.url === null ? null : urlWithoutSecrets(view.url),
    problem,
    notes: view.notes,
    missing: figures.length - known.length,
    workers,
    running,
    functions,
  }
}

/** The functions, or what is wrong with their files. */
async function readView(source: FunctionsSource): Promise<readonly [FunctionsView, string | null]> {
  try {
    return [await source.view(), null]
  } catch (error) {
    if (!(error instanceof Error) || !problemNames.has(error.name)) throw error
    return [nothing, error.message]
  }
}

/** Errors of `view`, whose messages are for the owner of the files. Their classes are loaded with the first call only. */
const problemNames: ReadonlySet<string> = new Set(['FunctionProjectError', 'ProjectError'])

/** The latest lines of a function in all processes. */
export async function logsOf(source: FunctionsSource, name: string): Promise<FunctionLogs> {
  const logs = await source.logs(name)
  const known = logs.filter((it) => it !== undefined)
  const [first = [], ...others] = known
  // Times are texts of the same form. Lines of one process stay in their order.
  const lines = others.length === 0 ? first : known.flat().sort((one, other) => compareText(one.at, other.at))
  return { missing: logs.length - known.length, lines: lines.slice(-mostLines) }
}
