// Moves the embedded database to the major version of PostgreSQL that is installed: the old server and a new one run side by
// side, and the new database takes the place of the old one when it is complete.
import { rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { findBinaries, type Binaries } from './binaries.ts'
import { clusterName, clusterVersion, findCluster, initialise, settleDraft, withDraft, type Draft } from './cluster.ts'
import { openDataFolder } from './data-folder.ts'
import { addressesOf, prepareLog, startWithRetries } from './embedded.ts'
import { EmbeddedDatabaseError } from './embedded-error.ts'
import { lockFolder } from './folder-lock.ts'
import { endOrphan } from './postmaster.ts'
import { finishReplacing, replaceData, stage } from './replaced-data.ts'
import { ensureSecrets, type Secrets } from './secrets.ts'
import { databaseUser, type SystemUser } from './system-user.ts'

export type UpgradeOptions = {
  readonly dataDir: string
  /** The programs of the version that created the database. */
  readonly oldBinaries: (majorVersion: number, user: SystemUser | null) => Promise<Binaries>
  /** Copies everything, and compares it. Its arguments are connection strings of the superusers. */
  readonly move: (from: string, to: string) => Promise<void>
  readonly relocatedDataDir?: string
  readonly log: (message: string) => void
}

export type Upgraded = {
  readonly from: number
  readonly to: number
  /** Folder with the old database. */
  readonly aside: string
}

/**
 * @returns null when the database has the version of the programs already
 * @throws FolderInUse while a server uses the data folder; EmbeddedDatabaseError; the errors of `move`. Then nothing changes
 */
export async function upgradeCluster(options: UpgradeOptions): Promise<Upgraded | null> {
  const { log } = options
  const dataDir = await openDataFolder(resolve(options.dataDir))
  const locks = [await lockFolder(dataDir)]
  try {
    await finishReplacing(dataDir)
    const existing = await findCluster(dataDir)
    const from = existing === null ? null : await clusterVersion(existing)
    if (existing === null || from === null) {
      throw new EmbeddedDatabaseError(`There is no embedded database in ${options.dataDir}.`)
    }
    if (dirname(existing) !== dataDir) locks.push(await lockFolder(dirname(existing)))
    const user = await databaseUser(existing, options.relocatedDataDir)
    const binaries = await findBinaries(user)
    const to = binaries.majorVersion
    if (from === to) return null
    if (from > to) {
      throw new EmbeddedDatabaseError(`${existing} was created by PostgreSQL ${from}, and this is PostgreSQL ${to}.`)
    }
    const old = await options.oldBinaries(from, user)
    if (old.majorVersion !== from) {
      throw new EmbeddedDatabaseError(
        `${existing} was created by PostgreSQL ${from}, but ${old.postgres} is PostgreSQL ${old.majorVersion}.`,
      )
    }
    await endOrphan(existing, log)
    const secrets = await ensureSecrets(dataDir)
    return await withDraft(dataDir, user, async (draft) => {
      await initialise(draft, binaries, user, secrets.superuserPassword)
      log(`Copying the database from PostgreSQL ${from} to PostgreSQL ${to}`)
      await runBoth(draft, { existing, old, binaries, user, secrets }, options.move)
      const aside = await replace(draft, log)
      return { from, to, aside }
    })
  } finally {
    for (const release of locks) await release()
  }
}

type Servers = {
  readonly existing: string
  readonly old: Binaries
  readonly binaries: Binaries
  readonly user: SystemUser | null
  readonly secrets: Secrets
}

/** Runs `use` while both servers run. */
async function runBoth(
  { cluster, dataDir }: Draft,
  { existing, old, binaries, user, secrets }: Servers,
  use: (from: string, to: string) => Promise<void>,
): Promise<void> {
  const logFile = await prepareLog(dataDir)
  const source = await startWithRetries({ binaries: old, cluster: existing, user, logFile })
  try {
    const target = await startWithRetries({ binaries, cluster, user, logFile })
    try {
      await use(addressesOf(secrets, source.port).adminUri, addressesOf(secrets, target.port).adminUri)
    } finally {
      // Flushes everything to disk.
      await target.stop()
    }
  } finally {
    await source.stop()
  }
}

async function replace(draft: Draft, log: (message: string) => void): Promise<string> {
  const { dataDir } = draft
  const { staged, aside } = await stage(dataDir, 'upgrade')
  const folder = join(dataDir, staged)
  try {
    await settleDraft(draft, join(folder, clusterName), log)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
  await replaceData(dataDir, { staged, aside })
  return join(dataDir, aside)
}
