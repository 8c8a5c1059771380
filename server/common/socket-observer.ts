// Observes a connection that a request has upgraded to another protocol, for traces and metrics.
import type { IncomingMessage } from 'node:http'

export type SocketObserver = {
  /** Runs what decides on the handshake. Its statements belong to the handshake. */
  handshake<T>(work: () => Promise<T>): Promise<T>
  /**
   * Call this when the handshake was answered.
   *
   * @param status 101 if the connection was upgraded
   * @param role of the caller; undefined if it is not known
   */
  answered(status: number, role: string | undefined): void
  /**
   * Runs the work for a message. Its statements and calls belong to the message.
   *
   * @param errorOf the kind of error in an answer, one of few, such as a status; undefined for a success
   */
  message<T>(work: () => Promise<T>, errorOf: (answer: T) => string | undefined): Promise<T>
}

/** @param route path of the connection, not the client's */
export type ObserveSocket = (request: IncomingMessage, route: string) => SocketObserver

/** Observes nothing. */
export const unobservedSocket: SocketObserver = {
  handshake: (work) => work(),
  answered: () => undefined,
  message: (work) => work(),
}
