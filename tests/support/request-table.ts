// Tables of requests and the whole answer to each: what a row does not speak of must not be in the answer.
import { SignJWT } from 'jose'
import type { Test } from 'tap'
import { jwtSecret } from './application.ts'
import type { Answer, Call } from './call.ts'

export type Exchange = {
  readonly name?: string
  /** Method, path, and body: text or bytes as they are, anything else as JSON. */
  readonly send: readonly [method: string, path: string, body?: unknown]
  readonly prefer?: string
  readonly accept?: string
  /** Content type of the body, when it is not JSON. */
  readonly type?: string
  /** Role of the token; none: anonymous. */
  readonly as?: string
  readonly headers?: Readonly<Record<string, string>>

  readonly status: number
  /** The body: text exactly as it is, anything else as JSON; empty when left out. */
  readonly body?: unknown
  /** `Content-Range`. When left out, writes that succeed have none but `*\/*`, everything else has none. */
  readonly range?: string
  /** `Preference-Applied` */
  readonly applied?: string
  readonly location?: string
  /** `Content-Type`, when it is not JSON; null: none, although there is a body. */
  readonly contentType?: string
  /** Other headers that must be there, or (null) must not. */
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

/** The headers that the request of a row has, without the content type of JSON. */
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

/** Sends the requests of a table one after the other. `base` is where the API is mounted. */
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
