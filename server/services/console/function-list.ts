// Functions and their logs, as the page of functions shows them.
import { relative } from 'node:path'
import { urlWithoutSecrets } from './hidden-secrets.ts'
import type { FunctionsService, FunctionsView } from '../functions/functions-service.ts'
import type { FunctionEntry, FunctionLogs, FunctionReport } from './function-protocol.ts'

/** What the console asks of the service. */
export type FunctionsSource = Pick<FunctionsService, 'view' | 'figures' | 'check' | 'logs'>

/** Functions that are listed, of which each is compiled. */
const mostFunctions = 200
const mostLines = 500
/** Characters of a message. */
const longest = 4000

const noCalls = { answered: 0, failed: 0, refused: 0, aborted: 0 } as const
const nothing: FunctionsView = { folder: null, url: null, functions: [], notes: [] }

/** The functions of this process. Each is compiled first, unless its files are still those of the last time. */
export async function listFunctions(source: FunctionsSource, worker: number | null): Promise<FunctionReport> {
  const [view, problem] = await readView(source)
  const { functions: counts, running, workers } = source.figures()
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
    const known = new Set(functions.map(({ name }) => name))
    for (const name of [...counts.keys()].slice(0, mostFunctions)) {
      if (!known.has(name)) functions.push({ name, entrypoint: null, verifyJwt: true, ...figuresOf(name), fault: null })
    }
  }
  return {
    folder: view.folder,
    url: view.url === null ? null : urlWithoutSecrets(view.url),
    problem,
    notes: view.notes,
    worker,
    workers: workers ?? null,
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

/** The latest lines of a function in this process. @param worker this process among several */
export function logsOf(source: FunctionsSource, name: string, worker: number | null): FunctionLogs {
  return {
    worker,
    lines: source
      .logs(name)
      .slice(-mostLines)
      .map(({ time, level, requestId, message }) => ({
        at: time.toISOString(),
        level,
        requestId: requestId ?? null,
        message: message.length > longest ? `${message.slice(0, longest)}…` : message,
      })),
  }
}
