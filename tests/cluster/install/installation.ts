// What the checks of installations share: results, processes, and a database.
import { execFile, spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import pg from 'pg'
import { startEmbedded } from '../../../server/postgres/embedded/embedded.ts'

export const run = promisify(execFile)
export const root = fileURLToPath(new URL('../../..', import.meta.url))

export const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as {
  readonly version: string
  readonly dependencies: Readonly<Record<string, string>>
}

/** What a check of an installation gets. */
export type Installation = {
  /** A folder of its own, which is removed at the end. */
  readonly folder: string
  /** Registers what to stop or remove at the end, in reverse order. */
  readonly atEnd: (close: () => unknown) => void
  /** Reports a result. */
  readonly check: (isRight: boolean, text: string) => void
  /** Connection strings of a new database, which has none of the program's roles and tables. */
  readonly database: () => Promise<{ readonly DATABASE_URL: string; readonly MIGRATION_DATABASE_URL: string }>
}

/** The environment without settings of the program, of libpq, and of npm's scripts. */
export const plainEnvironment: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) =>
      !/^(PGRST_|PG|DATABASE_URL|MIGRATION_|SESSION_|DATA_DIR|REST_|HOST$|PORT$|npm_|NODE_OPTIONS)/.test(name),
  ),
)

/** Secrets of a production environment. */
export const secrets = { PGRST_JWT_SECRET: 'j'.repeat(40), SESSION_SECRETS: 's'.repeat(40) }

/** Debian packages are installed if a program of theirs is missing. Requires root then. */
export async function installPackages(programs: Readonly<Record<string, string>>): Promise<void> {
  const missing: string[] = []
  for (const [program, name] of Object.entries(programs)) {
    await run('sh', ['-c', `command -v ${program}`]).catch(() => missing.push(name))
  }
  if (missing.length === 0) return
  console.log(`# installing ${missing.join(', ')}`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  await run('apt-get', ['update', '-q'], { env })
  await run('apt-get', ['install', '-yq', '--no-install-recommends', ...missing], { env, maxBuffer: 64e6 })
}

export type Started = {
  readonly output: () => string
  /** Sends a signal, and resolves with the exit code and the milliseconds until the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<{ readonly code: number | null; readonly took: number }>
}

/** Starts a program that serves, and waits until `url` responds with 200. It is killed at the end. */
export async function startServing(
  installation: Pick<Installation, 'atEnd'>,
  command: readonly string[],
  options: { readonly env: Readonly<Record<string, string | undefined>>; readonly cwd?: string; readonly url: string },
): Promise<Started> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { env: options.env, cwd: options.cwd, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text))
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  installation.atEnd(() => {
    child.kill('SIGKILL')
    return ended
  })
  const isOver = (): boolean => child.exitCode !== null
  if (!(await respondsOk(options.url, 90_000, isOver)))
    throw new Error(`${command.join(' ')} did not serve:\n${output}`)
  return {
    output: () => output,
    stop: async (signal = 'SIGTERM') => {
      const begun = performance.now()
      child.kill(signal)
      return { code: await ended, took: performance.now() - begun }
    },
  }
}

/** Whether a URL responds with 200 within a time, in milliseconds. */
export async function respondsOk(url: string, limit: number, isOver: () => boolean = () => false): Promise<boolean> {
  for (const start = performance.now(); performance.now() - start < limit && !isOver(); await pause(100)) {
    const status = await fetch(url).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) return true
  }
  return false
}

/** A cluster with the superuser `postgres`, and no roles of this program. Returns a function that creates databases. */
export async function startDatabases(
  folder: string,
  atEnd: (close: () => unknown) => void,
): Promise<Installation['database']> {
  const cluster = await startEmbedded({ dataDir: join(folder, 'data'), log: () => undefined })
  atEnd(() => cluster.stop())
  const owner = new pg.Client({ connectionString: cluster.adminUri })
  await owner.connect()
  atEnd(() => owner.end())
  await owner.query('drop role authenticator')
  await owner.query(`alter role postgres password 'its-password'`)
  let count = 0
  return async () => {
    const name = `app_${++count}`
    await owner.query(`create database ${name}`)
    const at = `127.0.0.1:${cluster.port}/${name}`
    return {
      DATABASE_URL: `postgres://authenticator:choose-a-password@${at}`,
      MIGRATION_DATABASE_URL: `postgres://postgres:its-password@${at}`,
    }
  }
}
