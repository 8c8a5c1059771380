// `rowhouse --ready`: checks whether a running server is ready, for health checks of containers and the like.
import type { Config } from '../../config/config.ts'
import type { Address, Dependencies } from './dependencies.ts'

type Target = Pick<
  Config,
  'adminServerHost' | 'adminServerPort' | 'adminServerUnixSocket' | 'serverHost' | 'serverPort' | 'serverUnixSocket'
>

/** Warp's special host names, which are valid for listening but not for connecting. */
const anyAddress: ReadonlySet<string> = new Set(['*', '*4', '!4', '*6', '!6'])

const path = '/ready'

/** The address of the admin server if configured, otherwise of the API server, whose `/ready` is equivalent. */
export function readyAddress(config: Target): Address {
  if (config.adminServerUnixSocket !== null) return { kind: 'socket', socket: config.adminServerUnixSocket, path }
  if (config.adminServerPort !== null) {
    return { kind: 'tcp', host: config.adminServerHost, port: config.adminServerPort, path }
  }
  if (config.serverUnixSocket !== null) return { kind: 'socket', socket: config.serverUnixSocket, path }
  return { kind: 'tcp', host: config.serverHost, port: config.serverPort, path }
}

const urlOf = (address: Address): string =>
  address.kind === 'socket'
    ? `unix:${address.socket}:${address.path}`
    : `http://${address.host.includes(':') ? `[${address.host}]` : address.host}:${address.port}${address.path}`

/** Prints `OK: …` or `ERROR: …`, or the same as JSON, and returns the exit code. */
export async function askReady(
  config: Target,
  json: boolean,
  { fetchStatus, print, printError }: Pick<Dependencies, 'fetchStatus' | 'print' | 'printError'>,
): Promise<0 | 1> {
  const address = readyAddress(config)
  const url = urlOf(address)
  const fail = (why: string): 1 => {
    printError(json ? `${JSON.stringify({ error: why })}\n` : `ERROR: ${why}\n`)
    return 1
  }
  if (address.kind === 'tcp' && anyAddress.has(address.host)) {
    return fail(
      `"${address.host}" is an address for listening, not for connecting: set the host to "localhost" for --ready`,
    )
  }
  try {
    const status = await fetchStatus(address)
    if (status < 200 || status > 299) return fail(`${url} responded with ${status}`)
    print(json ? `${JSON.stringify({ ready: true, url })}\n` : `OK: ${url}\n`)
    return 0
  } catch (error) {
    return fail(`no response from ${url} (${error instanceof Error ? error.message : String(error)})`)
  }
}
