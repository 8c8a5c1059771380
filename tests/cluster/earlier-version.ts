// An earlier version of the program, built from this repository into a temporary folder.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, symlink } from 'node:fs/promises'
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
  /** Whether it has the setting `server-drain-time`. */
  readonly drains: boolean
  readonly remove: () => Promise<void>
}

const changesTables = /\b(?:create|alter|drop)\s+(?:unlogged\s+)?table\b/i

/** The hashes of the migrations of a commit, by name. */
async function migrationsOf(commit: string): Promise<ReadonlyMap<string, string>> {
  const lines = (await git('ls-tree', commit, 'sql/migrations/')).split('\n')
  return new Map(lines.map((line) => [line.split('/').at(-1) ?? '', line.split(/\s/)[2] ?? '']))
}

/**
 * The latest commit that lacks the newest migration that changes tables, and whose migrations are unchanged since then.
 * Merged branches count as one commit.
 */
async function beforeNewestTables(): Promise<string> {
  const current = await migrationsOf('HEAD')
  let newest: string | undefined
  for (const name of [...current.keys()].sort()) {
    if (changesTables.test(await readFile(join(here, 'sql/migrations', name), 'utf8'))) newest = name
  }
  const changes = await git('rev-list', '--first-parent', 'HEAD', '--', 'sql/migrations')
  for (const change of changes.split('\n')) {
    const migrations = await migrationsOf(`${change}^1`)
    const areUnchanged = [...migrations].every(([name, hash]) => current.get(name) === hash)
    if (newest !== undefined && !migrations.has(newest) && areUnchanged) return `${change}^1`
  }
  throw new Error('there is no earlier version with the same migrations: name one with FROM')
}

/**
 * Builds an earlier version. It uses the packages of this one, unless its own differ; then those are installed.
 *
 * @param ref a commit; by default the latest one without the newest migration that changes tables
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
    drains: (await readFile(join(folder, 'server/config/service-settings.ts'), 'utf8')).includes("'server-drain-time'"),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
