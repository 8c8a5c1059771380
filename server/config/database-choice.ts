// Which database the program uses: the one that is named, or the embedded one where nothing names one.
import { ConfigError } from './config-error.ts'
import type { Config } from './config.ts'
import { serviceSettings } from './service-settings.ts'
import type { GivenValue } from './setting.ts'

/** libpq's variables that say where a database is, or who connects to it. */
const namingVariables = ['PGSERVICE', 'PGHOST', 'PGHOSTADDR', 'PGPORT', 'PGDATABASE', 'PGUSER'] as const

/** Connects by the `PG…` variables and libpq's defaults alone: PostgREST's default for `db-uri`. */
const libpqDefaults = 'postgresql://'

type Sources = {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly file: { readonly values: ReadonlyMap<string, GivenValue> } | undefined
}

const ownNames: ReadonlySet<string> = new Set(Object.values(serviceSettings).map(({ name }) => name))

/**
 * The connection string where `db-uri` is not given. libpq's variables name a database, and so does a configuration
 * file with settings of PostgREST, which connects with libpq's defaults then. A file that sets `data-dir`, or `db-uri` to
 * nothing as a dump does, asks for the embedded database.
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

/** `owner` for migrations and keys, `authenticator` for what the API itself can see. */
export type DatabaseRole = 'owner' | 'authenticator'

export type DatabaseChoice =
  { readonly kind: 'named'; readonly uri: string } | { readonly kind: 'embedded'; readonly dataDir: string }

/**
 * The database that a command or the server uses.
 *
 * @throws ConfigError when only the database for migrations is named, and the role is not its owner
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
        'names the database for migrations only; set DATABASE_URL to the connection string of the role that serves',
    },
  ])
}
