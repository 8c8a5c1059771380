// Resolves a connection string and its defaults: where to connect to, in which order, and how.
import { existsSync, readFileSync } from 'node:fs'
import { homedir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { ConnectionOptions as TlsOptions } from 'node:tls'
import {
  connectionKeywords,
  ConnectionStringError,
  parseConnectionString,
  type ConnectionKeyword,
  type ConnectionOptions,
} from './connection-string.ts'
import { applicationName } from '../../common/version.ts'
import { serviceOptions } from './service-file.ts'

export type SslMode = 'disable' | 'allow' | 'prefer' | 'require' | 'verify-ca' | 'verify-full'
export type SessionAttributes = 'any' | 'read-write' | 'read-only' | 'primary' | 'standby' | 'prefer-standby'

export type Target = {
  /** Host name or address, or the folder of a Unix socket, which begins with a slash. */
  readonly host: string
  /** Address to connect to. Replaces the lookup of the host. */
  readonly address: string
  readonly port: number
}

export type ConnectionPlan = {
  /** Tried in this order, unless `shuffled`. */
  readonly targets: readonly Target[]
  readonly shuffled: boolean
  readonly user: string
  readonly database: string
  readonly password: string | undefined
  readonly passfile: string
  /** Seconds for each target; 0 for no limit. */
  readonly connectTimeout: number
  readonly sslMode: SslMode
  /** `direct` starts the TLS handshake without asking the server first. */
  readonly sslNegotiation: 'postgres' | 'direct'
  readonly tls: TlsOptions
  readonly sendsServerName: boolean
  readonly requiresChannelBinding: boolean
  readonly session: SessionAttributes
  /** Seconds after which an idle connection is probed; undefined disables probing. */
  readonly keepAliveIdle: number | undefined
  readonly options: string | undefined
  readonly applicationName: string | undefined
  readonly fallbackApplicationName: string
}

type Environment = Readonly<Record<string, string | undefined>>

const defaultPort = 5432
/** The usual folders of server sockets, then TCP. */
const defaultHosts = process.platform === 'win32' ? ['localhost'] : ['/var/run/postgresql', '/tmp', 'localhost']

const fail = (message: string): never => {
  throw new ConnectionStringError(message)
}

class Options {
  readonly #given: ConnectionOptions
  readonly #service: ConnectionOptions
  readonly #env: Environment

  constructor(given: ConnectionOptions, env: Environment) {
    this.#given = given
    this.#env = env
    const service = given.get('service') ?? env.PGSERVICE
    this.#service = service ? serviceOptions(service, env) : new Map()
  }

  /** The value from the connection string, the service, or the environment; undefined if it is missing or empty. */
  text(name: ConnectionKeyword): string | undefined {
    const variable = connectionKeywords[name]
    const value =
      this.#given.get(name) ?? this.#service.get(name) ?? (variable === undefined ? undefined : this.#env[variable])
    return value === '' ? undefined : value
  }

  list(name: ConnectionKeyword): readonly string[] {
    return this.text(name)?.split(',') ?? []
  }

  choice<T extends string>(name: ConnectionKeyword, words: readonly T[], otherwise: T): T {
    const value = this.text(name)
    if (value === undefined) return otherwise
    return words.find((word) => word === value) ?? fail(`invalid ${name}: must be one of ${words.join(', ')}`)
  }

  number(name: ConnectionKeyword): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    return /^\s*-?\d{1,9}\s*$/.test(value) ? Number(value) : fail(`invalid integer value for ${name}`)
  }
}

/**
 * Parses a connection string. Missing options come from its service, the `PG…` variables and libpq's defaults. Reads the
 * certificate files that it names.
 *
 * @throws ConnectionStringError
 */
export function connectionPlan(uri: string, env: Environment): ConnectionPlan {
  const options = new Options(parseConnectionString(uri), env)
  refuseUnsupported(options)
  const user = options.text('user') ?? userInfo().username
  const keepsAlive = options.number('keepalives') !== 0
  const sslMode = options.choice<SslMode>(
    'sslmode',
    ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'],
    options.text('requiressl') === '1' ? 'require' : 'prefer',
  )
  const sslNegotiation = options.choice('sslnegotiation', ['postgres', 'direct'], 'postgres')
  if (sslNegotiation === 'direct' && ['disable', 'allow', 'prefer'].includes(sslMode)) {
    fail(`weak sslmode "${sslMode}" may not be used with sslnegotiation=direct`)
  }
  return {
    targets: targetsOf(options),
    shuffled: options.choice('load_balance_hosts', ['disable', 'random'], 'disable') === 'random',
    user,
    database: options.text('dbname') ?? user,
    password: options.text('password'),
    passfile: options.text('passfile') ?? join(homedir(), '.pgpass'),
    // libpq raises a timeout of one second to two.
    connectTimeout: atLeastTwo(options.number('connect_timeout') ?? 0),
    sslMode,
    sslNegotiation,
    tls: tlsOptions(options, sslMode),
    sendsServerName: options.text('sslsni') !== '0',
    requiresChannelBinding: options.choice('channel_binding', ['disable', 'prefer', 'require'], 'prefer') === 'require',
    session: options.choice<SessionAttributes>(
      'target_session_attrs',
      ['any', 'read-write', 'read-only', 'primary', 'standby', 'prefer-standby'],
      'any',
    ),
    keepAliveIdle: keepsAlive ? (options.number('keepalives_idle') ?? 0) : undefined,
    options: startupOptions(options, env),
    applicationName: options.text('application_name'),
    fallbackApplicationName: options.text('fallback_application_name') ?? applicationName,
  }
}

const atLeastTwo = (seconds: number): number => (seconds <= 0 ? 0 : Math.max(seconds, 2))

/** Rejects options whose guarantees are not implemented. */
function refuseUnsupported(options: Options): void {
  for (const name of ['require_auth', 'requirepeer', 'sslcrldir', 'replication'] as const) {
    if (options.text(name) !== undefined) fail(`${name} is not supported`)
  }
  if (options.text('gssencmode') === 'require') fail('gssencmode=require is not supported')
  const encoding = options.text('client_encoding')
  if (encoding !== undefined && !/^(?:auto|utf-?8|unicode)$/i.test(encoding)) fail('client_encoding must be UTF8')
}

function portOf(text: string): number {
  if (text === '') return defaultPort
  const port = /^\s*\d{1,5}\s*$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= 65_535 ? port : fail(`invalid port number: "${text}"`)
}

function targetsOf(options: Options): readonly Target[] {
  const hosts = options.list('host')
  const addresses = options.list('hostaddr')
  const ports = options.list('port')
  if (hosts.length > 0 && addresses.length > 0 && hosts.length !== addresses.length) {
    fail(`could not match ${hosts.length} host names to ${addresses.length} hostaddr values`)
  }
  const count = Math.max(hosts.length, addresses.length, 1)
  if (ports.length > 1 && ports.length !== count) {
    fail(`could not match ${ports.length} port numbers to ${count} hosts`)
  }
  return Array.from({ length: count }, (_, index) => index).flatMap((index): Target[] => {
    const port = portOf((ports.length === 1 ? ports[0] : ports[index]) ?? '')
    const address = addresses[index] ?? ''
    const host = hosts[index] ?? ''
    const named = host === '' ? address : host
    return (named === '' ? defaultHosts : [named]).map((name) => ({
      host: name,
      address: address === '' ? name : address,
      port,
    }))
  })
}

/** The option `options`, with settings from further variables of libpq. */
function startupOptions(options: Options, env: Environment): string | undefined {
  const escape = (value: string): string => value.replaceAll(/[\\\s]/g, (sign) => `\\${sign}`)
  const further = [
    ['DateStyle', env.PGDATESTYLE],
    ['TimeZone', env.PGTZ],
    ['geqo', env.PGGEQO],
  ] as const
  const settings = further.flatMap(([name, value]) => (value ? [`-c ${name}=${escape(value)}`] : []))
  const all = [...settings, options.text('options') ?? ''].join(' ').trim()
  return all === '' ? undefined : all
}

const protocolVersions = ['TLSv1', 'TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const

function tlsOptions(options: Options, sslMode: SslMode): TlsOptions {
  if (sslMode === 'disable') return {}
  const folder = join(homedir(), '.postgresql')
  const file = (name: ConnectionKeyword, usual: string): Buffer | undefined => {
    const path = options.text(name) ?? join(folder, usual)
    if (options.text(name) === undefined && !existsSync(path)) return undefined
    try {
      return readFileSync(path)
    } catch (error) {
      return fail(`${name} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  const sendsCertificate = options.text('sslcertmode') !== 'disable'
  const cert = sendsCertificate ? file('sslcert', 'postgresql.crt') : undefined
  const key = cert && file('sslkey', 'postgresql.key')
  const crl = file('sslcrl', 'root.crl')
  const passphrase = options.text('sslpassword')
  const maxVersion = options.text('ssl_max_protocol_version')
  return {
    ...trust(options, sslMode, file),
    ...(cert && key ? { cert, key } : {}),
    ...(crl ? { crl } : {}),
    ...(passphrase === undefined ? {} : { passphrase }),
    minVersion: options.choice('ssl_min_protocol_version', protocolVersions, 'TLSv1.2'),
    ...(maxVersion === undefined
      ? {}
      : { maxVersion: options.choice('ssl_max_protocol_version', protocolVersions, 'TLSv1.3') }),
  }
}

/**
 * How to verify the server. A root certificate is always checked, the server's name only with `verify-full`. Without a root
 * certificate, `verify-full` trusts Node's certificate authorities, as with `sslrootcert=system`.
 */
function trust(
  options: Options,
  sslMode: SslMode,
  file: (name: ConnectionKeyword, usual: string) => Buffer | undefined,
): TlsOptions {
  const isSystem = options.text('sslrootcert') === 'system'
  if (isSystem && sslMode !== 'verify-full') {
    fail(`weak sslmode "${sslMode}" may not be used with sslrootcert=system (use "verify-full")`)
  }
  const ca = isSystem ? undefined : file('sslrootcert', 'root.crt')
  if (sslMode === 'verify-full') return { rejectUnauthorized: true, ...(ca ? { ca } : {}) }
  if (ca) return { rejectUnauthorized: true, ca, checkServerIdentity: () => undefined }
  return sslMode === 'verify-ca'
    ? fail('sslmode=verify-ca requires a root certificate: set sslrootcert, or use verify-full')
    : { rejectUnauthorized: false }
}
