// Tables of requests and complete responses: anything that a row does not mention must be absent from the response.
import { SignJWT } from 'jose'
import type { Test } from 'tap'
import { jwtSecret } from './application.ts'
import type { Answer, Call } from './call.ts'

export type Exchange = {
  readonly name?: string
  /** Method, path, and body: text or bytes are sent unchanged, anything else as JSON. */
  readonly send: readonly [method: string, path: string, body?: unknown]
  readonly prefer?: string
  readonly accept?: string
  /** Content type of the body, if it is not JSON. */
  readonly type?: string
  /** Role of the token; without one, the request is anonymous. */
  readonly as?: string
  readonly headers?: Readonly<Record<string, string>>

  readonly status: number
  /** The body: text is compared exactly, anything else as JSON; empty by default. */
  readonly body?: unknown
  /** `Content-Range`. By default `*\/*` for successful writes, absent otherwise. */
  readonly range?: string
  /** `Preference-Applied` */
  readonly applied?: string
  readonly location?: string
  /** `Content-Type`, if it is not JSON; null if it is absent although there is a body. */
  readonly contentType?: string
  /** Other expected headers; null if a header must be absent. */
  readonly also?: Readonly<Record<string, string | null>>
}

export const fault = (code: string, message: string, details: unknown = null, hint: string | null = null) => ({
  code,
  message,
  details,
  hint,
})

/** The `Authorization` header of a role. */
export async function bearer(role: string, claims: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const token = await new SignJWT({ role, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(jwtSecret))
  return `Bearer ${token}`
}

/** The request headers of a row, without the content type for JSON. */
export async function headersOf({ prefer, accept, type, as, headers }: Exchange): Promise<Record<string, string>> {
  return {
    ...(prefer === undefined ? {} : { Prefer: prefer }),
    ...(accept === undefined ? {} : { Accept: accept }),
    ...(type === undefined ? {} : { 'Content-Type': type }),
    ...(as === undefined ? {} : { Authorization: await bearer(as) }),
    ...headers,
  }
}

const isPlainWrite = ([method, path]: Exchange['send']): boolean =>
  (method === 'POST' && !path.startsWith('/rpc/')) || method === 'DELETE'

const jsonType = 'application/json; charset=utf-8'

function expectedHeaders(row: Exchange): Record<string, string | null> {
  const { status, body, range, applied, location, contentType, also } = row
  const isRange = range ?? (status < 300 && isPlainWrite(row.send) ? '*/*' : null)
  const hasBody = body !== undefined && body !== ''
  return {
    'content-type': contentType ?? (hasBody ? jsonType : null),
    'content-range': isRange,
    'preference-applied': applied ?? null,
    location: location ?? null,
    ...also,
  }
}

function bodyOf(row: Exchange, { text }: Answer): unknown {
  if (row.body === undefined || typeof row.body === 'string') return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

const textOf = (body: unknown): string | undefined => (typeof body === 'string' ? body : JSON.stringify(body))

const titleOf = ({ name, send: [method, path, body], prefer, type, as }: Exchange): string =>
  [method, path, textOf(body), prefer, type, as, name]
    .filter((it) => it !== undefined)
    .join(' · ')
    .slice(0, 200)

/** Sends the requests of a table one at a time. `base` is the base URL of the API. */
export async function exchangeAll(t: Test, call: Call, rows: readonly Exchange[], base = '/rest/v1'): Promise<void> {
  for (const row of rows) {
    const [method, path, body] = row.send
    const answer = await call(method, base + path, { body, headers: await headersOf(row) })
    const headers = expectedHeaders(row)
    const got = {
      status: answer.status,
      body: bodyOf(row, answer),
      headers: Object.fromEntries(Object.keys(headers).map((key) => [key, answer.headers.get(key)])),
    }
    t.strictSame(got, { status: row.status, body: row.body ?? '', headers }, titleOf(row))
  }
}
