// Answers to requests whose body has not arrived, because they were refused first.
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Milliseconds for which the rest of a body is read after the answer, and for which it may stop in between. */
const longest = 30_000
const longestSilence = 5_000

/** Whether a part of the request's body is still to come. */
export const isUnfinished = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0)

/**
 * Sends the answer after its head was written, reads what the client still sends, without keeping it, and only then ends
 * the response. To close a connection on which something is unread resets it, and many clients would never see the
 * answer. https://www.rfc-editor.org/rfc/rfc9112#section-9.6-11
 *
 * @param closes whether the answer says that the connection ends; otherwise it goes on with the
 * next request, and the time for the rest of the body is bounded by `server-request-timeout`
 */
export function endAfterRequest(
  request: IncomingMessage,
  response: ServerResponse,
  body: Buffer,
  closes: boolean,
): void {
  if (!closes) {
    response.end(body)
    request.resume()
    return
  }
  const end = (): void => {
    clearTimeout(late)
    clearTimeout(silent)
    request.off('end', end).off('close', end)
    response.end()
  }
  const late = setTimeout(end, longest)
  const silent = setTimeout(end, longestSilence)
  response.write(body)
  request
    .on('data', () => silent.refresh())
    .on('end', end)
    .on('close', end)
    .resume()
}
