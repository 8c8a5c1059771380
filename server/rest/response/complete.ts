// Headers that do not depend on what the answer is about.
import { postgrestVersion } from '../../common/version.ts'
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

const vary: Header = ['Vary', 'Accept, Prefer, Range']

/**
 * An answer (not an error) with `Server-Timing` and `Warning` where there is something to say, and with `Vary` unless
 * the database set one. `legacy` is empty unless `url-use-legacy-target-names` is on.
 */
export function complete(
  response: RestResponse,
  timing: Timing | undefined = undefined,
  legacy: readonly LegacyName[] = [],
): RestResponse {
  const headers = [...response.headers]
  if (timing !== undefined) headers.push(['Server-Timing', serverTiming(timing)])
  if (legacy.length > 0) headers.push(['Warning', headerText(warning(legacy))])
  if (!hasHeader(response.headers, 'Vary')) headers.push(vary)
  const { status, body, statusText, warning: ignored } = response
  // Written out: spreading took two microseconds.
  return { status, headers, body, statusText, warning: ignored }
}

/** `Retry-After`: with every 503, the client may try again at once, as in PostgREST 16, unless the error says when. */
export const retryAfter = (response: RestResponse): RestResponse =>
  response.status === 503 && !hasHeader(response.headers, 'Retry-After')
    ? { ...response, headers: [['Retry-After', '0'], ...response.headers] }
    : response

/** The request's trace header (`server-trace-header`) sent back, also with errors; empty when there was none. */
export function traced(response: RestResponse, name: string | null, requestHeaders: Headers): RestResponse {
  if (name === null) return response
  const lowerCase = name.toLowerCase()
  // Node reads and writes the bytes of a header as characters, so that they stay what they are.
  const value = requestHeaders.find(([other]) => other.toLowerCase() === lowerCase)?.[1] ?? ''
  return { ...response, headers: [[name, value], ...response.headers] }
}
