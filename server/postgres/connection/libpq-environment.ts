// A connection as the variables of libpq, or as a URL, for other programs.
import { connectionKeywords, parseConnectionString, type ConnectionKeyword } from './connection-string.ts'

type Environment = Readonly<Record<string, string | undefined>>

export type Address = {
  readonly uri: string
  /** Variables for options that are missing in the connection string (`PGHOST`, …). */
  readonly env: Environment
}

/**
 * The variables with which programs of PostgreSQL connect. No password appears among the arguments of a program, which
 * every user of the machine can see. Options without a variable are left out: they are about idle connections.
 *
 * @throws ConnectionStringError
 */
export function libpqEnvironment({ uri, env }: Address): Record<string, string> {
  const inherited = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && /^(?:PG[A-Z]+$|HOME$|USER$)/.test(name) ? [[name, value] as const] : [],
  )
  const given = [...parseConnectionString(uri)].flatMap(([keyword, value]) => {
    const variable = connectionKeywords[keyword]
    return variable === undefined ? [] : [[variable, value] as const]
  })
  return Object.fromEntries([...inherited, ...given])
}

/** Keywords with a place of their own in a URL. */
const located: readonly ConnectionKeyword[] = ['user', 'password', 'host', 'hostaddr', 'port', 'dbname']

/**
 * A URL that every client can use, with everything that the connection string and the variables say.
 *
 * @param role is switched to after connecting, if given; the user must be a member of it
 * @throws ConnectionStringError
 */
export function connectionUrl({ uri, env }: Address, { role, password = true }: UrlOptions = {}): string {
  const options = new Map<ConnectionKeyword, string>()
  for (const keyword of Object.keys(connectionKeywords) as ConnectionKeyword[]) {
    const variable = connectionKeywords[keyword]
    const value = variable === undefined ? undefined : env[variable]
    if (value !== undefined && value !== '') options.set(keyword, value)
  }
  for (const [keyword, value] of parseConnectionString(uri)) options.set(keyword, value)
  if (role !== undefined) {
    options.set('options', `${options.get('options') ?? ''} -c role=${escapedOption(role)}`.trimStart())
  }
  const part = (keyword: ConnectionKeyword): string => encodeURIComponent(options.get(keyword) ?? '')
  const secret = password && options.has('password') ? `:${part('password')}` : ''
  const login = options.has('user') ? `${part('user')}${secret}@` : ''
  const query = [...options].flatMap(([keyword, value]) =>
    located.includes(keyword) ? [] : [`${keyword}=${encodeURIComponent(value)}`],
  )
  const database = options.has('dbname') ? `/${part('dbname')}` : ''
  return `postgresql://${login}${hostsOf(options)}${database}${query.length === 0 ? '' : `?${query.join('&')}`}`
}

export type UrlOptions = { readonly role?: string | undefined; readonly password?: boolean }

/** A value within the option `options`, whose words are separated by blanks. */
const escapedOption = (value: string): string => value.replaceAll(/[\\\s]/g, (sign) => `\\${sign}`)

/** Hosts with their ports. The folder of a Unix socket is written like a name. */
function hostsOf(options: ReadonlyMap<ConnectionKeyword, string>): string {
  const hosts = (options.get('hostaddr') ?? options.get('host') ?? '').split(',')
  const ports = (options.get('port') ?? '').split(',')
  return hosts
    .map((host, index) => {
      const port = ports.length === 1 ? ports[0] : ports[index]
      const name = host.includes(':') && !host.startsWith('/') ? `[${host}]` : encodeURIComponent(host)
      return `${name}${port === undefined || port === '' ? '' : `:${port}`}`
    })
    .join(',')
}
