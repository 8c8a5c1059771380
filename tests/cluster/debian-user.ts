// Debian's packages, and PostgreSQL's programs run as the user postgres, because they refuse to run as root.
import { execFile, execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export const postgresVersion = process.env.POSTGRES_VERSION ?? '15'
/** Folder of PostgreSQL's programs. */
export const bin = `/usr/lib/postgresql/${postgresVersion}/bin`

/** Installs packages. Requires root. */
export function installPackage(...names: readonly string[]): void {
  console.log(`installing ${names.join(', ')}`)
  const options = { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } } as const
  execFileSync('apt-get', ['update', '-q'], options)
  execFileSync('apt-get', ['install', '-yq', '--no-install-recommends', ...names], options)
}

const idOf = (flag: '-u' | '-g'): number => Number(execFileSync('id', [flag, 'postgres']).toString())

/** The user that runs the programs; undefined if this process is not root's, and runs them itself. */
export const postgresUser = (): { readonly uid: number; readonly gid: number } | undefined =>
  process.getuid?.() === 0 ? { uid: idOf('-u'), gid: idOf('-g') } : undefined

/** Runs a program of PostgreSQL. */
export const asPostgres = (command: string, args: readonly string[]): Promise<unknown> =>
  process.getuid?.() === 0
    ? run('runuser', ['-u', 'postgres', '--', join(bin, command), ...args], { cwd: '/' })
    : run(join(bin, command), [...args], { cwd: '/' })
