// Checks the addresses to listen on, before anything else is started.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { ConfigError } from '../config/config-error.ts'
import { settingSource, type LoadedConfig } from '../config/load.ts'

/** The minor version of each release line since which Node supports `reusePort`. All later lines support it. */
const reusePortSince: ReadonlyMap<number, number> = new Map([
  [22, 12],
  [23, 1],
])

/** Whether a version of Node can listen with SO_REUSEPORT. https://nodejs.org/api/net.html#serverlistenoptions-callback */
export function canReusePort(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 23 || minor >= (reusePortSince.get(major) ?? Infinity)
}

/** Converts PostgREST's names for "any address" to addresses for `listen`. */
export function hostToListenOn(name: string): string {
  if (name === '*' || name === '*6' || name === '!6') return '::'
  if (name === '*4' || name === '!4') return '0.0.0.0'
  return name
}

/** The server cannot listen on a configured port. The message says why, and what to do. */
export class PortError extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'PortError'
  }
}

/**
 * Checks that the server can listen on the configured ports.
 *
 * @throws PortError with the name under which the setting was set
 * @throws ConfigError when `server-reuseport` is not available
 */
export async function checkPorts(loaded: LoadedConfig): Promise<void> {
  const { config } = loaded
  if (config.serverReuseport && !canReusePort(process.versions.node)) {
    const source = settingSource(loaded, 'serverReuseport') ?? 'server-reuseport'
    const message = `needs Node.js 22.12 or later; this is ${process.versions.node}`
    throw new ConfigError([{ source, message }])
  }
  if (config.serverUnixSocket === null) {
    await checkPort(loaded, 'serverPort', config.serverHost, config.serverPort, config.serverReuseport)
  }
  if (config.adminServerUnixSocket === null && config.adminServerPort !== null) {
    await checkPort(loaded, 'adminServerPort', config.adminServerHost, config.adminServerPort, false)
  }
}

/**
 * Advice to avoid losing connections with `server-reuseport`; undefined if it is off or needs none. Linux resets the queued
 * connections of a socket that closes, unless it is configured to migrate them to other sockets on the port.
 * https://docs.kernel.org/networking/ip-sysctl.html (tcp_migrate_req)
 */
export async function reusePortAdvice(loaded: LoadedConfig): Promise<string | undefined> {
  if (!loaded.config.serverReuseport || (await migratesConnections()) !== false) return undefined
  const source = settingSource(loaded, 'serverReuseport') ?? 'server-reuseport'
  return `${source}: set net.ipv4.tcp_migrate_req=1 with sysctl. Otherwise a process that ends may reset new connections.`
}

/** Whether the kernel migrates queued connections of a socket that closes; undefined if unknown. */
export const migratesConnections = (): Promise<boolean | undefined> =>
  readFile('/proc/sys/net/ipv4/tcp_migrate_req', 'utf8').then(
    (text) => text.trim() !== '0',
    () => undefined,
  )

async function checkPort(
  loaded: LoadedConfig,
  key: 'serverPort' | 'adminServerPort',
  host: string,
  port: number,
  reusePort: boolean,
): Promise<void> {
  // Port 0 selects a free port.
  if (port === 0) return
  const error = await listeningError(host, port, reusePort)
  if (!error) return
  const isOfHost = hostFaults.has(error.code ?? '')
  const [hostKey, variable] =
    key === 'serverPort' ? (['serverHost', 'PORT'] as const) : (['adminServerHost', 'PGRST_ADMIN_SERVER_PORT'] as const)
  const source = settingSource(loaded, isOfHost ? hostKey : key) ?? (isOfHost ? 'HOST' : variable)
  throw new PortError(`${source}: ${faultOf(error, host, port)}`)
}

/** Errors caused by the host rather than the port. */
const hostFaults: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN'])

/** Why listening fails; undefined if it succeeds. */
function listeningError(host: string, port: number, reusePort: boolean): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ host: hostToListenOn(host), port, reusePort }, () => server.close(() => resolve(undefined)))
  })
}

function faultOf({ code = '', message }: NodeJS.ErrnoException, host: string, port: number): string {
  if (hostFaults.has(code)) {
    return `${host} is not an address of this machine. Choose 127.0.0.1 for access from this machine only, or !4 for all addresses.`
  }
  if (code === 'EADDRINUSE') {
    const other = port < 65_535 ? port + 1 : port - 1
    return `port ${port} on ${host} is in use. Stop the program that uses it, or choose another port, such as ${other}.`
  }
  if (code === 'EACCES') return `this user may not listen on port ${port}. Choose port 1024 or higher.`
  return `cannot listen on port ${port} of ${host} (${message}).`
}
