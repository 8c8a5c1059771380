// Whether the client of a request still waits for its response.
import type { ServerResponse } from 'node:http'

/** A signal that is aborted when the client disconnects before the end of the response. */
export function goneSignal(response: ServerResponse): AbortSignal {
  const controller = new AbortController()
  // It may have disconnected while its session was looked up: `close` is not emitted again.
  if (response.closed) controller.abort()
  response.once('close', () => {
    if (!response.writableFinished) controller.abort()
  })
  return controller.signal
}
