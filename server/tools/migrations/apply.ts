// Applies a folder of migrations, and a seed, to a database.
//
// No library does this: postgres-migrations wants numbers without gaps, so no timestamps; node-pg-migrate, umzug and others keep
// no checksum, run a file as one query, so that an error has no statement, and do not go on with a file that ended halfway.
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../postgres/connection/client.ts'
import { CommandError } from '../command-line/command-error.ts'
import { checksumOf, readMigrations, readSqlFile, type MigrationFile } from './migration-file.ts'
import { pendingOf, planMigrations, type PendingOptions, type PlannedMigration } from './plan.ts'
import { createRecord, readRecord, readSeed, saveProgress, saveSeed } from './record.ts'
import { runFile } from './run-file.ts'
import { findRoles, seedName } from './seed-files.ts'

export type ApplyOptions = PendingOptions & {
  /** Paths of seeds, which are applied after the migrations, once per database. Nothing happens for a missing file. */
  readonly seeds?: readonly string[]
  /** Applies seeds again if they were changed since they were applied. */
  readonly reseed?: boolean
  /** Applies only files up to this number. */
  readonly upTo?: string
  /** Whether the database is thrown away: existing roles are no error, and statements for the whole cluster are left out. */
  readonly isThrowAway?: boolean
  /** Receives the messages of the database (NOTICE, WARNING), one line each. */
  readonly onNotice?: (message: string) => void
  /** Called once if another process is migrating. */
  readonly onWait?: () => void
}

export type Applied = {
  /** Paths of the files that were applied or completed, in order. */
  readonly applied: readonly string[]
  /** Paths of the seeds that were applied, in order. */
  readonly seeded: readonly string[]
  /** Sentences about files that were left out. */
  readonly notes: readonly string[]
}

/** Key of the advisory lock: a random number, so that no other program uses it. */
const lock = '5093821746603317241'
/** Milliseconds between two attempts to get the lock. */
const pause = 200

/**
 * Applies the pending migrations of a folder in the order of their numbers, each in its own transaction, as far as its
 * statements allow. The `roles.sql` of a project of Supabase comes first. Waits while another process does so. Each file starts with the settings of the session.
 *
 * @param client a connected client of the role that will own the objects, not behind a transaction pooler
 * @param folder path as messages should show it
 * @throws CommandError for files that cannot be applied; MigrationError for a statement that failed. The files before it
 *   stay applied
 */
export async function applyMigrations(client: Client, folder: string, options: ApplyOptions = {}): Promise<Applied> {
  const { files, ignored } = await readMigrations(folder)
  const notes = ignored.map((name) => `${name} is not applied: names of migrations are like 001_name.sql.`)
  return withLock(client, options, async () => {
    const upTo = files.filter(({ version }) => options.upTo === undefined || BigInt(version) <= BigInt(options.upTo))
    const record = await readRecord(client)
    const pending = pendingOf(planMigrations(upTo, record), options)
    if (pending.length > 0) await createRecord(client)
    const applied: string[] = []
    const roles = rolesFor(folder, record)
    if (roles !== undefined) {
      const outcome = await applyRoles(client, folder, roles, options)
      if (outcome === 'applied') applied.push(roles)
      if (outcome === 'changed') notes.push(rolesNote(roles))
    }
    for (const { file, record: known } of pending) {
      if (!file) continue
      await applyFile(client, file, known, options)
      applied.push(file.path)
    }
    const seeded: string[] = []
    for (const seed of options.seeds ?? []) {
      if (!existsSync(seed)) continue
      const outcome = await applySeed(client, seed, seedName(folder, seed), options)
      if (outcome === 'applied') seeded.push(seed)
      if (outcome === 'changed') notes.push(seedNote(seed))
    }
    return { applied, seeded, notes }
  })
}

/**
 * The `roles.sql` of a project, unless Supabase's command line has set the database up, which applies it itself.
 *
 * @param record from `readRecord`
 */
export function rolesFor(folder: string, record: Awaited<ReturnType<typeof readRecord>>): string | undefined {
  return [...record.values()].some(({ checksum }) => checksum === null) ? undefined : findRoles(folder)
}

/** Applies `roles.sql` once per database. Roles belong to the cluster: it is no error if one exists. */
export const applyRoles = (
  client: Client,
  folder: string,
  path: string,
  options: Pick<ApplyOptions, 'isThrowAway' | 'onNotice'>,
): Promise<'applied' | 'unchanged' | 'changed'> =>
  applySeed(client, path, seedName(folder, path), { ...options, reseed: false }, true)

const rolesNote = (path: string): string =>
  `${path} was changed after it was applied. It does not run again: put the change into a migration.`

const seedNote = (seed: string): string =>
  `${seed} was changed after it was applied. It does not run again by itself: \`rowhouse migrate --seed\` runs it.`

/** Runs what has not taken effect of a file. */
async function applyFile(
  client: Client,
  file: MigrationFile,
  record: PlannedMigration['record'],
  { isThrowAway = false, onNotice }: ApplyOptions,
): Promise<void> {
  await inFreshSession(client, onNotice, () =>
    runFile({
      client,
      file,
      isThrowAway,
      from: record?.done ?? 0,
      wasInterrupted: typeof record?.running === 'number',
      save: (done, running) => saveProgress(client, progressOf(file, done, running)),
    }),
  )
}

const progressOf = (file: MigrationFile, done: number, running: number | null): Parameters<typeof saveProgress>[1] => ({
  version: file.version,
  name: file.name,
  checksum: checksumOf(file, done),
  statements: file.statements.length,
  done,
  running,
})

/**
 * Runs a file in a transaction that is rolled back. Statements that cannot run in a transaction take effect, so the database
 * should be one that is thrown away.
 *
 * @throws as `applyMigrations`
 */
export async function tryFile(client: Client, file: MigrationFile): Promise<void> {
  const save = (): Promise<void> => Promise.resolve()
  await inFreshSession(client, undefined, () =>
    runFile({ client, file, from: 0, isThrowAway: true, isTrial: true, save }),
  )
}

async function applySeed(
  client: Client,
  path: string,
  name: string,
  { isThrowAway = false, reseed = false, onNotice }: ApplyOptions,
  toleratesRoles = isThrowAway,
): Promise<'applied' | 'unchanged' | 'changed'> {
  const file = await readSqlFile(path)
  const checksum = checksumOf(file)
  const before = await readSeed(client, name)
  if (before === checksum) return 'unchanged'
  if (before !== undefined && !reseed) return 'changed'
  await createRecord(client)
  const save = async (done: number): Promise<void> => {
    if (done === file.statements.length) await saveSeed(client, name, checksum)
  }
  const run = { client, file, from: 0, isThrowAway, toleratesRoles, startsOver: true, save }
  await inFreshSession(client, onNotice, () => runFile(run))
  return 'applied'
}

/**
 * Records a file as applied as it is, without running it.
 *
 * @param name of a file in the folder, or its number
 * @returns the path of the file
 * @throws CommandError when there is no such file
 */
export async function acceptMigration(
  client: Client,
  folder: string,
  name: string,
  options: Pick<ApplyOptions, 'onWait'> = {},
): Promise<string> {
  const { files } = await readMigrations(folder)
  const file = files.find((it) => it.name === name || it.path === name || it.version === name.replace(/^0+(?=\d)/, ''))
  if (!file) {
    const names = files.map((it) => it.name).join(', ')
    throw new CommandError(
      `There is no migration ${name} in ${folder}. There ${names === '' ? 'are none' : `is ${names}`}.`,
    )
  }
  return withLock(client, options, async () => {
    await createRecord(client)
    await saveProgress(client, progressOf(file, file.statements.length, null))
    return file.path
  })
}

/** Runs a file with the settings that a new session has, and restores those that this one began with. */
async function inFreshSession(
  client: Client,
  onNotice: ApplyOptions['onNotice'],
  run: () => Promise<void>,
): Promise<void> {
  const listener = ({ message }: { message?: string | undefined }): void => onNotice?.(message ?? '')
  const reset = 'reset session authorization; reset role; reset all'
  // The splitting of statements depends on this setting, whose other value is for databases of the last century.
  await client.query(`${reset}; ${setNewDefaults}; set standard_conforming_strings to on`)
  client.on('notice', listener)
  try {
    await run()
  } finally {
    client.off('notice', listener)
    // Fails only if the connection is lost, which the error of the file says.
    await client.query(reset).catch(() => undefined)
  }
}

/**
 * Applies `alter database … set` and `alter role … set` of earlier files, and of the server's migrations, to a session that is
 * older. Connection options take precedence, as they do at a start.
 */
const setNewDefaults = `
  select pg_catalog.set_config(name, value, false) from (
    select distinct on (name) name, value from (
      select s.setrole, s.setdatabase, split_part(c, '=', 1) as name, substr(c, strpos(c, '=') + 1) as value
      from pg_catalog.pg_db_role_setting s, unnest(s.setconfig) as c
      where s.setdatabase in (0, (select oid from pg_catalog.pg_database where datname = current_database()))
        and s.setrole in (0, (select oid from pg_catalog.pg_roles where rolname = session_user))
    ) as given
    where strpos(name, '.') > 0
      or exists (select from pg_catalog.pg_settings p where p.name = given.name and context = 'user' and source <> 'client')
    order by name, setrole <> 0 desc, setdatabase <> 0 desc
  ) as newest`

/**
 * Runs `use` while no other process migrates. Polls: a connection that waits for a lock in PostgreSQL has a snapshot, for which
 * `create index concurrently` in the other process would wait in turn.
 */
async function withLock<T>(client: Client, { onWait }: ApplyOptions, use: () => Promise<T>): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    const { rows } = await client.query<{ locked: boolean }>(`select pg_try_advisory_lock(${lock}) as locked`)
    if (rows[0]?.locked === true) break
    if (attempt === 0) onWait?.()
    await delay(pause)
  }
  try {
    return await use()
  } finally {
    await client.query(`select pg_advisory_unlock(${lock})`).catch(() => undefined)
  }
}
