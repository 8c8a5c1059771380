// Requests of clients on the same machine, for what only development has.
import type { IncomingMessage } from 'node:http'
import { isLoopbackHostHeader } from '../text/loopback-host.ts'

/** Headers by which a proxy on the same machine can be recognised. */
const proxyHeaders = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'forwarded',
  'via',
] as const

const loopbackAddress = /^(?:::ffff:)?127\.|^::1$/

/**
 * Whether a client on the same machine asks for a name of this machine. A name of another host in `Host` means that a page
 * of that host is asking (DNS rebinding), forwarding headers that a proxy does.
 */
export const isLocalRequest = ({ headers, socket }: IncomingMessage): boolean =>
  isLoopbackHostHeader(headers.host ?? '') &&
  (socket.remoteAddress === undefined || loopbackAddress.test(socket.remoteAddress)) &&
  proxyHeaders.every((name) => headers[name] === undefined)
