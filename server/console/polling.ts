// Values that are loaded again and again while people look at a page.
import { useEffect } from 'preact/hooks'
import { useLoaded, type Loaded } from './parts.tsx'

/**
 * Loads a value, and loads it again some time after each response, unless the tab is hidden: then when it is shown again.
 *
 * @param pauseTime in milliseconds
 */
export function usePolled<T>(
  load: (signal: AbortSignal) => Promise<T>,
  dependencies: readonly unknown[],
  pauseTime: number,
): Loaded<T> {
  const loaded = useLoaded(load, dependencies)
  useEffect(() => {
    if (loaded.isLoading) return undefined
    const again = (): void => {
      if (document.visibilityState === 'visible') loaded.reload()
      else document.addEventListener('visibilitychange', loaded.reload, { once: true })
    }
    const timer = setTimeout(again, pauseTime)
    return () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', loaded.reload)
    }
  }, [loaded.isLoading, loaded.value])
  return loaded
}
