// Applies the files beside the folder of migrations, each once per database: seeds, and the roles of a project of Supabase.
import type { Client } from '../../postgres/connection/client.ts'
import { inFreshSession } from './fresh-session.ts'
import { checksumOf, readSqlFile, type SqlFile } from './migration-file.ts'
import { createRecord, readSeed, saveSeed, type AppliedMigration } from './record.ts'
import { runFile } from './run-file.ts'
import { findRoles, seedName } from './seed-files.ts'
import {
  createSeedHistory,
  isSharing,
  listSeed,
  readListedSeed,
  seedListing,
  type ListedSeed,
} from './supabase-history.ts'

export type SeedState =
  | 'applied'
  /** It was changed after it was applied. */
  | 'changed'
  | 'not applied'

type Options = {
  readonly isThrowAway?: boolean
  readonly onNotice?: (message: string) => void
}

/** What became of a file: it ran, or it stays `applied`, or `changed`, as it was before. */
type Outcome = 'ran' | 'applied' | 'changed'

/**
 * Applies a seed that this database has not had.
 *
 * @param folder of the migrations
 * @param reseed whether to apply it again if it was changed since it was applied
 */
export async function applySeed(
  client: Client,
  folder: string,
  path: string,
  { reseed = false, ...options }: Options & { readonly reseed?: boolean },
): Promise<Outcome> {
  const name = seedName(folder, path)
  const listing = (await isSharing(client, folder)) ? await seedListing(folder, name, path) : undefined
  const file = await readSqlFile(path)
  const state = await stateOf(client, file, name, listing)
  if (state === 'applied' || (state === 'changed' && !reseed)) {
    if (listing) await listEarlier(client, state === 'applied' ? listing : { ...listing, hash: '' })
    return state
  }
  await createRecord(client, false)
  if (listing) await createSeedHistory(client)
  await run(client, file, options, async () => {
    await saveSeed(client, name, checksumOf(file))
    if (listing) await listSeed(client, listing)
  })
  return 'ran'
}

/** Whether a seed was applied, by this program or by Supabase's command line. */
export async function seedState(client: Client, folder: string, path: string): Promise<SeedState> {
  const name = seedName(folder, path)
  return stateOf(client, await readSqlFile(path), name, await seedListing(folder, name, path))
}

async function stateOf(
  client: Client,
  file: SqlFile,
  name: string,
  listing: ListedSeed | undefined,
): Promise<SeedState> {
  const own = await readSeed(client, name)
  const listed = listing === undefined ? undefined : await readListedSeed(client, listing)
  if (own === checksumOf(file) || (listing !== undefined && listed === listing.hash)) return 'applied'
  return own === undefined && listed === undefined ? 'not applied' : 'changed'
}

/** Lists a seed that an earlier version of this program has applied, so that Supabase's command line does not apply it again. */
async function listEarlier(client: Client, listing: ListedSeed): Promise<void> {
  if ((await readListedSeed(client, listing)) !== undefined) return
  await createSeedHistory(client)
  await listSeed(client, listing)
}

/**
 * The `roles.sql` of a project, unless Supabase's command line has set the database up, which applies it itself.
 *
 * @param record from `readRecord`
 */
export function rolesFor(folder: string, record: ReadonlyMap<string, AppliedMigration>): string | undefined {
  return [...record.values()].some(({ checksum }) => checksum === null) ? undefined : findRoles(folder)
}

/** Applies `roles.sql` once per database. Roles belong to the cluster: it is no error if one exists. */
export async function applyRoles(client: Client, folder: string, path: string, options: Options): Promise<Outcome> {
  const name = seedName(folder, path)
  const file = await readSqlFile(path)
  const state = await stateOf(client, file, name, undefined)
  if (state !== 'not applied') return state
  await createRecord(client, false)
  await run(client, file, { ...options, toleratesRoles: true }, () => saveSeed(client, name, checksumOf(file)))
  return 'ran'
}

/** Runs a file, and `save` in the transaction of its last statement. */
async function run(
  client: Client,
  file: SqlFile,
  { isThrowAway = false, toleratesRoles = isThrowAway, onNotice }: Options & { readonly toleratesRoles?: boolean },
  save: () => Promise<void>,
): Promise<void> {
  await inFreshSession(client, onNotice, () =>
    runFile({
      client,
      file,
      from: 0,
      isThrowAway,
      toleratesRoles,
      startsOver: true,
      save: async (done) => {
        if (done === file.statements.length) await save()
      },
    }),
  )
}

/** Sentence about `roles.sql` after a change. */
export const rolesNote = (path: string): string =>
  `${path} was changed after it was applied. It does not run again: put the change into a migration.`

/** Sentence about a seed after a change. */
export const seedNote = (seed: string): string =>
  `${seed} was changed after it was applied. It does not run again by itself: \`rowhouse migrate --seed\` runs it.`
