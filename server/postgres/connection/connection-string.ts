// Parses connection strings like libpq: a URI, or keyword/value pairs.
// https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING

/** An invalid connection string. The message contains names, but never a value that could be a password. */
export class ConnectionStringError extends Error {}

/** libpq's keywords and the variables with their defaults. */
export const connectionKeywords = {
  application_name: 'PGAPPNAME',
  channel_binding: 'PGCHANNELBINDING',
  client_encoding: 'PGCLIENTENCODING',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  dbname: 'PGDATABASE',
  fallback_application_name: undefined,
  gssdelegation: 'PGGSSDELEGATION',
  gssencmode: 'PGGSSENCMODE',
  gsslib: 'PGGSSLIB',
  host: 'PGHOST',
  hostaddr: 'PGHOSTADDR',
  keepalives: undefined,
  keepalives_count: undefined,
  keepalives_idle: undefined,
  keepalives_interval: undefined,
  krbsrvname: 'PGKRBSRVNAME',
  load_balance_hosts: 'PGLOADBALANCEHOSTS',
  max_protocol_version: 'PGMAXPROTOCOLVERSION',
  min_protocol_version: 'PGMINPROTOCOLVERSION',
  options: 'PGOPTIONS',
  passfile: 'PGPASSFILE',
  password: 'PGPASSWORD',
  port: 'PGPORT',
  replication: undefined,
  require_auth: 'PGREQUIREAUTH',
  requirepeer: 'PGREQUIREPEER',
  requiressl: 'PGREQUIRESSL',
  service: 'PGSERVICE',
  ssl_max_protocol_version: 'PGSSLMAXPROTOCOLVERSION',
  ssl_min_protocol_version: 'PGSSLMINPROTOCOLVERSION',
  sslcert: 'PGSSLCERT',
  sslcertmode: 'PGSSLCERTMODE',
  sslcompression: 'PGSSLCOMPRESSION',
  sslcrl: 'PGSSLCRL',
  sslcrldir: 'PGSSLCRLDIR',
  sslkey: 'PGSSLKEY',
  sslkeylogfile: undefined,
  sslmode: 'PGSSLMODE',
  sslnegotiation: 'PGSSLNEGOTIATION',
  sslpassword: undefined,
  sslrootcert: 'PGSSLROOTCERT',
  sslsni: 'PGSSLSNI',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
  tcp_user_timeout: undefined,
  user: 'PGUSER',
} as const

export type ConnectionKeyword = keyof typeof connectionKeywords
export type ConnectionOptions = ReadonlyMap<ConnectionKeyword, string>

export const isConnectionKeyword = (name: string): name is ConnectionKeyword => Object.hasOwn(connectionKeywords, name)

/**
 * The options in a connection string, without defaults.
 *
 * @throws ConnectionStringError
 */
export function parseConnectionString(text: string): ConnectionOptions {
  const uri = /^(?:postgresql|postgres):\/\/(.*)$/s.exec(text)
  if (uri) return parseUri(uri[1] ?? '')
  const [, otherScheme] = /^([a-z][a-z\d+.-]{0,30}):\/\//i.exec(text) ?? []
  if (otherScheme !== undefined) {
    throw new ConnectionStringError(
      `"${otherScheme}://" is not the scheme of a connection URI; expected ${expectedForm}`,
    )
  }
  return parsePairs(text)
}

const expectedForm = 'postgresql://user:password@host:5432/database, or pairs such as host=localhost dbname=postgres'

const pairName = /\s*([^\s=]+)\s*(=?)\s*/y
const quotedValue = /'((?:[^'\\]|\\[\s\S])*)'/y
const plainValue = /(?:[^\s\\]|\\[\s\S])*/y

function parsePairs(text: string): ConnectionOptions {
  const options = new Map<ConnectionKeyword, string>()
  let at = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match
  }
  while (text.slice(at).trim() !== '') {
    const [, name = '', equals] = take(pairName) ?? []
    // The message leaves out the text here, which may be part of a password with a blank.
    if (equals !== '=')
      throw new ConnectionStringError(`missing "=" in the connection string; expected ${expectedForm}`)
    if (!isConnectionKeyword(name)) throw new ConnectionStringError(unknownKeyword('invalid connection option', name))
    const isQuoted = text[at] === "'"
    const value = isQuoted ? take(quotedValue)?.[1] : take(plainValue)?.[0]
    if (value === undefined) throw new ConnectionStringError('unterminated quoted string in the connection string')
    options.set(name, value.replaceAll(/\\([\s\S])/g, '$1'))
  }
  return options
}

/** Includes a name in the message only if it looks like one. */
const unknownKeyword = (message: string, name: string): string =>
  /^[a-z_]{1,40}$/i.test(name) ? `${message} "${name}"` : message

function decode(text: string): string {
  let decoded: string | undefined
  try {
    decoded = decodeURIComponent(text)
  } catch {
    decoded = undefined
  }
  if (decoded === undefined || decoded.includes('\0')) {
    throw new ConnectionStringError('invalid percent-encoded token in the connection string')
  }
  return decoded
}

const outline = /^(?:([^:@/]*)(?::([^@/]*))?@)?((?:\[[^\]]*\]|[^/?])*)(?:\/([^?]*))?(?:\?(.*))?$/s
const hostAndPort = /^(?:\[([^\]]*)\]|([^:]*))(?::([^:]*))?$/

function parseUri(text: string): ConnectionOptions {
  const match = outline.exec(text)
  if (!match) throw new ConnectionStringError('the connection URI is malformed')
  const [, user = '', password = '', hosts = '', database = '', query] = match
  const options = new Map<ConnectionKeyword, string>()
  const set = (name: ConnectionKeyword, value: string): void => {
    if (value !== '') options.set(name, value)
  }
  const targets = hosts.split(',').map((target) => {
    const parts = hostAndPort.exec(target)
    if (!parts) throw new ConnectionStringError('the connection URI has a malformed host or port')
    return { host: decode(parts[1] ?? parts[2] ?? ''), port: decode(parts[3] ?? '') }
  })
  set('user', decode(user))
  set('password', decode(password))
  // Keeps empty items: each port belongs to the host at the same position.
  if (targets.some(({ host }) => host !== '')) options.set('host', targets.map(({ host }) => host).join(','))
  if (targets.some(({ port }) => port !== '')) options.set('port', targets.map(({ port }) => port).join(','))
  set('dbname', decode(database))
  for (const pair of query === undefined || query === '' ? [] : query.split('&')) addParameter(options, pair)
  return options
}

function addParameter(options: Map<ConnectionKeyword, string>, pair: string): void {
  const [name = '', value, ...more] = pair.split('=').map(decode)
  if (value === undefined) throw new ConnectionStringError('missing key/value separator "=" in URI query parameter')
  if (more.length > 0) throw new ConnectionStringError('extra key/value separator "=" in URI query parameter')
  // As in JDBC's connection strings.
  if (name === 'ssl' && value === 'true') options.set('sslmode', 'require')
  else if (isConnectionKeyword(name)) options.set(name, value)
  else throw new ConnectionStringError(unknownKeyword('invalid URI query parameter', name))
}

/** The URL of a database that the program has made, without its password. */
export function withoutPassword(uri: string): string {
  const url = new URL(uri)
  url.password = ''
  return url.href
}
