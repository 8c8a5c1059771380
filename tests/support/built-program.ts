// The built program as a separate process whose memory and open files can be inspected.
import { spawn } from 'node:child_process'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { createServer } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { nodeOptions } from './node-options.ts'

const main = fileURLToPath(new URL('../../dist/main.js', import.meta.url))

export type BuiltProgram = {
  readonly url: string
  readonly port: number
  /** Resident memory in bytes. */
  readonly memory: () => Promise<number>
  /** Number of open files that are already unlinked. */
  readonly unnamedFiles: () => Promise<number>
}

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })

/** The environment without settings of the program and of libpq. */
const inherited = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) => !/^(PGRST_|PG|DATABASE_URL|MIGRATION_|DATA_DIR|REST_|NODE_)/.test(name),
  ),
)

/** Starts `dist/main.js serve` for the duration of a test, and waits until it is ready. */
export async function startBuiltProgram(
  t: Pick<Test, 'teardown'>,
  env: Readonly<Record<string, string>>,
): Promise<BuiltProgram> {
  const port = await freePort()
  const child = spawn(process.execPath, [...nodeOptions, main, 'serve'], {
    env: { ...inherited, PGRST_SERVER_PORT: String(port), PGRST_LOG_LEVEL: 'crit', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const url = `http://127.0.0.1:${port}`
  for (let time = 0; time < 600; time++) {
    const status = await fetch(`${url}/ready`).then(
      (response) => response.status,
      () => 0,
    )
    if (status === 200) break
    if (child.exitCode !== null) throw new Error('the program has ended')
    await pause(100)
  }
  return {
    url,
    port,
    memory: async () => {
      const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${child.pid}/status`, 'utf8')) ?? []
      return Number(kilobytes) * 1024
    },
    unnamedFiles: async () => {
      const folder = `/proc/${child.pid}/fd`
      const targets = await Promise.all(
        (await readdir(folder)).map((name) => readlink(`${folder}/${name}`).catch(() => '')),
      )
      return targets.filter((target) => target.endsWith('(deleted)')).length
    },
  }
}
