// Values that are loaded again and again while a page is open.
import { useEffect } from 'preact/hooks'
import { useLoaded, type Loaded } from './parts.tsx'

/**
 * Loads a value, and loads it again some time after each response.
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
    const timer = setTimeout(loaded.reload, pauseTime)
    return () => clearTimeout(timer)
  }, [loaded.isLoading, loaded.value])
  return loaded
}
