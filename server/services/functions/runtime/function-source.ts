// What the runtime of functions receives and returns.
import type { Readable } from 'node:stream'

/** A function of the project, as it is at one time. */
export type FunctionSource = {
  readonly name: string
  /** Absolute path. `Deno.readTextFile` reads files of its folder. */
  readonly entrypoint: string
  /** Absolute path of the project. Imports of files stay within it. */
  readonly root: string
  /** Absolute path of `deno.json`, `deno.jsonc` or an import map. */
  readonly importMap?: string
  /** All variables that the function sees. */
  readonly environment: Readonly<Record<string, string>>
  /** Differs after each change of a file, the import map or the environment. Calls in progress end in the worker of the version before. */
  readonly version: string
}

export type FunctionLimits = {
  /** Milliseconds from the call until the end of the response, and from its end until that of promises of `waitUntil`. */
  readonly timeoutMs: number
  /** Milliseconds for which a worker may do nothing but compute. */
  readonly blockedMs: number
  /** Size of the heap of JavaScript. The process may use 64 MB more. */
  readonly memoryMegabytes: number
  /** Maximum number of calls of a function at the same time. */
  readonly concurrency: number
  /** Maximum number of workers of a function. */
  readonly workers: number
  /** Maximum number of workers of all functions. */
  readonly totalWorkers: number
  readonly responseBytes: number
  readonly requestBytes: number
  /** Milliseconds after which a worker without calls ends. */
  readonly idleMs: number
}

export type FunctionRequest = {
  readonly method: string
  /** Absolute, as the function sees it. */
  readonly url: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body?: Readable
  /** Belongs to the log entries of the call. */
  readonly requestId: string
  /** Aborted when the client closes the connection. */
  readonly signal: AbortSignal
}

export type FunctionResponse = {
  readonly status: number
  /** A name occurs several times if the header does, such as `set-cookie`. */
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Fails with a `FunctionFailure` if the response is incomplete. */
  readonly body: Readable
}

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

export type FunctionLogEntry = {
  readonly function: string
  readonly time: Date
  readonly level: LogLevel
  /** Absent for what a function logs outside of a call. */
  readonly requestId?: string
  readonly message: string
}
