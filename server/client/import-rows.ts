// Imports rows as a stream of newline-delimited JSON, which supabase-js's builders cannot send.
import type { ClientError, ClientResult, Query } from './rest-client.ts'

/** The error of an import. */
export type ImportError = ClientError & {
  /** Number of the row that caused the error, from 1; undefined if it is not known. */
  readonly row?: number | undefined
}

export type ImportResult =
  | Extract<ClientResult<null>, { readonly error: null }>
  | { readonly data: null; readonly error: ImportError; readonly status: number }

/** The parts of a query of supabase-js that its types do not show. */
type Sendable = {
  readonly url: URL
  readonly headers: ConstructorParameters<typeof Headers>[0]
  readonly fetch?: typeof fetch
}

const isSendable = (query: object): query is Sendable =>
  'url' in query && query.url instanceof URL && 'headers' in query

/**
 * Imports rows in one transaction. Neither client nor server has all of them in memory.
 *
 * @param query where to write, with all options: `client.from('items').insert([])`, or `.upsert([], { onConflict: 'id' })`
 * @param rows objects with the same keys
 * @returns as supabase-js, without data; the error of a row has its number
 * @throws TypeError when the query is not one of supabase-js; the error of `rows`
 */
export async function importRows(query: Query, rows: Iterable<object> | AsyncIterable<object>): Promise<ImportResult> {
  if (!isSendable(query)) throw new TypeError('importRows needs a query of supabase-js, such as from(…).insert([])')
  const headers = new Headers(query.headers)
  headers.set('Content-Type', 'application/x-ndjson')
  const { send = fetch } = { send: query.fetch }
  const lines = streamOf(rows)
  const body = streamsRequests() ? lines.stream : await new Response(lines.stream).blob()
  const init = { method: 'POST', headers, body, ...(body instanceof Blob ? {} : { duplex: 'half' as const }) }
  let response: Response
  try {
    response = await send(query.url, init)
  } catch (error) {
    if (lines.failure) throw lines.failure.error
    return failed(0, { message: error instanceof Error ? error.message : String(error) })
  }
  const text = await response.text()
  if (response.ok) return { data: null, error: null, status: response.status }
  return failed(response.status, text === '' ? { message: response.statusText } : parsed(text))
}

type Fault = Partial<Record<'message' | 'details' | 'hint' | 'code', string | null>> & { readonly line?: number }

function parsed(text: string): Fault {
  try {
    return JSON.parse(text) as Fault
  } catch {
    return { message: text }
  }
}

const failed = (status: number, { message, details, hint, code, line }: Fault): ImportResult => ({
  data: null,
  // Each row is a line.
  error: { message: message ?? '', details: details ?? '', hint: hint ?? '', code: code ?? '', row: line },
  status,
})

type Lines = { readonly stream: ReadableStream<Uint8Array>; readonly failure: { readonly error: unknown } | undefined }

/** Characters that are collected before a piece is sent. */
const pieceSize = 64 * 1024

/** The rows as lines of JSON, read at the pace of the connection. */
function streamOf(rows: Iterable<object> | AsyncIterable<object>): Lines {
  const iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]()
  const encoder = new TextEncoder()
  let failure: Lines['failure']
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        let text = ''
        while (text.length < pieceSize) {
          const next = await iterator.next()
          if (next.done === true) {
            if (text !== '') controller.enqueue(encoder.encode(text))
            controller.close()
            return
          }
          text += `${JSON.stringify(next.value)}\n`
        }
        controller.enqueue(encoder.encode(text))
      } catch (error) {
        failure = { error }
        controller.error(error)
      }
    },
    async cancel() {
      await iterator.return?.()
    },
  })
  return {
    stream,
    get failure() {
      return failure
    },
  }
}

/**
 * Whether `fetch` sends a stream as the body of a request. Elsewhere the stream would be converted to a text, with the type
 * of a text. https://developer.chrome.com/docs/capabilities/web-apis/fetch-streaming-requests#feature_detection
 */
function streamsRequests(): boolean {
  let isRead = false
  const init = {
    method: 'POST',
    body: new ReadableStream(),
    get duplex() {
      isRead = true
      return 'half' as const
    },
  }
  return !new Request('http://localhost', init).headers.has('Content-Type') && isRead
}
