// Whether only clients on the same machine can connect.
import { isLoopbackHost } from '../text/loopback-host.ts'
import type { Config } from './config.ts'

/** Whether the server listens on a loopback address. A Unix socket does not count, because it usually serves a proxy. */
export const listensOnLoopback = ({ serverHost, serverUnixSocket }: Pick<Config, 'serverHost' | 'serverUnixSocket'>) =>
  serverUnixSocket === null && isLoopbackHost(serverHost)
