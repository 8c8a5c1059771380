// Errors of requests in the words of pg_net, which are those of libcurl: programs that read net._http_response compare them.
// https://curl.se/libcurl/c/curl_easy_strerror.html
import type { OutgoingError } from '../outgoing/outgoing-error.ts'
import type { OutgoingProgress } from '../outgoing/outgoing-request.ts'

/** When a request began, what it had reached, and when it failed, by `performance.now()`. */
export type FailedProgress = OutgoingProgress & { readonly since: number; readonly now: number }

const words: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', "Couldn't connect to server"],
  ['EHOSTUNREACH', "Couldn't connect to server"],
  ['ENETUNREACH', "Couldn't connect to server"],
  ['ETIMEDOUT', "Couldn't connect to server"],
  ['ENOTFOUND', "Couldn't resolve host name"],
  ['EAI_AGAIN', "Couldn't resolve host name"],
  ['ECONNRESET', 'Server returned nothing (no headers, no data)'],
])

/** What net._http_response says about a request without a response. Other errors have their own message. */
export function netError({ message, isTimeout, cause }: OutgoingError, progress: FailedProgress): string {
  if (isTimeout) return `${message}. ${durations(progress)}`
  const code = typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : ''
  return code.startsWith('HPE_') ? 'Weird server reply' : (words.get(code) ?? message)
}

/** How long each part took: that which was not finished until now, and what follows it nothing. */
function durations({ isKept, since, lookedUp, connected, now }: FailedProgress): string {
  const known = isKept === true ? since : (lookedUp ?? now)
  const open = isKept === true ? since : (connected ?? now)
  const parts = [
    ['DNS time', known - since],
    ['TCP/SSL handshake time', open - known],
    ['HTTP Request/Response time', now - open],
  ] as const
  const shown = parts.map(([name, time]) => `${name}: ${time.toFixed(6)} ms`)
  return `Total time: ${(now - since).toFixed(6)} ms (${shown.join(', ')})`
}
