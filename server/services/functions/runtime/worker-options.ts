// How Node.js starts for a worker: with little memory and few permissions, and without the variables of the server.
import { existsSync, realpathSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Variables that say which certificates Node.js trusts and where its libraries are. The worker removes them. */
const inherited = ['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'LD_LIBRARY_PATH', 'SYSTEMROOT']

export const workerVariables = (): Record<string, string> => ({
  ...Object.fromEntries(
    inherited.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  ),
  // With more malloc arenas, glibc does not return memory to the system.
  MALLOC_ARENA_MAX: '2',
})

/** The folders of packages that a file can import, as Node.js looks them up, and where they really are. */
function packageFolders(folder: string): string[] {
  const parent = dirname(folder)
  const own = join(folder, 'node_modules')
  return [...(existsSync(own) ? [own, realpathSync(own)] : []), ...(parent === folder ? [] : packageFolders(parent))]
}

const flags = process.allowedNodeEnvironmentFlags
/** The flag of the permission model, whose name changed in Node.js 22.13. https://nodejs.org/api/permissions.html */
const permission = flags.has('--permission') ? '--permission' : '--experimental-permission'

export type WorkerAccess = {
  /** Folder of the function. */
  readonly folder: string
  /** Paths of code. */
  readonly code: readonly string[]
  /** Folders of packages that are not in `node_modules`. */
  readonly linked: readonly string[]
}

const readFlag = (path: string): string => `--allow-fs-read=${path}`

/**
 * Options of Node.js: a worker reads its code, files of its folder and packages. It neither writes files nor starts processes or threads,
 * nor loads native addons. This stops mistakes: it is no sandbox.
 */
export const workerOptions = ({ folder, code, linked }: WorkerAccess, memoryMegabytes: number): string[] => [
  '--no-warnings',
  '--enable-source-maps',
  `--max-old-space-size=${memoryMegabytes}`,
  permission,
  // Deno has `WebSocket`; Node.js without this option since release 22.
  ...(flags.has('--experimental-websocket') ? ['--experimental-websocket'] : []),
  // Node.js 25 restricts the network, too.
  ...(flags.has('--allow-net') ? ['--allow-net'] : []),
  // Node.js 20 aborts if a path occurs twice.
  ...new Set([...code, ...[folder, ...packageFolders(folder), ...linked].map((path) => join(path, '*'))].map(readFlag)),
]
