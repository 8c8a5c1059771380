// Runs one written test, and compares the response with what it expects.
import { isDeepStrictEqual } from 'node:util'
import { diffArrays } from 'diff'
import type { Identity } from '../../identity/identity.ts'
import type { Reply, Sent, TestSession } from './session.ts'
import type { ExpectedError, PolicyTest } from './test-file.ts'

/** Why a test failed. */
export type Problem = {
  readonly message: string
  readonly expected?: unknown
  readonly actual?: unknown
  /** Rows that are missing begin with "-", those that are too many with "+". */
  readonly difference?: readonly string[]
  /** The error of the response, if any. */
  readonly response?: unknown
}

/** Runs the test in a transaction that is rolled back. Null: it passed. */
export function runTest(
  session: TestSession,
  test: PolicyTest,
  identify: () => Promise<Identity>,
  basePath: string,
): Promise<Problem | null> {
  return session.isolated(async () => {
    if (test.given !== undefined) {
      try {
        await session.client.query(test.given)
      } catch (error) {
        return { message: `the SQL of "given" failed: ${(error as Error).message}` }
      }
    }
    return compare(test, await session.send(sentBy(test, basePath), await identify()))
  })
}

/** The request of a test. Asks for the rows, or for their number, as the test expects it. */
export function sentBy({ method, target, headers, body, rows }: PolicyTest, basePath: string): Sent {
  const given = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const isWrite = method !== 'GET' && method !== 'HEAD' && !belowBase(target, basePath).startsWith('/rpc/')
  const wish = Array.isArray(rows) ? 'return=representation' : 'count=exact'
  const prefer = rows !== undefined && isWrite ? [given.prefer, wish].filter(Boolean).join(', ') : given.prefer
  return {
    method,
    target: belowBase(target, basePath),
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...given,
      ...(prefer === undefined ? {} : { prefer }),
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  }
}

/** The path below the mount path of the REST API, percent-encoded where URLs need it. */
function belowBase(target: string, basePath: string): string {
  const base = [basePath, '/rest/v1'].find((it) => it !== '/' && (target === it || target.startsWith(`${it}/`)))
  const below = base === undefined ? target : target.slice(base.length) || '/'
  return below.replace(/[^\x21-\x7e]+/gu, (text) => encodeURIComponent(text))
}

/** Compares a response with the expectations of a test. Null: it meets all of them. */
export function compare({ status, rows, error, target }: PolicyTest, reply: Reply): Problem | null {
  const failed = reply.status >= 400
  const details = failed ? { response: reply.body } : {}
  if (status !== undefined && status !== reply.status) {
    return { message: 'the status differs', expected: status, actual: reply.status, ...details }
  }
  if (error !== undefined) return compareError(error, reply)
  if (failed && rows !== undefined) {
    return { message: 'the response is an error', expected: rows, actual: reply.status, ...details }
  }
  if (typeof rows === 'number') {
    const actual = countOf(reply)
    return actual === rows ? null : { message: 'the number of rows differs', expected: rows, actual, ...rowsOf(reply) }
  }
  return rows === undefined ? null : compareRows(rows, reply.body, /[?&]order=/.test(target))
}

const rowsOf = ({ body }: Reply): { readonly response?: unknown } => (Array.isArray(body) ? { response: body } : {})

function compareError({ code, message }: ExpectedError, { status, body }: Reply): Problem | null {
  const found = typeof body === 'object' && body !== null ? (body as { code?: unknown; message?: unknown }) : {}
  const sameCode = code === undefined || found.code === code
  const sameMessage = message === undefined || String(found.message).includes(message)
  if (status >= 400 && sameCode && sameMessage) return null
  const expected = { ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) }
  const problem = status < 400 ? 'the request succeeded instead of failing' : 'the error differs'
  return {
    message: problem,
    expected,
    actual: status < 400 ? { status } : { status, ...found },
    ...rowsOf({ body } as Reply),
  }
}

/** Number of rows in the response, or affected by the write. */
function countOf({ body, header }: Reply): number | undefined {
  if (Array.isArray(body)) return body.length
  const total = /\/(\d+)$/.exec(header('content-range') ?? '')?.[1]
  if (total !== undefined) return Number(total)
  return body === undefined || body === null ? undefined : 1
}

function compareRows(expected: readonly unknown[], body: unknown, isOrdered: boolean): Problem | null {
  const actual: readonly unknown[] = Array.isArray(body) ? body : body === undefined ? [] : [body]
  const texts = (rows: readonly unknown[]): string[] => {
    const all = rows.map((row) => JSON.stringify(sortedKeys(row)))
    return isOrdered ? all : all.sort()
  }
  const [wanted, found] = [texts(expected), texts(actual)]
  if (isDeepStrictEqual(wanted, found)) return null
  const difference = diffArrays(wanted, found).flatMap(({ added, removed, value }) =>
    value.map((row) => `${added ? '+' : removed ? '-' : ' '} ${row}`),
  )
  const isOrder = isDeepStrictEqual([...wanted].sort(), [...found].sort())
  return { message: isOrder ? 'the order of the rows differs' : 'the rows differ', expected, actual, difference }
}

/** The same value with the keys of its objects in one order. */
function sortedKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortedKeys)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(entries.map(([key, child]) => [key, sortedKeys(child)]))
}
