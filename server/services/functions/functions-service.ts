// What the service at `/functions/v1` offers to the rest of the server.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FunctionLogEntry } from './runtime/function-source.ts'
import type { FunctionFigures } from './statistics.ts'

export type FunctionsService = {
  /** Responds to requests to targets below `/functions/v1`. */
  readonly handler: (request: IncomingMessage, response: ServerResponse) => void
  /** Call this when the settings were reloaded: the files are read again at the next call. */
  readonly reload: () => void
  readonly figures: () => FunctionFigures
  /** The functions as they are now, for people. @throws FunctionProjectError, ProjectError */
  readonly view: () => Promise<FunctionsView>
  /**
   * Compiles a function without running it. The result is kept as long as its files stay the same.
   *
   * @returns null when it compiles; undefined when there is no such function, or a server of one's own answers
   */
  readonly check: (name: string) => Promise<FunctionFault | null | undefined>
  /** The latest lines that a function has logged in this process, newest last. */
  readonly logs: (name: string) => readonly FunctionLogEntry[]
  /** Refuses further calls, and ends all workers after those in progress. */
  readonly stop: () => Promise<void>
}

/** Why a function does not compile: for clients, and for its owner with file, line, or the package to install. */
export type FunctionFault = { readonly message: string; readonly detail: string }

export type FunctionsView = {
  /** Absolute path of the folder; null without one. */
  readonly folder: string | null
  /** Base URL of the server that answers calls instead; null if worker processes do. */
  readonly url: string | null
  readonly functions: readonly {
    readonly name: string
    readonly entrypoint: string
    readonly verifyJwt: boolean
  }[]
  /** Sentences about what is left out. */
  readonly notes: readonly string[]
}
