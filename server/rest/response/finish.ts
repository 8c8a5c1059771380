// The last step of every response: the headers that do not depend on what it is about.
import { postgrestVersion, serverName } from '../../common/version.ts'
import type { LegacyName } from '../plan/embed-path.ts'
import { hasHeader, headerText } from './header.ts'
import type { Header, Headers } from './header.ts'
import type { RestResponse } from './result.ts'

/** Milliseconds that the stages of a request took. */
export type Timing = {
  readonly jwt: number
  readonly parse: number
  readonly plan: number
  readonly transaction: number
  readonly response: number
}

/** The `Server-Timing` header. https://www.w3.org/TR/server-timing/ */
export const serverTiming = ({ jwt, parse, plan, transaction, response }: Timing): string =>
  `jwt;dur=${jwt.toFixed(1)}, parse;dur=${parse.toFixed(1)}, plan;dur=${plan.toFixed(1)}, ` +
  `transaction;dur=${transaction.toFixed(1)}, response;dur=${response.toFixed(1)}`

const warning = (names: readonly LegacyName[]): string => {
  const changes = names.map(({ name, alias }) => `\`${name}\` to \`${alias}\``).join(', ')
  // The agent and the words are PostgREST's, because clients look for them. RFC 7234, section 5.5.
  return (
    `299 PostgRESTv${postgrestVersion} "Embedded resource was referenced by relation name even though it has an alias. ` +
    `This is deprecated and will stop working in a future release. Update ${changes} in query string filters, orders or limits."`
  )
}

/** What a result tells beside its rows; an error, and a preflight request's response, tells nothing. */
export type Notices = {
  /** Undefined when stages are not timed. */
  readonly timing: Timing | undefined
  /** Empty unless `url-use-legacy-target-names` is on. */
  readonly legacy: readonly LegacyName[]
}

/** What the last step is about. */
export type Finishing = {
  /** Undefined for errors and responses to preflight requests. */
  readonly notices: Notices | undefined
  /** CORS headers; those that the response has already are left out. */
  readonly cors: Headers
  /** Whether the connection ends with the response. */
  readonly closes: boolean
  /** The request's trace header, as it is sent back. */
  readonly trace: Header | undefined
}

const vary: Header = ['Vary', 'Accept, Prefer, Range']
const close: Header = ['Connection', 'close']
const server: Header = ['Server', serverName]
/** With every 503 the client may try again at once, as in PostgREST 16, unless the error says when. */
const retryAtOnce: Header = ['Retry-After', '0']

/**
 * Completes a response. The order of headers is that in which they are sent: `Retry-After`, trace, the response's own,
 * `Server-Timing`, `Warning`, `Vary`, CORS, `Connection`, `Server`. What the database has set stays: `Vary`, `Server`,
 * `Retry-After` and CORS headers.
 */
export function finish(response: RestResponse, { notices, cors, closes, trace }: Finishing): RestResponse {
  const { status, headers: own, body, statusText, warning: ignored } = response
  const headers: Header[] = trace === undefined ? [] : [trace]
  for (const header of own) headers.push(header)
  if (notices !== undefined) {
    const { timing, legacy } = notices
    if (timing !== undefined) headers.push(['Server-Timing', serverTiming(timing)])
    if (legacy.length > 0) headers.push(['Warning', headerText(warning(legacy))])
    if (!hasHeader(own, 'Vary')) headers.push(vary)
  }
  for (const header of cors) if (!hasHeader(own, header[0])) headers.push(header)
  if (closes) headers.push(close)
  if (status === 503 && !hasHeader(headers, 'Retry-After')) headers.unshift(retryAtOnce)
  if (!hasHeader(headers, 'Server')) headers.push(server)
  // Written out: spreading took two microseconds.
  return { status, headers, body, statusText, warning: ignored }
}

/** The request's header of that name (`server-trace-header`), empty when there was none. Errors get it, too. */
export function traceHeader(name: string, requestHeaders: Headers): Header {
  const lowerCase = name.toLowerCase()
  // Node reads and writes the bytes of a header as characters, so that they stay what they are.
  return [name, requestHeaders.find(([other]) => other.toLowerCase() === lowerCase)?.[1] ?? '']
}
