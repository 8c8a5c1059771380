// Values and packages that are loaded at their first use.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** Loads a value at the first call. Later calls share it, or load it again after a failure. */
export function lazy<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | undefined
  return () =>
    (loading ??= load().catch((error: unknown) => {
      loading = undefined
      throw error
    }))
}

/** Loads a package at the first call, without a promise. It must not be an ES module. */
export function lazyPackage<T>(name: string): () => T {
  let loaded: T | undefined
  return () => (loaded ??= require(name) as T)
}
