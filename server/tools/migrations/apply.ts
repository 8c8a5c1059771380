// Applies a folder of migrations, and a seed, to a database.
//
// No library does this: postgres-migrations wants numbers without gaps, so no timestamps; node-pg-migrate, umzug and others keep
// no checksum, run a file as one query, so that an error has no statement, and do not go on with a file that ended halfway.
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import type { Client } from '../../postgres/connection/client.ts'
import { sqlState } from '../../postgres/database-error.ts'
import { CommandError } from '../command-line/command-error.ts'
import { applyRoles, applySeed, rolesFor, rolesNote, seedNote } from './apply-seed.ts'
import { inFreshSession } from './fresh-session.ts'
import { checksumOf, readMigrations, type MigrationFile } from './migration-file.ts'
import { pendingOf, planMigrations, type PendingOptions, type PlannedMigration } from './plan.ts'
import { createRecord, listApplied, readRecord, saveProgress } from './record.ts'
import { runFile } from './run-file.ts'
import { isListed, isSharing, listingOf } from './supabase-history.ts'

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
    const planned = planMigrations(upTo, record)
    const pending = pendingOf(planned, options)
    const isShared = await isSharing(client, folder)
    if (isShared) notes.push(...(await listEarlier(client, planned)))
    if (pending.length > 0) await createRecord(client, isShared)
    const applied: string[] = []
    const roles = rolesFor(folder, record)
    if (roles !== undefined) {
      const outcome = await applyRoles(client, folder, roles, options)
      if (outcome === 'ran') applied.push(roles)
      if (outcome === 'changed') notes.push(rolesNote(roles))
    }
    for (const { file, record: known } of pending) {
      if (!file) continue
      const outcome = await applyFile(client, file, known, isShared, options)
      if (outcome === 'applied') applied.push(file.path)
      else notes.push(`${file.path} was applied by Supabase's command line at the same time.`)
    }
    const seeded: string[] = []
    for (const seed of options.seeds ?? []) {
      if (!existsSync(seed)) continue
      const outcome = await applySeed(client, folder, seed, options)
      if (outcome === 'ran') seeded.push(seed)
      if (outcome === 'changed') notes.push(seedNote(seed))
    }
    return { applied, seeded, notes }
  })
}

/**
 * Lists the files that earlier versions of this program have applied, so that Supabase's command line does not apply them, too.
 *
 * @returns sentences about what could not be listed
 */
async function listEarlier(client: Client, planned: readonly PlannedMigration[]): Promise<readonly string[]> {
  const unlisted = planned.flatMap(({ file, record }) => {
    const listing = file && record?.appliedAt && !record.isListed ? listingOf(file) : undefined
    return listing === undefined ? [] : [{ version: record?.version ?? '', listing }]
  })
  if (unlisted.length === 0) return []
  try {
    await createRecord(client, true)
    for (const { version, listing } of unlisted) await listApplied(client, version, listing)
    return []
  } catch (error) {
    // insufficient_privilege: nothing else depends on it.
    if (sqlState(error) !== '42501') throw error
    return [
      `Supabase's command line does not see which migrations were applied: ${(error as Error).message}. It would apply them again.`,
    ]
  }
}

/**
 * Runs what has not taken effect of a file, unless Supabase's command line has applied it since the record was read. That
 * program takes no lock; which of both is later fails at the latest when the version is listed, and is rolled back.
 */
async function applyFile(
  client: Client,
  file: MigrationFile,
  record: PlannedMigration['record'],
  isShared: boolean,
  { isThrowAway = false, onNotice }: ApplyOptions,
): Promise<'applied' | 'applied by supabase'> {
  const listing = isShared ? listingOf(file) : undefined
  const replaces = record?.appliedAt instanceof Date
  const isApplied = async (): Promise<boolean> =>
    listing !== undefined && !replaces && (await isListed(client, listing))
  if (await isApplied()) return 'applied by supabase'
  const run = (): Promise<void> =>
    runFile({
      client,
      file,
      isThrowAway,
      from: record?.done ?? 0,
      wasInterrupted: typeof record?.running === 'number',
      save: (done, running) => saveProgress(client, { ...progressOf(file, done, running), listing, replaces }),
    })
  try {
    await inFreshSession(client, onNotice, run)
    return 'applied'
  } catch (error) {
    if (await isApplied().catch(() => false)) return 'applied by supabase'
    throw error
  }
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
    const isShared = await isSharing(client, folder)
    await createRecord(client, isShared)
    const listing = isShared ? listingOf(file) : undefined
    await saveProgress(client, { ...progressOf(file, file.statements.length, null), listing, replaces: true })
    return file.path
  })
}

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
