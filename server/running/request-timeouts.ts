// Timeouts for receiving requests.
import type { ServerOptions } from 'node:http'

/**
 * Options of Node's HTTP server for a request that does not arrive in time: it gets 408, and the connection is closed. The
 * time runs from the first byte of the request to the last byte of its body, at any rate. It includes neither the server's
 * response time nor idle connections.
 */
export function requestTimeouts(
  seconds: number,
): Required<Pick<ServerOptions, 'requestTimeout' | 'headersTimeout' | 'connectionsCheckingInterval'>> {
  const milliseconds = seconds * 1000
  return {
    requestTimeout: milliseconds,
    headersTimeout: milliseconds,
    // Checks often enough that a request ends at most a tenth of the time late.
    connectionsCheckingInterval: Math.min(milliseconds / 10, 5000),
  }
}
