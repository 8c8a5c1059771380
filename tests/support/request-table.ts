// Tables of requests and complete responses: anything that a row does not mention must be absent from the response.
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { send, type AnswerHeader, type RawAnswer, type SentRequest } from './sent-request.ts'
import { bearer } from './token.ts'

type RequestHeader =
  | 'Accept-Profile'
  | 'Access-Control-Request-Headers'
  | 'Access-Control-Request-Method'
  | 'Authorization'
  | 'Content-Profile'
  | 'Cookie'
  | 'Origin'
  | 'Range'
  | 'Range-Unit'
  | 'User-Agent'

/** The request of a row. */
export type TableRequest = {
  readonly name?: string
  /** Method, path below the mount path, and body: text or bytes are sent unchanged, anything else as JSON. */
  readonly send: readonly [method: string, path: string, body?: unknown]
  readonly prefer?: string
  readonly accept?: string
  /** Content type of the body, if it is not JSON. */
  readonly type?: string
  /** Role of the token; without one, the request is anonymous. */
  readonly as?: string
  readonly headers?: Readonly<Partial<Record<RequestHeader | `X-${string}`, string>>>
}

/** A request with its complete response. */
export type Exchange = TableRequest & {
  /** 200 by default. */
  readonly status?: number
  /** The body: text is compared exactly, bytes and patterns with all of it, anything else as JSON; empty by default. */
  readonly body?: unknown
  /**
   * `Content-Range`, null if it is absent. By default `*\/*` for successful writes, the number of the rows of a
   * successful GET whose body is an array, absent otherwise.
   */
  readonly range?: string | null
  /** `Preference-Applied` */
  readonly applied?: string
  readonly location?: string
  /** `Content-Type`, if it is not JSON; null if it is absent although there is a body. */
  readonly contentType?: string | null
  /** Other expected headers; null if a header must be absent. `Proxy-Status` is by default that of the error in the body. */
  readonly also?: Readonly<Partial<Record<AnswerHeader, string | RegExp | null>>>
}

/** Related exchanges on one server. */
export type RequestTable = {
  readonly title: string
  /** Settings of the server in addition to those of all tables of the test. */
  readonly settings?: Environment
  readonly rows: readonly Exchange[]
}

/** The complete body of an error. */
export const fault = (code: string, message: string, details: unknown = null, hint: string | null = null) => ({
  code,
  message,
  details,
  hint,
})

/** The body of the error of a query string that violates the grammar. */
export const notParsed = (text: string, column: number, details: string) =>
  fault('PGRST100', `"failed to parse ${text}" (line 1, column ${column})`, details)

/** The error of text after a complete value in the query string. */
export const trailingText = (text: string, column: number, details: string) => ({
  ...notParsed(text, column, details),
  hint: 'Put names and values that contain commas, parentheses or quotes in double quotes, with a backslash before each quote and backslash in them.',
})

/** The request of a row as it is sent. */
export async function requestOf(row: TableRequest): Promise<SentRequest> {
  const { prefer, accept, type, as, headers } = row
  const [method, path, body] = row.send
  const text = typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
  return {
    method,
    path,
    headers: {
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(prefer === undefined ? {} : { Prefer: prefer }),
      ...(accept === undefined ? {} : { Accept: accept }),
      ...(type === undefined ? {} : { 'Content-Type': type }),
      ...(as === undefined ? {} : { Authorization: await bearer(as) }),
      ...headers,
    },
    ...(text === undefined ? {} : { body: text }),
  }
}

const jsonType = 'application/json; charset=utf-8'

/** Headers that are absent unless a row mentions them. `Content-Length`, `Vary` and others are in most responses. */
const absentByDefault = [
  'Access-Control-Allow-Credentials',
  'Access-Control-Allow-Headers',
  'Access-Control-Allow-Methods',
  'Access-Control-Allow-Origin',
  'Access-Control-Expose-Headers',
  'Access-Control-Max-Age',
  'Allow',
  'Range-Unit',
  'Server-Timing',
  'Warning',
  'WWW-Authenticate',
] as const satisfies readonly AnswerHeader[]

function defaultRange({ send: [method, path], status = 200, body }: Exchange): string | null {
  if (status >= 300) return null
  if (method === 'DELETE' || (method === 'POST' && !path.startsWith('/rpc/'))) return '*/*'
  if (method !== 'GET' || !Array.isArray(body)) return null
  return body.length === 0 ? '*/*' : `0-${body.length - 1}/*`
}

const isError = (body: unknown): body is { readonly code: string } =>
  typeof body === 'object' && body !== null && 'code' in body && 'message' in body

function expectedHeaders(row: Exchange): Readonly<Partial<Record<AnswerHeader, string | RegExp | null>>> {
  const { body, range, applied, location, contentType, also } = row
  return {
    ...Object.fromEntries(absentByDefault.map((name) => [name, null])),
    'Content-Type': contentType !== undefined || body === undefined || body === '' ? (contentType ?? null) : jsonType,
    'Content-Range': range === undefined ? defaultRange(row) : range,
    'Preference-Applied': applied ?? null,
    Location: location ?? null,
    'Proxy-Status': isError(body) ? `PostgREST; error=${body.code}` : null,
    ...also,
  }
}

function bodyLike(expected: unknown, { body }: RawAnswer): unknown {
  if (expected instanceof Uint8Array) return body
  const text = body.toString()
  if (expected === undefined || typeof expected === 'string' || expected instanceof RegExp) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return { 'not JSON': text }
  }
}

/** The title of a row's assertion: its request. */
export const titleOf = ({ name, send: [method, path, body], prefer, accept, type, as }: TableRequest): string =>
  [method, path, typeof body === 'string' ? body : JSON.stringify(body), prefer, accept, type, as, name]
    .filter((it) => it !== undefined)
    .join(' · ')
    .slice(0, 200)

/** What matches a pattern is replaced with the pattern, so that a comparison shows what does not. */
const comparable = (expected: unknown, found: unknown): unknown =>
  expected instanceof RegExp && typeof found === 'string' && expected.test(found) ? expected : found

export type Comparison = {
  readonly found: Readonly<Record<'status' | 'body' | 'headers', unknown>>
  readonly wanted: Readonly<Record<'status' | 'body' | 'headers', unknown>>
}

/** What a response contains and what the row expects, which are deeply equal if the response is right. */
export function compare(row: Exchange, answer: RawAnswer): Comparison {
  const { status = 200, body = '' } = row
  const headers = expectedHeaders(row)
  const names = Object.keys(headers) as AnswerHeader[]
  return {
    found: {
      status: answer.status,
      body: comparable(body, bodyLike(body, answer)),
      headers: Object.fromEntries(names.map((name) => [name, comparable(headers[name], answer.header(name))])),
    },
    wanted: { status, body, headers },
  }
}

/**
 * Sends the requests of a table one at a time, and compares each response: one assertion per row.
 *
 * @param url of the server
 * @param mountPath of the API
 */
export async function exchangeAll(
  t: Test,
  url: string,
  rows: readonly Exchange[],
  mountPath = '/rest/v1',
): Promise<void> {
  for (const row of rows) {
    const { found, wanted } = compare(row, await send(url + mountPath, await requestOf(row)))
    t.strictSame(found, wanted, titleOf(row))
  }
}
