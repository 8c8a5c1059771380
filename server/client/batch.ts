// Sends queries of supabase-js as one batch (`POST /$batch`), which is one transaction.
import type { ClientError, ClientResult, Query, RestClient } from './rest-client.ts'

/** Stands for a value in the response to an earlier query of the batch. It may be used wherever a value is expected. */
export type Added<Result> = {
  /**
   * A value that the query has returned.
   *
   * @param pointer JSON Pointer into its data: `/id` of a single row, `/0/id` of the first row of a list
   */
  ref<Value>(pointer: string): Value
  /** The result of the query once the batch was sent, or the error of the batch. */
  readonly result: Promise<Result>
}

export type Batch = {
  /** Adds a query. It is not sent before the others have been added. */
  add<Result>(query: Query<Result>): Added<Result>
}

/** The results of what the callback returned: those of added queries in place of the queries. */
export type BatchData<Returned> =
  Returned extends Added<infer Result>
    ? DataOf<Result>
    : Returned extends readonly unknown[]
      ? { -readonly [Key in keyof Returned]: BatchData<Returned[Key]> }
      : Returned extends object
        ? { -readonly [Key in keyof Returned]: BatchData<Returned[Key]> }
        : Returned

/** The data of a successful query. */
type DataOf<Result> = Extract<Result, { readonly error: null }> extends { readonly data: infer Data } ? Data : unknown

/** The error of a batch: that of the query that failed, and its place in the order in which queries were added. */
export type BatchError = ClientError & { readonly request?: string }

export type BatchResult<Data> =
  | { readonly data: Data; readonly error: null; readonly status: number }
  | { readonly data: null; readonly error: BatchError; readonly status: number }

type Part = {
  readonly id: string
  readonly status: number
  readonly headers: Record<string, string>
  readonly body?: unknown
}
type Sent = {
  readonly url: string
  readonly method: string
  readonly headers: Record<string, string>
  readonly body: string | undefined
}

/**
 * Headers that a request of a batch may have. All others are those of the client. The server has the same list
 * (`server/rest/extensions/batch/part-headers.ts`); the client shares no files with it, because it also runs in browsers.
 */
export const ownHeaders: ReadonlySet<string> = new Set([
  'accept',
  'accept-profile',
  'content-profile',
  'content-type',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-unmodified-since',
  'prefer',
  'range',
  'range-unit',
])

/** What a reference looks like within a builder: no builder encodes these characters, and no value has them. */
const markerOf = (index: number): string =>
  `ref${index}x${Math.random().toString(36).slice(2)}${Date.now().toString(36)}z`

/** A reference that builders write into bodies and urls as its marker. */
class Reference {
  readonly marker: string
  readonly #id: string
  readonly #pointer: string

  constructor(id: string, pointer: string, marker: string) {
    this.#id = id
    this.#pointer = pointer
    this.marker = marker
  }

  toJSON(): string {
    return this.marker
  }

  toString(): string {
    return this.marker
  }

  /** Its form in a body. */
  get inBody(): object {
    return { $ref: `${this.#id}#${this.#pointer}` }
  }

  /** Its form in a url, where the pointer is percent-encoded. */
  get inUrl(): string {
    return `\${${this.#id}#${this.#pointer.split('/').map(encodeURIComponent).join('/')}}`
  }
}

/**
 * Runs queries in one transaction: all of them, or none.
 *
 * @param client a client of supabase-js or postgrest-js
 * @param build adds the queries, and returns what is to become the data: added queries, or an object or array of them
 * @returns the data of the returned queries, or the error of the first query that failed
 * @example
 * const { data, error } = await batch(supabase, (b) => {
 *   const order = b.add(supabase.from('orders').insert({ customer: 'Ada' }).select().single())
 *   const lines = b.add(supabase.from('lines').insert({ order_id: order.ref('/id'), sku: 'X1' }).select())
 *   return { order, lines }
 * })
 */
export async function batch<Returned>(
  client: RestClient,
  build: (batch: Batch) => Returned | Promise<Returned>,
): Promise<BatchResult<BatchData<Returned>>> {
  const collected = new Collected()
  const returned = await build(collected)
  return (await collected.send(client, returned)) as BatchResult<BatchData<Returned>>
}

/** A query that was added. Its builder waits for the response, as if it had been sent. */
type Waiting = {
  readonly sent: Promise<Sent>
  readonly respond: (response: Response) => void
  readonly result: Promise<unknown>
}

class Collected implements Batch {
  readonly #queries = new Map<object, Waiting>()
  readonly #references: Reference[] = []

  add<Result>(query: Query<Result>): Added<Result> {
    const id = `q${this.#queries.size}`
    const waiting = intercept(query)
    const added: Added<Result> = {
      ref: <Value>(pointer: string) => {
        const reference = new Reference(id, pointer, markerOf(this.#references.length))
        this.#references.push(reference)
        // Builders write any value by one of its two methods.
        return reference as unknown as Value
      },
      result: waiting.result as Promise<Result>,
    }
    this.#queries.set(added, waiting)
    return added
  }

  async send(client: RestClient, returned: unknown): Promise<BatchResult<unknown>> {
    const queries = [...this.#queries.values()]
    const sent = await Promise.all(queries.map(({ sent }) => sent))
    const target = await intercept(client.from('$batch').insert({})).sent
    const base = target.url.replace(/\/[^/]*$/, '')
    const requests = sent.map((request, index) => this.#request(request, `q${index}`, base))
    const answer = (await client.from('$batch').insert({ requests })) as BatchResult<{
      readonly responses: readonly Part[]
    }>
    if (answer.error) {
      const failure = {
        status: answer.status || 500,
        headers: { 'content-type': 'application/json' },
        body: answer.error,
      }
      for (const { respond } of queries) respond(responseOf(failure))
      return answer
    }
    answer.data.responses.forEach((part, index) => queries[index]?.respond(responseOf(part)))
    const results = new Map<object, ClientResult>()
    for (const [added, { result }] of this.#queries) results.set(added, (await result) as ClientResult)
    const refused = [...results.values()].find(({ error }) => error)
    if (refused?.error) return refused
    return { data: dataOf(returned, results), error: null, status: answer.status }
  }

  #request({ url, method, headers, body }: Sent, id: string, base: string): object {
    let path = url.slice(base.length)
    for (const reference of this.#references) path = path.replaceAll(reference.marker, () => reference.inUrl)
    return {
      id,
      method,
      url: path,
      headers: Object.fromEntries(Object.entries(headers).filter(([name]) => ownHeaders.has(name.toLowerCase()))),
      ...(body === undefined || !methodsWithBody.has(method) ? {} : { body: this.#body(JSON.parse(body)) }),
    }
  }

  /** A body with references in place of their markers. An object of the user that looks like one gets a dollar sign more. */
  #body(value: unknown): unknown {
    if (typeof value === 'string') return this.#references.find(({ marker }) => marker === value)?.inBody ?? value
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((item) => this.#body(item))
    const members = Object.entries(value)
    const isLikeReference = members.length === 1 && /^\$+ref$/.test(members[0]?.[0] ?? '')
    return Object.fromEntries(members.map(([name, item]) => [isLikeReference ? `$${name}` : name, this.#body(item)]))
  }
}

const methodsWithBody = new Set(['POST', 'PATCH', 'PUT'])

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Starts a query with a `fetch` of its own, which keeps the request instead of sending it. */
function intercept(query: Query<unknown>): Waiting {
  let respond: (response: Response) => void = () => undefined
  const response = new Promise<Response>((resolve) => (respond = resolve))
  let result: Promise<unknown> = Promise.resolve()
  const sent = new Promise<Sent>((resolve, reject) => {
    const keep: Fetch = (url, init = {}) => {
      const { method = 'GET', headers, body } = init
      const text = typeof body === 'string' ? body : undefined
      resolve({
        url: url instanceof Request ? url.url : String(url),
        method,
        headers: Object.fromEntries(new Headers(headers)),
        body: text,
      })
      return response
    }
    if (!('fetch' in query)) throw new TypeError('rowhouse/client: only queries of supabase-js can be in a batch')
    // The builder calls its `fetch` once it is awaited, and reads the response as it always does.
    Object.assign(query, { fetch: keep })
    result = Promise.resolve(query)
    result.catch(reject)
  })
  return { sent, respond, result }
}

/** The response to one query, as `fetch` gives it. */
function responseOf({ status, headers, body }: Omit<Part, 'id'>): Response {
  const isEmpty = body === undefined || status === 204 || status === 205 || status === 304
  const isJson = (headers['content-type'] ?? '').includes('json')
  const text = isEmpty ? null : isJson || typeof body !== 'string' ? JSON.stringify(body) : body
  return new Response(text, { status, headers })
}

/** What the callback returned, with the data of queries in their place. */
function dataOf(returned: unknown, results: ReadonlyMap<object, ClientResult>): unknown {
  if (typeof returned !== 'object' || returned === null) return returned
  const result = results.get(returned)
  if (result) return result.data
  if (Array.isArray(returned)) return returned.map((item) => dataOf(item, results))
  return Object.fromEntries(Object.entries(returned).map(([name, value]) => [name, dataOf(value, results)]))
}
