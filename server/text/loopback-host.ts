// Names and addresses by which a machine reaches itself.
import { isIPv4 } from 'node:net'

/** Whether a host is `localhost` or a loopback address. IPv6 addresses have no brackets. */
export const isLoopbackHost = (host: string): boolean =>
  host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'))

/** Whether the header `Host` names the machine itself, with any port: `localhost:3000`, `[::1]`. */
export const isLoopbackHostHeader = (header: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i.test(header)
