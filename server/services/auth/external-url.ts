// The public URL of the service, if no setting names it.
import type { IncomingMessage } from 'node:http'

const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/i

/**
 * The URL by which a client on the same machine has reached the service, otherwise `ownUrl`. Other hosts are not
 * believed: the sender of a request chooses its `Host`, and links in mails would lead there.
 */
export function externalUrlOf({ headers }: IncomingMessage, ownUrl: string): string {
  const { host } = headers
  return host !== undefined && loopback.test(host) ? `http://${host}/auth/v1` : ownUrl
}
