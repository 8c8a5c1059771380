// What the console is made from.
import type { ApiKeyLookup } from '../../identity/api-key/api-key-lookup.ts'
import type { JwtVerifier } from '../../identity/jwt/jwt.ts'
import type { Database } from '../../postgres/database.ts'
import type { LoadedSettings, Snapshot } from '../../rest/snapshot.ts'
import type { ConsoleConfig } from './console-config.ts'
import type { ConsoleTools } from './console-tools.ts'
import type { FunctionsSource } from './functions-source.ts'
import type { ReplicaState } from './operation-protocol.ts'
import type { RealtimeReport } from './realtime-protocol.ts'
import type { RequestSource } from './request-source.ts'

export type ConsoleSettings = {
  readonly database: Database
  /** The current settings and schema cache. */
  readonly snapshot: () => Snapshot<LoadedSettings & { readonly config: ConsoleConfig; readonly verifier: JwtVerifier }>
  readonly lookupApiKey: ApiKeyLookup
  /** Whether the database is embedded and the server listens on loopback. */
  readonly isDevelopment: boolean
  readonly hasMailbox: boolean
  readonly secureCookies: boolean
  readonly version: string
  /** Connection string of the role that owns the schemas, during development; otherwise null. */
  readonly ownerUri: string | null
  readonly requests: RequestSource
  /** Undefined without realtime. */
  readonly realtime: () => Promise<RealtimeReport | undefined>
  /** Undefined without functions. */
  readonly functions: () => FunctionsSource | undefined
  readonly replicas: () => readonly ReplicaState[]
  /** What the command line can do, loaded when it is needed. */
  readonly tools: () => Promise<ConsoleTools>
  readonly warn: (message: string) => void
}

/** What the routes of the console share. */
export type ConsoleParts = ConsoleSettings & {
  /**
   * Adds to the log of changes.
   *
   * @param action what was done, in a few words
   */
  readonly record: (caller: ConsoleCaller, action: string, details: object) => Promise<void>
}

/** Who is signed in to the console. */
export type ConsoleCaller = {
  /** For people, and for the log of changes. */
  readonly actor: string
  /** SHA-256 of the cookie. */
  readonly tokenHash: Buffer
  /** Value of the header `X-Console-Token`. */
  readonly token: string
}
