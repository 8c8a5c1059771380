// A version of the program, built from this repository into a temporary folder.
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const here = fileURLToPath(new URL('../..', import.meta.url))
const git = async (...args: string[]): Promise<string> => (await run('git', ['-C', here, ...args])).stdout.trim()

export type BuiltVersion = {
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

/**
 * Builds a version. It uses the packages of this one, unless its own differ; then those are installed.
 *
 * @param ref a commit
 * @param migrations texts of further migrations, by file name
 */
export async function buildVersion(
  ref: string,
  migrations: Readonly<Record<string, string>> = {},
): Promise<BuiltVersion> {
  const commit = await git('rev-parse', ref)
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-version-'))
  const archive = join(folder, 'archive.tar')
  await git('archive', '--format=tar', `--output=${archive}`, commit)
  await run('tar', ['-xf', archive, '-C', folder])
  await rm(archive)
  for (const [name, text] of Object.entries(migrations)) await writeFile(join(folder, 'sql/migrations', name), text)
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
