// Reads connection options from service files. https://www.postgresql.org/docs/current/libpq-pgservice.html
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { ConnectionStringError, isConnectionKeyword, type ConnectionKeyword } from './connection-string.ts'

type Environment = Readonly<Record<string, string | undefined>>

/** Debian's folder. `PGSYSCONFDIR` sets another one. */
const systemFolder = '/etc/postgresql-common'

/**
 * The options of a service: from the file that `PGSERVICEFILE` names, or `~/.pg_service.conf`, then from the file for
 * all users.
 *
 * @throws ConnectionStringError when no file defines the service, or one cannot be read
 */
export function serviceOptions(service: string, env: Environment): ReadonlyMap<ConnectionKeyword, string> {
  const named = env.PGSERVICEFILE
  if (named !== undefined && !existsSync(named)) throw new ConnectionStringError(`service file "${named}" not found`)
  const own = named ?? join(homedir(), '.pg_service.conf')
  const system = join(env.PGSYSCONFDIR ?? systemFolder, 'pg_service.conf')
  for (const path of [own, system]) {
    const options = existsSync(path) ? optionsIn(path, service) : undefined
    if (options) return options
  }
  throw new ConnectionStringError(`definition of service "${service}" not found`)
}

/** Undefined when the file does not define the service. */
function optionsIn(path: string, service: string): ReadonlyMap<ConnectionKeyword, string> | undefined {
  let options: Map<ConnectionKeyword, string> | undefined
  for (const [index, text] of read(path).split('\n').entries()) {
    const line = text.trim()
    if (line === '' || line.startsWith('#')) continue
    if (line.startsWith('[')) {
      if (options) return options
      if (line.startsWith(`[${service}]`)) options = new Map()
    } else if (options) {
      const [name, value] = optionOf(line, `service file "${path}", line ${index + 1}`)
      // libpq uses the first value.
      if (!options.has(name)) options.set(name, value)
    }
  }
  return options
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ConnectionStringError(`service file "${path}" cannot be read: ${reason}`)
  }
}

function optionOf(line: string, place: string): readonly [ConnectionKeyword, string] {
  const equals = line.indexOf('=')
  const name = line.slice(0, equals)
  if (line.startsWith('ldap://')) throw new ConnectionStringError(`LDAP is not supported in ${place}`)
  if (name === 'service') throw new ConnectionStringError(`nested service specifications not supported in ${place}`)
  // The message leaves out the line, which may contain a password.
  if (equals < 0 || !isConnectionKeyword(name)) throw new ConnectionStringError(`syntax error in ${place}`)
  return [name, line.slice(equals + 1)]
}
