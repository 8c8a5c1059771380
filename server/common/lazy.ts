// A value that is loaded at its first use.

/** Loads a value at the first call. Later calls share it, or load it again after a failure. */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    }))
}
