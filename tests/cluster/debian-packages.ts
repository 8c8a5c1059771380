// Programs of Debian's packages, run as the user postgres, because some of them refuse to run as root.
import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { chown, mkdtemp } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { installPackage, postgresUser } from './debian-user.ts'

/** The packages by a file that each of them has. */
export const packages = {
  '/usr/sbin/pgbouncer': 'pgbouncer',
  '/usr/sbin/pgpool': 'pgpool2',
  '/usr/bin/patroni': 'patroni',
  '/usr/bin/etcd': 'etcd-server',
  '/usr/sbin/haproxy': 'haproxy',
} as const

/**
 * Installs the packages that are missing. Requires root then.
 *
 * @returns the packages that are missing because they cannot be installed
 */
export function installPackages(): readonly string[] {
  const missing = (): string[] => Object.entries(packages).flatMap(([path, name]) => (existsSync(path) ? [] : [name]))
  const names = missing()
  if (names.length === 0 || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) return names
  installPackage(...names)
  return missing()
}

/** Creates a temporary folder of the user postgres. */
export async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-poolers-'))
  const user = postgresUser()
  if (user) await chown(folder, user.uid, user.gid)
  return folder
}

const accepts = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

export type RunningProgram = {
  /** Stops the program with a signal, and waits for its end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<void>
}

/**
 * Starts a program, and waits until it accepts connections.
 *
 * @param path of the program, which may be another than Debian's
 * @param port that it listens on
 * @param folder with its log file
 */
export async function startProgram(
  path: string,
  args: readonly string[],
  port: number,
  folder: string,
): Promise<RunningProgram> {
  const log = join(folder, `${basename(path)}-${port}.log`)
  const output = openSync(log, 'a')
  const env = { ...process.env, HOME: folder }
  const child: ChildProcess = spawn(path, args, {
    ...postgresUser(),
    cwd: folder,
    env,
    stdio: ['ignore', output, output],
  })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
  })
  const deadline = Date.now() + 30_000
  while (!(await accepts(port))) {
    if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${path} did not start: see ${log}`)
    await pause(50)
  }
  return {
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal)
      await ended
    },
  }
}
