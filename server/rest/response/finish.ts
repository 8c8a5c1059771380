// The last step of every response: adds the headers that do not depend on the kind of request.
import { postgrestVersion, serverName } from '../../common/version.ts'
import type { LegacyName } from '../plan/embed-path.ts'
import { hasHeader, headerText } from './header.ts'
import type { Header, Headers } from './header.ts'
import type { RestResponse } from './result.ts'

/** Durations of the stages of a request, in milliseconds. */
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
  // Agent and text are PostgREST's, because clients look for them. RFC 7234, section 5.5.
  return (
    `299 PostgRESTv${postgrestVersion} "Embedded resource was referenced by relation name even though it has an alias. ` +
    `This is deprecated and will stop working in a future release. Update ${changes} in query string filters, orders or limits."`
  )
}

/** Who may store a response: only the caller, or shared caches as well. */
export type Caching = 'private' | 'shared'

/** Data for headers of successful responses. */
export type Notices = {
  /** Undefined when stages are not timed. */
  readonly timing: Timing | undefined
  /** Empty unless `url-use-legacy-target-names` is on. */
  readonly legacy: readonly LegacyName[]
}

/** The input of the last step. */
export type FinishOptions = {
  /** Undefined for errors and responses to preflight requests. */
  readonly notices: Notices | undefined
  /** CORS headers. They do not replace headers of the response. */
  readonly cors: Headers
  /** Headers about limits of requests per second; undefined without such limits. */
  readonly rate?: Headers | undefined
  /** Who may store the response; undefined for methods whose responses are never stored. */
  readonly caching?: Caching | undefined
  /** Whether to close the connection after the response. */
  readonly closesConnection: boolean
  /** The trace header to send back. */
  readonly trace: Header | undefined
}

const vary: Header = ['Vary', 'Accept, Prefer, Range']
const varyByEncoding: Header = ['Vary', 'Accept, Prefer, Range, Accept-Encoding']
/** Separate from PostgREST's header. RFC 9110, section 5.3: a recipient joins them. */
const varyByCaller: Header = ['Vary', 'Accept-Profile, Authorization, apikey, Cookie']
/** Where caches may use a response without asking whether its CORS headers fit. */
const varyByOrigin: Header = ['Vary', 'Accept-Profile, Authorization, apikey, Cookie, Origin']
// `no-cache` allows storing a response, but not using it without a conditional request.
const privateCaching: Header = ['Cache-Control', 'private, no-cache']
const sharedCaching: Header = ['Cache-Control', 'no-cache']
const notStored: Header = ['Cache-Control', 'no-store']
const close: Header = ['Connection', 'close']
const server: Header = ['Server', serverName]
/** As in PostgREST 16, clients may retry after a 503 at once, unless the error has another `Retry-After`. */
const retryAtOnce: Header = ['Retry-After', '0']

/**
 * Completes a response. Headers are sent in this order: `Retry-After`, trace, those of the response, `Server-Timing`,
 * `Warning`, `Vary`, `Cache-Control`, limits, CORS, `Connection`, `Server`. If the database has set `Vary`, `Cache-Control`,
 * `Server`, `Retry-After` or a CORS
 * header, that value is kept.
 */
export function finish(
  response: RestResponse,
  { notices, cors, caching, rate, closesConnection: closes, trace }: FinishOptions,
): RestResponse {
  const { status, headers: own, body, variesByEncoding, statusText, warning: ignored } = response
  const headers: Header[] = trace === undefined ? [] : [trace]
  let [hasVary, hasCacheControl, hasServer] = [false, false, trace !== undefined && isNamed(trace, 'server')]
  for (const header of own) {
    headers.push(header)
    hasVary ||= isNamed(header, 'vary')
    hasCacheControl ||= isNamed(header, 'cache-control')
    hasServer ||= isNamed(header, 'server')
  }
  if (notices !== undefined) {
    const { timing, legacy } = notices
    if (timing !== undefined) headers.push(['Server-Timing', serverTiming(timing)])
    if (legacy.length > 0) headers.push(['Warning', headerText(warning(legacy))])
    if (!hasVary) {
      headers.push(variesByEncoding === true ? varyByEncoding : vary)
      if (caching !== undefined) headers.push(hasCacheControl ? varyByOrigin : varyByCaller)
    }
  }
  if (caching !== undefined && !hasCacheControl) {
    headers.push(notices === undefined ? notStored : caching === 'private' ? privateCaching : sharedCaching)
  }
  if (rate !== undefined) for (const header of rate) if (!hasHeader(own, header[0])) headers.push(header)
  for (const header of cors) if (!hasHeader(own, header[0])) headers.push(header)
  if (closes) headers.push(close)
  if (status === 503 && !hasHeader(headers, 'Retry-After')) headers.unshift(retryAtOnce)
  if (!hasServer) headers.push(server)
  // Lists the fields, because spreading takes two microseconds more.
  return { status, headers, body, statusText, warning: ignored }
}

/** @param name in lower case */
const isNamed = ([other]: Header, name: string): boolean => other.length === name.length && other.toLowerCase() === name

/** The header of the request that is sent back (`server-trace-header`), with an empty value if it is missing. */
export function traceHeader(name: string, requestHeaders: Headers): Header {
  const lowerCase = name.toLowerCase()
  // Node reads and writes header values as one character per byte, so no conversion is needed.
  return [name, requestHeaders.find(([other]) => other.toLowerCase() === lowerCase)?.[1] ?? '']
}
