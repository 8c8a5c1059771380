// Functions of the project in `tests/fixtures/functions`, run without a server.
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import type { Test } from 'tap'
import { FunctionRuntime } from '../../server/services/functions/runtime/function-runtime.ts'
import { FunctionFailure } from '../../server/services/functions/runtime/function-failure.ts'
import type {
  FunctionLimits,
  FunctionLogEntry,
  FunctionRequest,
  FunctionResponse,
  FunctionSource,
} from '../../server/services/functions/runtime/function-source.ts'

const project = fileURLToPath(new URL('../fixtures/', import.meta.url))

const defaultLimits: FunctionLimits = {
  timeoutMs: 30_000,
  blockedMs: 10_000,
  memoryMegabytes: 128,
  concurrency: 100,
  workers: 1,
  totalWorkers: 20,
  responseBytes: 100_000_000,
  requestBytes: 100_000_000,
  idleMs: 60_000,
}

/** A function of the project. */
export function fixtureFunction(name: string, changes: Partial<FunctionSource> = {}): FunctionSource {
  const folder = join(project, 'functions', name)
  const [entrypoint = ''] = ['index.ts', 'index.tsx']
    .map((file) => join(folder, file))
    .filter((path) => existsSync(path))
  return { name, entrypoint, root: project, environment: {}, version: '1', ...changes }
}

export type Call = Partial<Omit<FunctionRequest, 'body'>> & { readonly body?: string | Readable }

/** A runtime with its log, which stops after the test. */
export function testRuntime(t: Pick<Test, 'teardown'>, limits: Partial<FunctionLimits> = {}) {
  const log: FunctionLogEntry[] = []
  const runtime = new FunctionRuntime({
    limits: () => ({ ...defaultLimits, ...limits }),
    onLog: (entry) => log.push(entry),
  })
  t.teardown(() => runtime.stop())

  const invoke = (source: FunctionSource | string, path: string, call: Call = {}): Promise<FunctionResponse> => {
    const { body, ...changes } = call
    return runtime.invoke(typeof source === 'string' ? fixtureFunction(source) : source, {
      method: body === undefined ? 'GET' : 'POST',
      url: `http://functions.test/${path}`,
      headers: [],
      requestId: 'request-1',
      signal: new AbortController().signal,
      ...(body !== undefined && { body: typeof body === 'string' ? Readable.from([Buffer.from(body)]) : body }),
      ...changes,
    })
  }
  return {
    runtime,
    log,
    invoke,
    /** Status and text of the response. */
    read: async (
      source: FunctionSource | string,
      path: string,
      call?: Call,
    ): Promise<[status: number, text: string]> => {
      const { status, body } = await invoke(source, path, call)
      return [status, await text(body)]
    },
    /** The failure of a call. */
    failure: async (source: FunctionSource | string, path: string, call?: Call): Promise<FunctionFailure> => {
      try {
        const { body } = await invoke(source, path, call)
        await text(body)
      } catch (error) {
        if (error instanceof FunctionFailure) return error
        throw error
      }
      throw new Error('The call did not fail')
    },
    messages: (): string[] => log.map(({ message }) => message),
  }
}
