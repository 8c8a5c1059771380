// The public URL of the service, if no setting names it.
import type { IncomingMessage } from 'node:http'
import { isLoopbackHostHeader } from '../../text/loopback-host.ts'

/**
 * The URL by which a client on the same machine has reached the service, otherwise `ownUrl`. Other hosts are not
 * believed: the sender of a request chooses its `Host`, and links in mails would lead there.
 */
export function externalUrlOf({ headers }: IncomingMessage, ownUrl: string): string {
  const { host } = headers
  return host !== undefined && isLoopbackHostHeader(host) ? `http://${host}/auth/v1` : ownUrl
}
