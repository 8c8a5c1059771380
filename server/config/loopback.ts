// Whether only clients on the same machine can connect.
import { isIPv4 } from 'node:net'
import type { Config } from './config.ts'

/** Whether the server listens on a loopback address. A Unix socket does not count, because it usually serves a proxy. */
export const listensOnLoopback = ({ serverHost, serverUnixSocket }: Pick<Config, 'serverHost' | 'serverUnixSocket'>) =>
  serverUnixSocket === null &&
  (serverHost === 'localhost' || serverHost === '::1' || (isIPv4(serverHost) && serverHost.startsWith('127.')))
