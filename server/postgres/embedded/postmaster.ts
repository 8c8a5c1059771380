// Starts and stops Postgres server processes.
import { open, readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { promisify } from 'node:util'
import { isInTime } from '../../common/timers.ts'
import type { Binaries } from './binaries.ts'
import { EmbeddedDatabaseError, hasErrorCode } from './embedded-error.ts'
import { ifMissing } from './missing-file.ts'
import { awaitDeath, birthOf } from './running-process.ts'
import { asUser, type SystemUser } from './system-user.ts'

const run = promisify(execFile)

/** Fast shutdown: terminates all backends and writes a checkpoint, so the next start needs no recovery. */
const fastShutdown = 'SIGINT'
/** Immediate shutdown: the next start recovers from the write-ahead log. No committed data is lost. */
const immediateShutdown = 'SIGQUIT'
const fastTimeout = 30_000
const immediateTimeout = 15_000
/** Milliseconds. */
const startTimeout = 120_000

export type PidFile = { readonly pid: number; readonly port: number; readonly ready: boolean }

/** The contents of `postmaster.pid`, whose lines Postgres's `pidfile.h` documents; null without the file. */
export async function readPidFile(cluster: string): Promise<PidFile | null> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch(ifMissing(null))
  if (text === null) return null
  const lines = text.split('\n')
  // A pid is negative for a server in single-user mode.
  return { pid: Math.abs(Number(lines[0])), port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' }
}

/** Whether a process is the Postgres server of this cluster, whose working directory is the data folder. */
async function servesCluster(pid: number, cluster: string): Promise<boolean> {
  try {
    // Compares inodes, because the folder may have been moved.
    const [program, working, data] = await Promise.all([
      readFile(`/proc/${pid}/comm`, 'utf8'),
      stat(`/proc/${pid}/cwd`),
      stat(cluster),
    ])
    return program.trim() === 'postgres' && working.dev === data.dev && working.ino === data.ino
  } catch {
    // Checks the command line if there is no `/proc`, or the process belongs to another user.
    const { stdout } = await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
    return stdout.includes('postgres') && stdout.includes(` -D ${cluster} `)
  }
}

/**
 * Stops a Postgres server that a dead owner left behind on this cluster. If the process in `postmaster.pid` is an
 * unrelated one, leaves it alone and removes only the file, which would keep Postgres from starting.
 */
export async function endOrphan(cluster: string, log: (message: string) => void): Promise<void> {
  const file = await readPidFile(cluster)
  if (!file || !Number.isInteger(file.pid) || file.pid === 0) return
  const { pid } = file
  const birth = await birthOf(pid)
  if (birth === null) return
  if (!(await servesCluster(pid, cluster))) {
    await rm(join(cluster, 'postmaster.pid'), { force: true })
    return
  }
  log(`Stopping the PostgreSQL server (process ${pid}) that was left running when rowhouse was killed`)
  for (const [signal, timeout] of [
    [fastShutdown, fastTimeout],
    [immediateShutdown, immediateTimeout],
  ] as const) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if (hasErrorCode(error, 'ESRCH')) return
      throw error
    }
    if (await awaitDeath(pid, birth, timeout)) return
  }
  throw new EmbeddedDatabaseError(
    `A PostgreSQL server (process ${pid}) is still running in ${cluster} and does not stop. Stop it, then start again.`,
  )
}

/**
 * The log says which rows were changed, for as many readers as there may be processes. A server that recovers must not have
 * fewer senders than the one that wrote the log. What a reader does not fetch does not fill the disk.
 */
const replication = {
  wal_level: 'logical',
  max_wal_senders: '32',
  max_replication_slots: '32',
  max_slot_wal_keep_size: '16GB',
}

export type Postmaster = {
  readonly port: number
  /** Resolves when the server has ended, by `stop` or unexpectedly. */
  readonly ended: Promise<void>
  readonly stop: () => Promise<void>
}

/**
 * Starts a server and waits until it accepts connections.
 *
 * The server runs in its own session, so that neither Ctrl-C nor closing the terminal reaches it: Node finishes first, then
 * stops the database. Its messages go to a file, which works after Node's death, unlike a pipe.
 */
export async function startPostmaster(options: {
  readonly binaries: Binaries
  readonly cluster: string
  readonly user: SystemUser | null
  readonly port: number
  readonly logFile: string
  /** Settings of the server in addition to those that every embedded database has. */
  readonly settings?: Readonly<Record<string, string>>
  /** Milliseconds until it must accept connections. The default is long enough for the recovery of a large database. */
  readonly timeout?: number
  readonly signal?: AbortSignal | undefined
}): Promise<Postmaster> {
  const { binaries, cluster, user, port, logFile, timeout = startTimeout, signal } = options
  const settings = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...replication,
    ...options.settings,
  }
  const zombie = await zombieOf(cluster)
  const { env, ...account } = asUser(user)
  const log = await open(logFile, 'a', 0o600)
  const { size } = await log.stat()
  let server: ChildProcess
  try {
    server = spawn(
      binaries.postgres,
      ['-D', cluster, '-p', String(port), ...Object.entries(settings).flatMap(([k, v]) => ['-c', `${k}=${v}`])],
      { ...account, env: { ...env, ...zombie }, detached: true, stdio: ['ignore', log.fd, log.fd] },
    )
  } finally {
    await log.close()
  }
  const control = controlOf(server)
  try {
    await untilReady(server, cluster, timeout, signal)
  } catch (error) {
    await control.stop()
    if (signal?.aborted) throw error
    const reason = (await readTail(logFile, size)).trim()
    throw new EmbeddedDatabaseError(`The embedded PostgreSQL did not start. ${reason || String(error)}`, {
      cause: error,
    })
  }
  return { port, ...control }
}

/**
 * Makes Postgres pass over the pid of a server that is dead, but still known to the system, because its parent does not ask
 * for its exit code: a killed server in a container without an init. Postgres then still waits for what used its memory.
 * See `CreateLockFile` in Postgres's `miscinit.c`.
 */
async function zombieOf(cluster: string): Promise<Readonly<Record<string, string>>> {
  const previous = await readPidFile(cluster)
  const isDead = previous !== null && previous.pid > 0 && (await birthOf(previous.pid)) === null
  return isDead ? { PG_GRANDPARENT_PID: String(previous.pid) } : {}
}

function controlOf(server: ChildProcess): Pick<Postmaster, 'ended' | 'stop'> {
  // A last resort for `process.exit` and uncaught errors, when there is no time to wait.
  const shutDown = (): void => void server.kill(fastShutdown)
  process.once('exit', shutDown)
  const ended = new Promise<void>((resolve) => {
    const settle = (): void => {
      process.removeListener('exit', shutDown)
      resolve()
    }
    server.once('exit', settle)
    // The program could not be started.
    server.once('error', settle)
  })
  // A running database must not keep Node alive.
  server.unref()
  let stopping: Promise<void> | undefined
  return { ended, stop: () => (stopping ??= stopServer(server, ended)) }
}

async function stopServer(server: ChildProcess, ended: Promise<void>): Promise<void> {
  server.ref()
  for (const [signal, timeout] of [
    [fastShutdown, fastTimeout],
    [immediateShutdown, immediateTimeout],
  ] as const) {
    server.kill(signal)
    if (await isInTime(timeout, ended)) return
  }
  throw new EmbeddedDatabaseError(`The embedded PostgreSQL (process ${server.pid ?? 'unknown'}) does not stop.`)
}

/** Waits for the status in the server's pid file that says that it accepts connections. */
async function untilReady(server: ChildProcess, cluster: string, timeout: number, signal?: AbortSignal): Promise<void> {
  let failure: Error | undefined
  server.once('error', (error) => (failure = error))
  const deadline = Date.now() + timeout
  for (;;) {
    signal?.throwIfAborted()
    if (failure) throw failure
    if (server.exitCode !== null || server.signalCode !== null) throw new Error('It exited immediately.')
    const file = await readPidFile(cluster)
    if (file?.ready && file.pid === server.pid) return
    if (Date.now() > deadline) throw new Error(`It was not ready within ${timeout / 1000} s.`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

async function readTail(file: string, from: number): Promise<string> {
  const { size } = await stat(file)
  const handle = await open(file)
  try {
    const start = Math.max(from, size - 2000)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(size - start), 0, size - start, start)
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await handle.close()
  }
}
