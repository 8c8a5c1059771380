// An earlier version of the program, built from this repository into a temporary folder.
import { execFile } from 'node:child_process'
import { cp, mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const here = fileURLToPath(new URL('../..', import.meta.url))
const git = async (...args: string[]): Promise<string> => (await run('git', ['-C', here, ...args])).stdout.trim()

export type EarlierVersion = {
  readonly commit: string
  readonly folder: string
  /** Path of its `main.js`. */
  readonly main: string
  /** Names of its migrations. */
  readonly migrations: readonly string[]
  /** Gives it the migrations of this version, for its own tests. */
  readonly takeMigrations: () => Promise<void>
  readonly remove: () => Promise<void>
}

const changesTables = /\b(?:create|alter|drop)\s+(?:unlogged\s+)?table\b/i

/** The commit before the one that added the newest migration that changes tables. */
async function beforeNewestTables(): Promise<string> {
  const folder = join(here, 'sql/migrations')
  for (const file of (await readdir(folder)).sort().reverse()) {
    if (!changesTables.test(await readFile(join(folder, file), 'utf8'))) continue
    const added = await git('log', '--diff-filter=A', '--format=%H', '-1', '--', `sql/migrations/${file}`)
    if (added !== '') return `${added}^`
  }
  throw new Error('no migration that changes tables has been committed')
}

/**
 * Builds an earlier version. It uses the packages of this one, unless its own differ; then those are installed.
 *
 * @param ref a commit; by default the one before the newest migration that changes tables
 */
export async function buildEarlierVersion(ref?: string): Promise<EarlierVersion> {
  const commit = await git('rev-parse', ref ?? (await beforeNewestTables()))
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-earlier-'))
  const archive = join(folder, 'archive.tar')
  await git('archive', '--format=tar', `--output=${archive}`, commit)
  await run('tar', ['-xf', archive, '-C', folder])
  await rm(archive)
  const lockOf = async (place: string): Promise<unknown> => {
    const { packages } = JSON.parse(await readFile(join(place, 'package-lock.json'), 'utf8')) as {
      packages: Record<string, unknown>
    }
    // The first entry is the program itself, with its version and licence.
    return JSON.stringify(Object.entries(packages).slice(1))
  }
  if ((await lockOf(folder)) === (await lockOf(here)))
    await symlink(join(here, 'node_modules'), join(folder, 'node_modules'))
  else await run('npm', ['ci', '--silent', '--no-audit', '--no-fund'], { cwd: folder })
  const compiler = join(folder, 'node_modules/typescript/bin/tsc')
  await run(process.execPath, [compiler, '-p', 'tsconfig.build.json', '--noCheck'], { cwd: folder })
  return {
    commit,
    folder,
    main: join(folder, 'dist/main.js'),
    migrations: (await readdir(join(folder, 'sql/migrations'))).sort(),
    takeMigrations: () => cp(join(here, 'sql/migrations'), join(folder, 'sql/migrations'), { recursive: true }),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
