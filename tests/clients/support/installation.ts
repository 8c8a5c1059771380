// Packages of a client in a folder of the cache.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import process from 'node:process'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { clients, dependenciesOf, type Client, type ClientName } from '../releases.ts'

const execute = promisify(execFile)

/** Everything that the clients need and leave behind. */
export const cache = fileURLToPath(new URL('../../../node_modules/.cache/rowhouse/clients/', import.meta.url))

export type Installation = {
  /** The folder with `node_modules`, or the virtual environment. */
  readonly folder: string
  /** Imports a module as a file in the folder would: `load<{ createClient: … }>('@supabase/supabase-js')`. */
  readonly load: <Module>(specifier: string) => Promise<Module>
  /**
   * Runs a program of the installed packages, or `node`, in the folder.
   *
   * @returns its output
   * @throws Error with `stdout` and `stderr` if it fails
   */
  readonly run: (
    program: string,
    args: readonly string[],
    env?: Readonly<Record<string, string>>,
  ) => Promise<{ readonly stdout: string; readonly stderr: string }>
}

/** Installs the packages of a client at the first call. Later calls use what is there. */
export async function installed(name: ClientName): Promise<Installation> {
  const client: Client = clients[name]
  const folder = join(cache, folderName(name, client))
  if (!existsSync(folder)) await install(folder, name, client)
  const programs = join(folder, client.installer === 'pip' ? 'bin' : 'node_modules/.bin')
  return {
    folder,
    load: async <Module>(specifier: string): Promise<Module> => {
      // A dynamic import looks where its own file is.
      const here = (await import(pathToFileURL(join(folder, 'load.mjs')).href)) as {
        readonly load: (specifier: string) => Promise<Module>
      }
      return here.load(specifier)
    },
    run: (program, args, env = {}) => {
      const running = execute(program === 'node' ? process.execPath : join(programs, program), args, {
        cwd: folder,
        env: { ...process.env, NODE_OPTIONS: '', ...env },
        maxBuffer: 2 ** 26,
        timeout: 300_000,
      })
      // Some programs read what is piped to them until its end.
      running.child.stdin?.end()
      return running
    },
  }
}

/** Another list of packages gets another folder. */
function folderName(name: string, client: Client): string {
  const list = createHash('sha256')
    .update(JSON.stringify([client, dependenciesOf]))
    .digest('hex')
    .slice(0, 8)
  return `${name.replace('/', '+')}-${client.release}-${list}`
}

async function install(folder: string, name: string, client: Client): Promise<void> {
  await mkdir(cache, { recursive: true })
  const temporary = await mkdtemp(join(cache, 'installing-'))
  const packages = Object.entries({ [client.package ?? name]: client.release, ...client.with })
  try {
    if (client.installer === 'pip') await installWithPip(temporary, packages)
    else await installWithNpm(temporary, packages, client.scripts ?? false)
    await rename(temporary, folder)
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
}

type Packages = readonly (readonly [name: string, release: string])[]

async function installWithNpm(folder: string, packages: Packages, runsScripts: boolean): Promise<void> {
  const manifest = { private: true, type: 'module', dependencies: Object.fromEntries(packages) }
  await writeFile(join(folder, 'package.json'), JSON.stringify(manifest))
  await writeFile(join(folder, 'load.mjs'), 'export const load = (specifier) => import(specifier)\n')
  const flags = [
    '--no-audit',
    '--no-fund',
    '--no-package-lock',
    `--before=${dependenciesOf}`,
    ...(runsScripts ? [] : ['--ignore-scripts']),
  ]
  await execute('npm', ['install', ...flags], { cwd: folder, maxBuffer: 2 ** 26 })
}

async function installWithPip(folder: string, packages: Packages): Promise<void> {
  // Programs of a virtual environment name the folder that they were installed into: with --copies and `python -m`
  // the environment can be moved.
  await execute('python3', ['-m', 'venv', '--copies', folder])
  const flags = ['--quiet', '--disable-pip-version-check', '--only-binary', ':all:']
  const wanted = packages.map(([name, release]) => `${name}==${release}`)
  await execute(join(folder, 'bin/python'), ['-m', 'pip', 'install', ...flags, ...wanted], { maxBuffer: 2 ** 26 })
}
