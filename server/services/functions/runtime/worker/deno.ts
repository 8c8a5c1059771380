// The part of the namespace `Deno` that functions use. https://docs.deno.com/api/deno/
import { inspect } from 'node:util'
import { denoErrors, NotSupported } from './deno-errors.ts'
import { fileReading } from './files.ts'
import { serve, type FetchHandler } from './handler.ts'

/** Functions of Deno that are known and not available here, so that a call says so. */
const unavailable = [
  ...[
    'addSignalListener',
    'bench',
    'chdir',
    'chmod',
    'chown',
    'connect',
    'connectTls',
    'consoleSize',
    'copyFile',
    'create',
  ],
  ...['createHttpClient', 'cron', 'dlopen', 'execPath', 'gid', 'hostname', 'kill', 'link', 'listen', 'listenDatagram'],
  ...['listenTls', 'loadavg', 'lstat', 'makeTempDir', 'makeTempFile', 'mkdir', 'networkInterfaces', 'open', 'openKv'],
  ...[
    'osRelease',
    'osUptime',
    'readDir',
    'readLink',
    'realPath',
    'remove',
    'removeSignalListener',
    'rename',
    'resolveDns',
  ],
  ...[
    'run',
    'serveHttp',
    'stat',
    'symlink',
    'systemMemoryInfo',
    'test',
    'truncate',
    'uid',
    'umask',
    'utime',
    'watchFs',
  ],
  ...['writeFile', 'writeTextFile', 'chmodSync', 'copyFileSync', 'lstatSync', 'makeTempDirSync', 'makeTempFileSync'],
  ...['mkdirSync', 'openSync', 'readDirSync', 'readLinkSync', 'realPathSync', 'removeSync', 'renameSync', 'statSync'],
  ...['symlinkSync', 'truncateSync', 'writeFileSync', 'writeTextFileSync', 'Command', 'upgradeWebSocket'],
]

const refusal = (name: string) =>
  // A function and not a method, because some are called with `new`.
  function (): never {
    throw new NotSupported(`Deno.${name} is not available in functions of this server`)
  }

/** Functions open no port: their calls come from the server. */
const address = { transport: 'tcp', hostname: '0.0.0.0', port: 8000 } as const

type ServeOptions = {
  readonly handler?: FetchHandler
  readonly fetch?: FetchHandler
  readonly onError?: (error: unknown) => Response | Promise<Response>
  readonly onListen?: (at: typeof address) => void
  readonly signal?: AbortSignal
}

/** `Deno.serve(handler)`, `Deno.serve(options, handler)`, `Deno.serve({ handler })` and `Deno.serve({ fetch })`. */
function denoServe(first: FetchHandler | ServeOptions, second?: FetchHandler) {
  const options = typeof first === 'function' ? {} : first
  const handler = typeof first === 'function' ? first : (second ?? first.handler ?? first.fetch)
  if (typeof handler !== 'function')
    throw new TypeError('Deno.serve needs a handler: Deno.serve((request) => new Response("Hello"))')
  const end = serve({ kind: 'fetch', handler, onError: options.onError })
  let finish = (): void => undefined
  const finished = new Promise<void>((resolve) => (finish = resolve))
  const shutdown = (): Promise<void> => {
    end()
    finish()
    return finished
  }
  options.signal?.addEventListener('abort', () => void shutdown())
  options.onListen?.(address)
  const itself = (): void => undefined
  return { addr: address, finished, shutdown, ref: itself, unref: itself, [Symbol.asyncDispose]: shutdown }
}

const env = {
  get: (name: string): string | undefined => process.env[name],
  has: (name: string): boolean => process.env[name] !== undefined,
  set: (name: string, value: string): void => void (process.env[name] = value),
  delete: (name: string): void => void delete process.env[name],
  toObject: (): Record<string, string> => ({ ...process.env }) as Record<string, string>,
}

/** Names of architectures that differ from Node's. */
const architectures: Readonly<Record<string, string>> = { x64: 'x86_64', arm64: 'aarch64' }
const systems: Readonly<Record<string, string>> = { win32: 'windows' }

/**
 * The global `Deno`.
 *
 * @param folder whose files the function reads, its working folder
 */
export function denoNamespace(folder: string) {
  const arch = architectures[process.arch] ?? process.arch
  const os = systems[process.platform] ?? process.platform
  return {
    ...Object.fromEntries(unavailable.map((name) => [name, refusal(name)])),
    ...fileReading(folder),
    args: [],
    build: { arch, os, target: `${arch}-${os}`, vendor: 'unknown', standalone: false },
    cwd: () => folder,
    env,
    errors: denoErrors,
    exit: (code?: number): never => process.exit(code),
    inspect,
    mainModule: '',
    memoryUsage: () => process.memoryUsage(),
    noColor: true,
    pid: process.pid,
    serve: denoServe,
    // The release of Deno whose part of the namespace this is.
    version: { deno: '2.1.4', typescript: '5.6.2', v8: process.versions.v8 },
  }
}
