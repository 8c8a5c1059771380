// Lists that are loaded page by page, the newest first.
import { useEffect, useRef, useState } from 'preact/hooks'
import { consoleApi } from './api.ts'
import { useAction } from './forms.tsx'
import { useLoaded } from './parts.tsx'

/** What a route returns for a page. */
type ItemPage<Item> = {
  readonly items: readonly Item[]
  /** `before` of the next page; null on the last page. */
  readonly next: string | null
}

export type Listed<Item> = {
  /** All items that are loaded; undefined until the first page is. */
  readonly items: readonly Item[] | undefined
  readonly hasMore: boolean
  readonly error: unknown
  readonly isLoading: boolean
  /** Loads the first page again. */
  readonly reload: () => void
  /** Loads the next page. */
  readonly more: () => void
}

/**
 * The items of a route of the console.
 *
 * @param filter the query of the route
 * @param dependencies the first page is loaded again when one of them changes
 */
export function usePages<Item>(route: string, filter: URLSearchParams, dependencies: readonly unknown[]): Listed<Item> {
  const path = (before: string | null): string => {
    const query = new URLSearchParams(filter)
    if (before !== null) query.set('before', before)
    return `${route}?${String(query)}`
  }
  const first = useLoaded(
    (signal) => consoleApi<ItemPage<Item>>(path(null), { signal }),
    [route, String(filter), ...dependencies],
  )
  const [older, setOlder] = useState<ItemPage<Item>>()
  const { error, isBusy, run } = useAction()
  const current = useRef(first.value)
  current.current = first.value
  useEffect(() => setOlder(undefined), [first.value])
  const next = (older ?? first.value)?.next ?? null
  const more = async (): Promise<void> => {
    const since = first.value
    const page = await consoleApi<ItemPage<Item>>(path(next))
    // The first page may have been loaded again meanwhile, with other conditions.
    if (current.current === since) setOlder({ ...page, items: [...(older?.items ?? []), ...page.items] })
  }
  return {
    items: first.value && [...first.value.items, ...(older?.items ?? [])],
    hasMore: next !== null,
    error: first.error ?? error,
    isLoading: first.isLoading || isBusy,
    reload: first.reload,
    more: () => run(more),
  }
}
