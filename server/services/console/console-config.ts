// The settings that the console reads.
import type { KeySource } from '../../identity/jwt/key-set.ts'
import type { LimitSettings } from '../accounts/session-limits.ts'

/** The settings that the console reads. */
export type ConsoleConfig = KeySource &
  LimitSettings & {
    readonly console: 'development' | 'on' | 'off'
    readonly services: readonly string[]
    readonly restBasePath: string
    readonly imageBasePath: string
    readonly trustedProxies: number
    readonly dbAnonRole: string | null
    readonly dbSchemas: readonly string[]
    readonly dbExtraSearchPath: readonly string[]
    readonly jwtAud: string | null
    /** Folders of the project; null: found by their names. */
    readonly migrationsDir: string | null
    readonly schemasDir: string | null
    /** Folder of the development keys. */
    readonly dataDir: string
    readonly schedulesTimezone: string | null
  }
