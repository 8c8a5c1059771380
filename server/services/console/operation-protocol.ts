// What the page of operations and its routes exchange. The page imports these types, too, so this file imports nothing.

/** `GET /console/api/operations/migrations` */
export type MigrationReport = {
  /** Names of the server's own migrations. */
  readonly server: { readonly applied: readonly string[]; readonly pending: readonly string[] }
  /** Folder of the project's migrations; null if it has none. */
  readonly folder: string | null
  readonly files: readonly MigrationFile[]
  readonly seeds: readonly { readonly file: string; readonly state: 'applied' | 'changed' | 'not applied' }[]
  /** Names of SQL files that are no migrations. */
  readonly ignored: readonly string[]
}

export type MigrationFile = {
  readonly name: string
  /** As `rowhouse migrate status` says it. */
  readonly state: string
  readonly needsAttention: boolean
  /** When it was applied, as ISO 8601. */
  readonly appliedAt: string | null
  /** Statements that have taken effect, and all. */
  readonly done: number
  readonly statements: number
}

/** `GET /console/api/operations/settings` */
export type SettingState = {
  readonly name: string
  /** Environment variables, the main one first. */
  readonly variables: readonly string[]
  readonly description: string
  /** In the notation of the configuration file; null for a secret. */
  readonly value: string | null
  readonly isSecret: boolean
  /** Whether it differs from the default. */
  readonly isSet: boolean
  /** `embedded`: chosen by the server for the embedded database. `database`: in the database. */
  readonly origin: 'default' | 'environment' | 'file' | 'database' | 'embedded'
  /** The name that was used: `PORT`, `server-port in rowhouse.conf`; null for a default. */
  readonly source: string | null
  /** When a new value takes effect. */
  readonly change: 'restart' | 'reload' | 'database'
  /** Whether another value is given than the one that is in effect: it waits for a restart or a reload. */
  readonly isWaiting: boolean
}

/** `POST /console/api/operations/doctor` */
export type DoctorReport = {
  readonly findings: readonly DoctorFinding[]
  /** Areas of which nothing must be done. */
  readonly healthy: readonly string[]
  readonly skipped: readonly { readonly area: string; readonly reason: string }[]
}

export type DoctorFinding = {
  readonly area: string
  readonly code: string
  readonly level: 'ERROR' | 'WARN' | 'INFO'
  readonly subject: string
  readonly what: string
  readonly why: string
  readonly advice: string
  /** Statements that do it; null if no statement does, or a person must choose. */
  readonly fix: string | null
}

/** `GET /console/api/operations/backups` */
export type BackupReport = {
  /** Null without an embedded database: its owner backs it up. */
  readonly isEmbedded: boolean
  /** Folder of the backups; null if none is set. */
  readonly folder: string | null
  /** The oldest first. */
  readonly backups: readonly {
    readonly name: string
    /** The state that it has, as ISO 8601. */
    readonly stoppedAt: string
    readonly majorVersion: number
    readonly bytes: number
  }[]
  /** Until when the archive of the log is complete, as ISO 8601: each time from the first backup on can be restored. */
  readonly archivedUntil: string | null
}

/** `GET /console/api/operations/replicas` */
export type ReplicaState = {
  readonly name: string
  readonly isUsable: boolean
  /** Null if it is not known. */
  readonly lagSeconds: number | null
  readonly reads: number
  readonly reruns: number
}

export type KeyLimits = Readonly<Record<string, number>>

/** An API key, without its secret. */
export type KeyState = {
  readonly id: string
  /** Its first characters. */
  readonly hint: string
  readonly label: string
  readonly role: string
  readonly userId: string | null
  readonly createdAt: string
  readonly expiresAt: string | null
  readonly revokedAt: string | null
  readonly limits: KeyLimits | null
}

/** `GET /console/api/operations/keys` */
export type KeyReport = {
  readonly keys: readonly KeyState[]
  /** The limits that a key can have, and what their values may be. */
  readonly limits: readonly { readonly name: string; readonly allowed: string }[]
  /** Limits of roles, which `alter role … set pgrst.…` changes. */
  readonly roles: readonly { readonly role: string; readonly limits: readonly (readonly [string, string])[] }[]
}

/** Body of `POST /console/api/operations/keys`. */
export type NewKey = {
  readonly role: string
  readonly user?: string
  readonly label: string
  /** Days after which it expires. */
  readonly days?: number
}

/** Its response. The key is not shown again. */
export type CreatedKey = { readonly key: string; readonly state: KeyState }

/** Body of `PUT /console/api/operations/keys/{id}/limits`: replaces them. */
export type NewKeyLimits = { readonly limits: KeyLimits }

/** `GET /console/api/operations/log`, the newest first. */
export type LogEntry = {
  readonly id: string
  readonly at: string
  readonly actor: string
  readonly action: string
  readonly details: unknown
}
