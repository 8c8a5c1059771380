// Chooses the database: the configured one, or the embedded one if none is configured.
import { ConfigError } from './config-error.ts'
import type { Config } from './config.ts'
import { serviceSettings } from './service-settings.ts'
import type { GivenValue } from './setting.ts'

/** libpq's variables for the location of a database or the user. */
const namingVariables = ['PGSERVICE', 'PGHOST', 'PGHOSTADDR', 'PGPORT', 'PGDATABASE', 'PGUSER'] as const

/** Connects with only the `PG…` variables and libpq's defaults. PostgREST's default for `db-uri`. */
const libpqDefaults = 'postgresql://'

type Sources = {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly file: { readonly values: ReadonlyMap<string, GivenValue> } | undefined
}

const ownNames: ReadonlySet<string> = new Set(Object.values(serviceSettings).map(({ name }) => name))

/**
 * The connection string if `db-uri` is not set. libpq's variables select libpq's defaults, and so does a configuration file
 * with PostgREST's settings, as in PostgREST. A file that sets `data-dir`, or an empty `db-uri` as dumps contain it,
 * selects the embedded database.
 *
 * @returns null for the embedded database
 */
export function impliedUri({ environment, file }: Sources): string | null {
  const isNamed = namingVariables.some((name) => (environment[name] ?? '') !== '')
  const names = [...(file?.values.keys() ?? [])]
  const asksForEmbedded = names.includes('data-dir') || names.includes('db-uri')
  const isPostgrestFile = names.some((name) => !ownNames.has(name)) && !asksForEmbedded
  return isNamed || isPostgrestFile ? libpqDefaults : null
}

/** `owner` for migrations and keys, `authenticator` for the API's own view of the database. */
export type DatabaseRole = 'owner' | 'authenticator'

export type DatabaseChoice =
  { readonly kind: 'named'; readonly uri: string } | { readonly kind: 'embedded'; readonly dataDir: string }

/**
 * Chooses the database of a command or the server.
 *
 * @throws ConfigError when only the database for migrations is configured, and the role is not its owner
 */
export function chooseDatabase(
  { dataDir, dbUri, migrationDatabaseUrl }: Pick<Config, 'dataDir' | 'dbUri' | 'migrationDatabaseUrl'>,
  role: DatabaseRole,
): DatabaseChoice {
  const uri = role === 'owner' ? (migrationDatabaseUrl ?? dbUri) : dbUri
  if (uri !== null) return { kind: 'named', uri }
  if (migrationDatabaseUrl === null) return { kind: 'embedded', dataDir }
  throw new ConfigError([
    {
      source: 'MIGRATION_DATABASE_URL',
      message:
        'is only used for migrations; set DATABASE_URL to the connection string of the role that serves requests',
    },
  ])
}
