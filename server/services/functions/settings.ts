// The settings of `/functions/v1`; the table is in `config/functions-settings.ts`.

export type FunctionsSettings = {
  /** Folder of functions, or `none`. Null: the usual one of the working folder, if it exists. */
  readonly functionsDir: string | null
  /** Base URL of a server that runs the functions instead: `name` is below it. */
  readonly functionsUrl: string | null
  /** Public URL of this server for functions, as `SUPABASE_URL`. Null: the origin of `API_EXTERNAL_URL`, or its own address. */
  readonly functionsPublicUrl: string | null
  /** `SUPABASE_ANON_KEY` of functions. */
  readonly functionsAnonKey: string | null
  /** `SUPABASE_SERVICE_ROLE_KEY` of functions. */
  readonly functionsServiceRoleKey: string | null
  /** `SUPABASE_DB_URL` of functions. */
  readonly functionsDatabaseUrl: string | null
  /** Seconds of a call, and of a response without bytes from a server of `functionsUrl`. */
  readonly functionsTimeout: number
  /** Bytes of memory of a worker process. */
  readonly functionsMemory: number
  /** Maximum number of calls of a function at the same time, of all processes of the server together. */
  readonly functionsConcurrency: number
  /** Maximum number of worker processes of all functions, of all processes of the server together. */
  readonly functionsWorkers: number
  /** Seconds after which a worker process without calls ends. */
  readonly functionsIdleTime: number
  /** Maximum bytes of the body of a request. */
  readonly functionsMaxRequestBytes: number
  /** Maximum bytes of the body of a response. */
  readonly functionsMaxResponseBytes: number
}
