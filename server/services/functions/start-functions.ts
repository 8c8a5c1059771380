// The part of the service that is loaded with the first request.
import type { FunctionsSettings } from './settings.ts'
import type { CallParts, FoundFunction } from './answer-call.ts'
import type { FunctionFault, FunctionsService } from './functions-service.ts'
import type { CredentialChecks } from '../session-check.ts'
import { functionErrors } from './function-error.ts'
import { createProxy } from './function-proxy.ts'
import { ProjectReader, type ProjectReaderOptions } from './project-reader.ts'
import type { FunctionFailure } from './runtime/function-failure.ts'
import { FunctionRuntime } from './runtime/function-runtime.ts'
import type { FunctionLimits, FunctionLogEntry } from './runtime/function-source.ts'
import type { FunctionStatistics } from './statistics.ts'
import type { Upstream } from './upstream.ts'

export type FunctionsOptions = CredentialChecks &
  Omit<ProjectReaderOptions, 'onError'> & {
    /** Read at each call, because they can be reloaded. */
    readonly settings: () => FunctionsSettings
    readonly trustedProxies: number
    /** Number of processes that share the limits. */
    readonly processes: number
    readonly allowedOrigins: () => readonly string[]
    /** Receives what functions log. */
    readonly onLog: (entry: FunctionLogEntry) => void
    readonly onError: (error: unknown) => void
  }

export type StartedFunctions = {
  readonly parts: CallParts
  readonly reader: ProjectReader
  readonly runtime: FunctionRuntime
  readonly check: FunctionsService['check']
  readonly stop: () => Promise<void>
}

/** Worker processes of a function, of which a second one serves while the first is busy or ends. */
const workersOfFunction = 2
const mebibyte = 1024 * 1024
const second = 1000

export function startFunctions(
  options: FunctionsOptions,
  { statistics, isEnding }: { readonly statistics: FunctionStatistics; readonly isEnding: () => boolean },
): StartedFunctions {
  const { settings, allowedOrigins, trustedProxies, onLog, onError } = options
  const reader = new ProjectReader(options)
  const limits = (): FunctionLimits => limitsOf(settings(), options.processes)
  const runtime = new FunctionRuntime({ limits, onLog })
  const proxy: Upstream = createProxy({ url: () => settings().functionsUrl ?? '', limits })
  const find = async (name: string): Promise<FoundFunction> => {
    const isProxied = settings().functionsUrl !== null
    const project = await reader.project().catch((error: unknown) => {
      throw functionErrors.badProject(error)
    })
    const definition = project?.functions.get(name)
    // A server of one's own may have functions that are not in the folder. Their calls need a token.
    if (isProxied) {
      return {
        verifyJwt: definition?.verifyJwt ?? true,
        call: (request) => proxy.call({ name }, request),
      }
    }
    if (!project || !definition) {
      // Workers of a function that was removed end.
      runtime.retire(name)
      throw functionErrors.notFound()
    }
    return {
      verifyJwt: definition.verifyJwt,
      call: async (request) => runtime.invoke(await reader.source(definition, project), request),
    }
  }
  const checked = new Map<string, { readonly version: string; readonly fault: FunctionFault | null }>()
  const check = async (name: string): Promise<FunctionFault | null | undefined> => {
    const project = settings().functionsUrl === null ? await reader.project() : undefined
    const definition = project?.functions.get(name)
    if (!project || !definition) {
      checked.delete(name)
      return undefined
    }
    const source = await reader.source(definition, project)
    const last = checked.get(name)
    if (last?.version === source.version) return last.fault
    const failure = await runtime.check(source)
    const fault = failure ? { message: failure.message, detail: failure.detail } : null
    checked.set(name, { version: source.version, fault })
    return fault
  }
  const failed = (name: string, requestId: string, { message, detail, kind }: FunctionFailure): void =>
    onLog({
      function: name,
      time: new Date(),
      level: kind === 'busy' ? 'warn' : 'error',
      requestId,
      message: detail === '' ? message : `${message}: ${detail}`,
    })
  return {
    parts: {
      callers: options,
      find,
      allowedOrigins,
      trustedProxies,
      maxRequestBytes: () => settings().functionsMaxRequestBytes,
      statistics,
      isEnding,
      failed,
      onError,
    },
    reader,
    runtime,
    check,
    stop: async () => {
      await proxy.stop()
      await runtime.stop()
    },
  }
}

/** The limits of one process of the server. */
function limitsOf(
  {
    functionsTimeout,
    functionsMemory,
    functionsConcurrency,
    functionsWorkers,
    functionsIdleTime,
    functionsMaxRequestBytes,
    functionsMaxResponseBytes,
  }: FunctionsSettings,
  processes: number,
): FunctionLimits {
  const share = (total: number): number => Math.max(1, Math.floor(total / processes))
  const totalWorkers = share(functionsWorkers)
  return {
    timeoutMs: functionsTimeout * second,
    blockedMs: Math.min(longestBlock, functionsTimeout * second),
    memoryMegabytes: Math.max(16, Math.floor(functionsMemory / mebibyte)),
    concurrency: share(functionsConcurrency),
    workers: Math.min(workersOfFunction, totalWorkers),
    totalWorkers,
    requestBytes: functionsMaxRequestBytes,
    responseBytes: functionsMaxResponseBytes,
    idleMs: functionsIdleTime * second,
  }
}

/** Milliseconds for which a worker may do nothing but compute. */
const longestBlock = 10_000
