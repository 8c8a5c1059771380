// Keyset pages: follows the links of a response, which supabase-js does not show.

/** A query of supabase-js, before it is sent: `client.from('orders').select().order('id').limit(100)`. */
export type PageQuery<Data = unknown> = PromiseLike<{ readonly data: Data }>

/** A row of the data that a query resolves to. */
export type RowOf<Data> = Data extends readonly (infer Row)[] ? Row : Data extends null ? never : Data

/** The members of a query that supabase-js does not declare as public. */
type Internals = {
  readonly method?: string
  readonly url: URL
  readonly headers: Headers | Readonly<Record<string, string>>
  readonly fetch?: typeof globalThis.fetch
}

/** An error response, or a body that is not an array of rows. */
export class PageError extends Error {
  readonly status: number
  /** The body of the response, parsed if it is JSON. */
  readonly body: unknown

  constructor(status: number, body: unknown) {
    const { message } = (typeof body === 'object' && body !== null ? body : {}) as { readonly message?: unknown }
    super(typeof message === 'string' ? message : `The server responded with ${status}`)
    this.name = 'PageError'
    this.status = status
    this.body = body
  }
}

const internalsOf = (query: object): Internals => {
  const { url, headers, method, fetch } = query as Partial<Internals>
  if (!(url instanceof URL) || headers === undefined || (method !== undefined && method !== 'GET')) {
    throw new TypeError('pages() needs a query that reads: from(…).select(…), or rpc(…, …, { get: true })')
  }
  return { url, headers, ...(fetch === undefined ? {} : { fetch }) }
}

/** Adds the preference for pages to those that the query has, such as `count=exact`. */
function headersOf({ headers }: Internals): Headers {
  const sent = new Headers(headers)
  if (!/(?:^|,)\s*pagination=/.test(sent.get('prefer') ?? '')) sent.append('Prefer', 'pagination=keyset')
  return sent
}

/** The target of a link; undefined when there is none. RFC 8288 */
function linkTo(relation: string, header: string | null): string | undefined {
  for (const [, target, name] of (header ?? '').matchAll(/<([^>]*)>\s*;\s*rel="([^"]*)"/g)) {
    if (name === relation) return target
  }
  return undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * Reads the pages of a query one after the other. The next one is requested when the loop asks for it, so leaving the
 * loop ends the reading.
 *
 * @param query has a `limit`, the size of the pages; its order is made total by the server. It must not be awaited
 * @throws TypeError for a query that writes; PageError for an error response
 */
export async function* pages<Data>(query: PageQuery<Data>): AsyncGenerator<readonly RowOf<Data>[], void, undefined> {
  const internals = internalsOf(query)
  const headers = headersOf(internals)
  // Called without a receiver, as browsers require.
  const { fetch = globalThis.fetch } = internals
  for (let url: URL | undefined = internals.url; url;) {
    const response: Response = await fetch(url.href, { method: 'GET', headers })
    const rows = parsed(await response.text())
    if (!response.ok || !Array.isArray(rows)) throw new PageError(response.status, rows)
    yield rows as readonly RowOf<Data>[]
    const next = linkTo('next', response.headers.get('link'))
    url = next === undefined ? undefined : new URL(next, url)
  }
}
