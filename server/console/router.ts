// The address of a page in the fragment: `#/tables/public/profiles?order=id.desc`. Fragments are never sent to the server, so
// that filters and requests are in no log, and the console works behind any path prefix.
import { useEffect, useState } from 'preact/hooks'

export type Route = {
  /** Decoded segments; empty for the first page. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export function routeOf(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#?\/?/, '').split(/\?(.*)/s, 2)
  return {
    path: path.split('/').filter(Boolean).map(decoded),
    query: new URLSearchParams(query),
  }
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}

/** The link to a page. */
export function href(path: readonly string[], query: Readonly<Record<string, string>> | URLSearchParams = {}): string {
  const text = new URLSearchParams(query).toString()
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`
}

/** Opens a page. `replace` leaves no entry in the history, as for filters that are being typed. */
export function go(
  path: readonly string[],
  query: Readonly<Record<string, string>> | URLSearchParams = {},
  { replace = false } = {},
): void {
  const target = href(path, query)
  if (target === location.hash) return
  if (replace) location.replace(target)
  else location.hash = target
}

/** The fragment with which the console was opened: a link from elsewhere may have it. */
export const openingFragment = location.hash

/** The current address; the component is drawn again when it changes. */
export function useRoute(): Route {
  const [fragment, setFragment] = useState(location.hash)
  useEffect(() => {
    const changed = (): void => setFragment(location.hash)
    addEventListener('hashchange', changed)
    changed()
    return () => removeEventListener('hashchange', changed)
  }, [])
  return routeOf(fragment)
}
