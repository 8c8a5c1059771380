// Reads the rows of a query of supabase-js one by one while they arrive: as NDJSON, which its builders would collect first.
import type { Query } from './rest-client.ts'

/** The parts of a query that make its request. supabase-js declares them as protected. */
type Builder = {
  readonly method: string
  readonly url: URL
  readonly headers: Headers
  readonly schema?: string
  readonly body?: unknown
  readonly signal?: AbortSignal
  readonly fetch: typeof fetch
}

/** The response to a query was an error, or it was broken off: the rows so far are not all of them. */
export class RowsError extends Error {
  /** The status of the response; undefined when it was broken off, or there was none. */
  readonly status: number | undefined
  /** The code of the error: `PGRST…` or an SQLSTATE. */
  readonly code: string | undefined

  constructor(
    message: string,
    more: { readonly status?: number; readonly code?: string; readonly cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause })
    this.name = 'RowsError'
    this.status = more.status
    this.code = more.code
  }
}

/**
 * Sends a query and yields its rows while they arrive: `for await (const row of rows(client.from('orders').select()))`.
 * Leaving the loop ends the request, and the statement in the database.
 *
 * @param query a query that was not awaited, of `select` or `rpc`
 * @throws TypeError for something else than a query of supabase-js; RowsError for an error response, when there was none, and
 *   when it was broken off in the middle; the reason of its `abortSignal`
 */
export async function* rows<Row>(
  query: Query<{ readonly data: readonly Row[] | Row | null }>,
): AsyncGenerator<Row, void> {
  const builder = builderOf(query)
  const response = await send(builder).catch((cause: unknown) => {
    if (builder.signal?.aborted === true) throw cause
    throw new RowsError('There was no response', { cause })
  })
  if (!response.ok) throw await errorOf(response)
  if (response.body === null) return
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  let isComplete = false
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new RowsError('The response was broken off', { cause })
      })
      if (done) break
      const lines = (rest + value).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) yield JSON.parse(line) as Row
    }
    isComplete = true
  } finally {
    if (!isComplete) await reader.cancel().catch(() => undefined)
  }
  if (rest !== '') throw new RowsError('The response was broken off in the middle of a row')
}

function builderOf(query: object): Builder {
  const { method, url, headers, fetch } = query as Partial<Builder>
  if (typeof method !== 'string' || !(url instanceof URL) || !headers || typeof fetch !== 'function') {
    throw new TypeError('rows() takes a query of supabase-js, such as client.from("orders").select()')
  }
  return query as Builder
}

/** Sends the request that awaiting the query would send, with another `Accept` header. */
function send({ method, url, headers: given, schema, body, signal, fetch: send }: Builder): Promise<Response> {
  const headers: Record<string, string> = {}
  given.forEach((value, name) => (headers[name] = value))
  headers.accept = 'application/x-ndjson'
  const isRead = method === 'GET'
  if (schema !== undefined) headers[isRead ? 'accept-profile' : 'content-profile'] = schema
  if (!isRead) headers['content-type'] = 'application/json'
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  return send(url.toString(), { method, headers, ...text, ...(signal ? { signal } : {}) })
}

async function errorOf(response: Response): Promise<RowsError> {
  const { status } = response
  const text = await response.text()
  try {
    const { message, code } = JSON.parse(text) as { readonly message?: string; readonly code?: string }
    return new RowsError(message ?? text, { status, ...(code === undefined ? {} : { code }) })
  } catch {
    return new RowsError(text === '' ? `HTTP ${status}` : text, { status })
  }
}
