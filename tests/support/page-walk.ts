// Follows the links of keyset pages.
export type Ask = (path: string, headers?: Record<string, string>, method?: string) => Promise<Response>

export type Page = {
  readonly rows: readonly Record<string, unknown>[]
  readonly links: Readonly<Record<string, string>>
  readonly response: Response
}

export const keyset = { Prefer: 'pagination=keyset' }

/** The targets of a Link header by relation, resolved against the path of the request. RFC 8288. */
export function linksOf(header: string | null, path: string): Readonly<Record<string, string>> {
  const links: Record<string, string> = {}
  for (const [, target = '', relation = ''] of (header ?? '').matchAll(/<([^>]*)>; rel="([^"]*)"/g)) {
    const { pathname, search } = new URL(target, `http://localhost${path}`)
    links[relation] = pathname + search
  }
  return links
}

/** One page of a table. */
export async function pageOf(ask: Ask, path: string, headers?: Record<string, string>): Promise<Page> {
  const response = await ask(path, headers)
  const text = await response.text()
  if (!response.ok) throw new Error(`${path}: ${response.status} ${text}`)
  return {
    rows: JSON.parse(text) as Record<string, unknown>[],
    links: linksOf(response.headers.get('link'), path),
    response,
  }
}

/** Follows `rel` from a page until there is no such link, without any preference. */
export async function follow(ask: Ask, first: Page, rel: 'next' | 'prev', headers?: Record<string, string>) {
  const pages = [first]
  for (let link = first.links[rel]; link !== undefined; link = pages.at(-1)?.links[rel]) {
    if (pages.length > 500) throw new Error('the links do not end')
    pages.push(await pageOf(ask, link, headers))
  }
  return pages
}
