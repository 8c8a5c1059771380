// The project's migrations in the terms of the program: which folder, which database, and what happens at a start.
import type { Config } from '../../config/config.ts'
import type { Client } from '../../postgres/connection/client.ts'
import { CommandError } from '../command-line/command-error.ts'
import { acceptMigration, applyMigrations, type Applied } from './apply.ts'
import { rolesFor, seedState, type SeedState } from './apply-seed.ts'
import { serviceTablesOf } from '../../running/service-choice.ts'
import { MigrationError } from './migration-error.ts'
import { readMigrations } from './migration-file.ts'
import { pendingOf, planMigrations, type MigrationState, type PendingOptions } from './plan.ts'
import { findProject } from '../../config/project.ts'
import { readRecord, readSeed } from './record.ts'
import { findRoles, findSeeds, seedName } from './seed-files.ts'

type ProjectConfig = Pick<Config, 'migrationsDir' | 'schemasDir' | 'dbChannel' | 'services'>

export type ProjectOptions = PendingOptions & {
  /** `missing` applies the seed to a database that has not had it, `changed` also after a change. */
  readonly seed?: 'missing' | 'changed' | undefined
  readonly onNotice?: (message: string) => void
}

/**
 * Applies the project's migrations, if it has any, and makes running servers reload the schema.
 *
 * @throws as `applyMigrations`; CommandError when a seed is wanted, and there is none
 */
export async function applyProject(
  client: Client,
  config: ProjectConfig,
  options: ProjectOptions = {},
): Promise<Applied> {
  const { onNotice, seed: wanted, ...pending } = options
  const { migrations } = await findProject(config)
  if (migrations === undefined) {
    if (wanted === 'changed') throw new CommandError('There is no folder of migrations with a seed.sql beside it.')
    return { applied: [], seeded: [], notes: [] }
  }
  const seeds = wanted === undefined ? { files: [], notes: [] } : await findSeeds(migrations)
  if (wanted === 'changed' && seeds.files.length === 0) {
    throw new CommandError([`There is no seed beside ${migrations}.`, ...seeds.notes].join('\n'))
  }

  const done = await explained(config, () =>
    applyMigrations(client, migrations, {
      ...pending,
      seeds: seeds.files,
      reseed: wanted === 'changed',
      ...(onNotice === undefined ? {} : { onNotice }),
      onWait: () => onNotice?.('Another process applies migrations to this database; waiting for it'),
    }),
  )
  // Only a superuser can create the event trigger that does this after each statement.
  if (done.applied.length > 0) await client.query('select pg_notify($1, $2)', [config.dbChannel, 'reload schema'])
  return { ...done, notes: [...done.notes, ...seeds.notes] }
}

/** Adds what to do if a table of the project has the name of one of the server's. */
async function explained<T>({ services }: ProjectConfig, run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    // duplicate_table
    if (!(error instanceof MigrationError) || error.place.code !== '42P07') throw error
    const own = serviceTablesOf(services).find(({ table }) =>
      error.message.includes(`"${table.replace('public.', '')}"`),
    )
    if (!own) throw error
    throw new MigrationError(
      `${error.message}\n${own.table} is a table of the services ${own.services.join(' and ')}. To have one of your own, ` +
        'leave them out in a new database: SERVICES=rest,auth,storage.',
      error.place,
      { cause: error },
    )
  }
}

/** Paths of the files that `applyProject` would apply, in order. */
export async function pendingFiles(
  client: Client,
  config: ProjectConfig,
  options: PendingOptions = {},
): Promise<readonly string[]> {
  const { migrations } = await findProject(config)
  if (migrations === undefined) return []
  const { files } = await readMigrations(migrations)
  const record = await readRecord(client)
  const roles = rolesFor(migrations, record)
  const isNew = roles !== undefined && (await readSeed(client, seedName(migrations, roles))) === undefined
  const pending = pendingOf(planMigrations(files, record), options).flatMap(({ file }) => file?.path ?? [])
  return [...(isNew ? [roles] : []), ...pending]
}

/** Paths of all files, in order. */
export async function allFiles(config: ProjectConfig): Promise<readonly string[]> {
  const { migrations } = await findProject(config)
  if (migrations === undefined) return []
  const roles = findRoles(migrations)
  return [...(roles === undefined ? [] : [roles]), ...(await readMigrations(migrations)).files.map(({ path }) => path)]
}

/** The state of a file, for `migrate status`. */
export type FileStatus = {
  readonly name: string
  readonly state: MigrationState
  /** When the last of its statements took effect; null if unknown or not yet. */
  readonly appliedAt: string | null
  /** Number of statements that have taken effect, and of all in the file. */
  readonly done: number
  readonly statements: number
  /** Number, from 1, of a statement that was interrupted and may have taken effect. */
  readonly interrupted: number | null
}

export type ProjectStatus = {
  /** Folder of the migrations, if the project has one. */
  readonly folder: string | null
  readonly files: readonly FileStatus[]
  /** The seeds of the project, in order. */
  readonly seeds: readonly { readonly file: string; readonly state: SeedState }[]
  /** Names of SQL files that are no migrations. */
  readonly ignored: readonly string[]
}

/** Compares the project's files with the database. Changes nothing. */
export async function projectStatus(client: Client, config: ProjectConfig): Promise<ProjectStatus> {
  const { migrations } = await findProject(config)
  const seeds = migrations === undefined ? [] : (await findSeeds(migrations)).files
  const { files, ignored } = migrations === undefined ? { files: [], ignored: [] } : await readMigrations(migrations)
  const planned = planMigrations(files, await readRecord(client))
  return {
    folder: migrations ?? null,
    files: planned.map(({ name, state, file, record }) => ({
      name,
      state,
      appliedAt: record?.appliedAt && record.checksum !== null ? record.appliedAt.toISOString() : null,
      done: record?.done ?? 0,
      statements: file?.statements.length ?? record?.statements ?? 0,
      interrupted: typeof record?.running === 'number' ? record.running + 1 : null,
    })),
    seeds: await inOrder(seeds, async (file) => ({
      file,
      state: await seedState(client, migrations ?? '', file),
    })),
    ignored,
  }
}

async function inOrder<T, U>(values: readonly T[], one: (value: T) => Promise<U>): Promise<readonly U[]> {
  const results: U[] = []
  for (const value of values) results.push(await one(value))
  return results
}

/** Records a file as applied as it is. Returns its path. */
export async function acceptFile(client: Client, config: ProjectConfig, name: string): Promise<string> {
  const { migrations } = await findProject(config)
  if (migrations === undefined) throw new CommandError('There is no folder of migrations.')
  return acceptMigration(client, migrations, name)
}
