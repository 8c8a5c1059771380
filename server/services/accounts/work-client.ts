// Who waits for a task of limited number, such as the hash of a password.
import type { IncomingMessage } from 'node:http'
import { clientNetwork } from '../../http/client-address.ts'

export type WorkClient = {
  /** An IPv4 address, or the first 64 bits of an IPv6 address; undefined for administrators, whose number is not limited. */
  readonly network: string | undefined
  /** Whether the client has closed the connection. */
  readonly isGone: boolean
  /** Calls `listener` when the client closes the connection. Returns a function that removes the listener. */
  readonly onGone: (listener: () => void) => () => void
}

/** The client of a request. */
export const workClient = (request: IncomingMessage, trustedProxies: number): WorkClient =>
  clientOf(request, clientNetwork(request, trustedProxies))

/** The client of a request that was authorised as an administrator's. */
export const administrator = (request: IncomingMessage): WorkClient => clientOf(request, undefined)

const clientOf = ({ socket }: IncomingMessage, network: string | undefined): WorkClient => ({
  network,
  get isGone() {
    return socket.destroyed
  },
  onGone: (listener) => {
    // With pipelining, every request of the connection adds a listener.
    socket.setMaxListeners(0)
    socket.once('close', listener)
    return () => socket.off('close', listener)
  },
})
