// The databases and connections of a run: a template with the schema and the fixture, and a copy of it for each connection.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Config } from '../../config/config.ts'
import type { Environment } from '../../config/config-sources.ts'
import { withClient } from '../../postgres/connection/client.ts'
import type { PoolConfig } from '../../postgres/connection/pool-config.ts'
import { migrate } from '../../postgres/migrate.ts'
import { withThrowAwayDatabases, type ThrowAwayDatabase } from '../../postgres/throw-away-database.ts'
import { readRoleSettings } from '../../rest/role-settings.ts'
import { introspectionSettings, loadSchemaCache } from '../../catalogue/load.ts'
import { CommandError } from '../command-line/command-error.ts'
import { applyMigrations } from '../migrations/apply.ts'
import type { RunOwnerQuery } from './callers.ts'
import { readDependencies, type Affected } from './dependencies.ts'
import { readAccessRules, type AccessRules } from './mutants.ts'
import { readRelations, type ProbedRelation } from './relations.ts'
import { readRoles, type Roles } from './roles.ts'
import { prepareSession, TestSession, type Serving } from './session.ts'

/** What the template is made of. Files that do not exist are left out. */
export type Fixture = {
  /** Folder of one's own migrations; undefined for none. */
  readonly migrations: string | undefined
  /** SQL files that are applied afterwards, in this order. */
  readonly seeds: readonly string[]
}

/** The database of the tests before any of them, as all connections see it. */
export type Laboratory = Serving & {
  readonly sessions: readonly TestSession[]
  readonly relations: readonly ProbedRelation[]
  /** Those that the project's migrations created or changed; without migrations all. */
  readonly ownRelations: readonly ProbedRelation[]
  /** Rules of the project's migrations; without migrations all. */
  readonly rules: AccessRules
  readonly roles: Roles
  readonly affected: Affected
  /** Sets up another database, and reads its relations: keys that differ are random. */
  readonly readAgain: () => Promise<readonly ProbedRelation[]>
}

export type LaboratoryOptions = {
  /** Connection string of a role that may create databases and the roles of the API. */
  readonly uri: string
  readonly env: Environment
  readonly config: Config
  readonly fixture: Fixture
  /** Number of connections, each to its own copy. */
  readonly jobs: number
  readonly onRemoved: (names: readonly string[]) => void
}

/**
 * Sets up the databases, lends them to `use`, and removes them.
 *
 * @throws CommandError or MigrationError for a file that fails; the error of the server or of `use`
 */
export async function withLaboratory<T>(
  { uri, env, config, fixture, jobs, onRemoved }: LaboratoryOptions,
  use: (laboratory: Laboratory) => Promise<T>,
): Promise<T> {
  return withThrowAwayDatabases(uri, env, async ({ create, clone, removed }) => {
    if (removed.length > 0) onRemoved(removed)
    const template = await create()
    const found = await withClient(template.connection, async (client) => {
      const before = await setUp(client, config, fixture)
      return describe(queryOn(client), config, before)
    })
    const copies: ThrowAwayDatabase[] = []
    for (let job = 0; job < jobs; job++) copies.push(await clone(template))
    return withSessions(copies, found, (sessions) =>
      use({
        ...found,
        sessions,
        readAgain: async () => {
          const second = await create()
          return withClient(second.connection, async (client) => {
            await setUp(client, config, fixture)
            return readRelations(queryOn(client), config.dbSchemas)
          })
        },
      }),
    )
  })
}

type Connected = InstanceType<PoolConfig['Client']>

const queryOn =
  (client: Connected): RunOwnerQuery =>
  async (text, values) =>
    (await client.query<Record<string, unknown>>(text, values)).rows

/** @returns the rules before the project's migrations; none if there are no migrations */
async function setUp(client: Connected, config: Config, { migrations, seeds }: Fixture): Promise<AccessRules> {
  await migrate(client, { services: config.services })
  const before = migrations === undefined ? [] : await readBefore(queryOn(client), config)
  if (migrations !== undefined) await applyMigrations(client, migrations, { isThrowAway: true })
  for (const path of seeds.filter((it) => existsSync(it))) await applyFixture(client, path)
  return before
}

async function readBefore(query: RunOwnerQuery, config: Config): Promise<AccessRules> {
  await query('begin read only', [])
  await query(introspectionSettings, [])
  const { api } = await readRoles(query, config.dbAnonRole)
  const rules = await readAccessRules(query, config.dbSchemas, api)
  await query('rollback', [])
  return rules
}

async function applyFixture(client: Connected, path: string): Promise<void> {
  const text = (await readFile(path, 'utf8')).replace(/^\uFEFF/, '')
  try {
    await client.query(text)
  } catch (error) {
    const position = Number((error as { position?: string }).position ?? 0)
    const characters = [...text].slice(0, Math.max(position - 1, 0)).join('')
    const line = position > 0 ? `:${characters.split('\n').length}` : ''
    throw new CommandError(`${path}${line}: ${(error as Error).message}`, { cause: error })
  } finally {
    await client.query('reset all')
  }
}

type Described = Omit<Laboratory, 'sessions' | 'readAgain'>

async function describe(query: RunOwnerQuery, config: Config, before: AccessRules): Promise<Described> {
  // The setting of `search_path` by `loadSchemaCache` is local to this transaction; names in expressions are then qualified.
  await query('begin isolation level repeatable read read only', [])
  const schemaCache = await loadSchemaCache(query, {
    schemas: config.dbSchemas,
    extraSearchPath: config.dbExtraSearchPath,
    hoistedSettings: config.dbHoistedTxSettings,
  })
  const roles = await readRoles(query, config.dbAnonRole)
  const known = new Set(before.map((rule) => JSON.stringify(rule)))
  const all = await readAccessRules(query, config.dbSchemas, roles.api)
  const rules = all.filter((rule) => !known.has(JSON.stringify(rule)))
  const relations = await readRelations(query, config.dbSchemas)
  const found = {
    settings: {
      config: { ...config, dbTxEnd: 'commit' as const },
      roleSettings: await readRoleSettings(query),
    },
    schemaCache,
    relations,
    ownRelations: relations.filter(({ schema, name }) =>
      rules.some((rule) => rule.schema === schema && rule.relation === name),
    ),
    rules,
    roles,
    affected: await readDependencies(query),
  }
  await query('rollback', [])
  return found
}

async function withSessions<T>(
  databases: readonly ThrowAwayDatabase[],
  serving: Serving,
  use: (sessions: readonly TestSession[]) => Promise<T>,
  sessions: readonly TestSession[] = [],
): Promise<T> {
  const [first, ...rest] = databases
  if (!first) return use(sessions)
  return withClient(first.connection, async (client) => {
    await prepareSession(client)
    return withSessions(rest, serving, use, [...sessions, new TestSession(client, serving)])
  })
}
