// How long a request may take to arrive.
import type { ServerOptions } from 'node:http'

/**
 * Options of Node's HTTP server that end a request which has not arrived as a whole: 408, and the connection is closed.
 * The time counts from the first byte of the request to the last one of its body, at whatever rate they come; what the
 * server takes to answer, and idle connections, are no part of it.
 */
export function requestTimeouts(
  seconds: number,
): Required<Pick<ServerOptions, 'requestTimeout' | 'headersTimeout' | 'connectionsCheckingInterval'>> {
  const milliseconds = seconds * 1000
  return {
    requestTimeout: milliseconds,
    headersTimeout: milliseconds,
    // A request ends at the first look after its time, so at most a tenth late.
    connectionsCheckingInterval: Math.min(milliseconds / 10, 5000),
  }
}
