// What the page of functions and its routes exchange. The page imports these types, too, so this file imports nothing.

/** `GET /console/api/functions` */
export type FunctionReport = {
  /** Folder of the functions; null without one. */
  readonly folder: string | null
  /** Base URL of the server that answers calls instead; null if worker processes do. */
  readonly url: string | null
  /** What is wrong with the folder; null if nothing is. */
  readonly problem: string | null
  /** Sentences about what is left out. */
  readonly notes: readonly string[]
  /** Processes that have not answered. All others are counted in the figures. */
  readonly missing: number
  /** Worker processes that run, were started, and were killed; null as long as none was started. */
  readonly workers: { readonly workers: number; readonly started: number; readonly killed: number } | null
  /** Calls that run at the moment. */
  readonly running: number
  readonly functions: readonly FunctionEntry[]
}

export type FunctionEntry = {
  readonly name: string
  /** Its file, below the folder; null if another server has it. */
  readonly entrypoint: string | null
  /** Whether calls need a token. */
  readonly verifyJwt: boolean
  /** Calls since the processes began, by how they ended. */
  readonly calls: {
    readonly answered: number
    readonly failed: number
    readonly refused: number
    readonly aborted: number
  }
  /** Average of a call, in milliseconds; null without calls. */
  readonly milliseconds: number | null
  /** Why it does not compile; null if it does, or if that is not known. */
  readonly fault: { readonly message: string; readonly detail: string } | null
}

/** `GET /console/api/functions/{name}/logs`: the latest lines, the newest last. */
export type FunctionLogs = {
  /** Processes that have not answered, whose lines are missing. */
  readonly missing: number
  readonly lines: readonly FunctionLogLine[]
}

export type FunctionLogLine = {
  readonly at: string
  readonly level: 'debug' | 'info' | 'warn' | 'error'
  /** Null for what a function logs outside of a call. */
  readonly requestId: string | null
  /** Cut. */
  readonly message: string
}
