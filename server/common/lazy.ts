// Values and packages that are loaded at their first use.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** A value that is loaded at the first call. Later calls share it, or load it again after a failure. */
export type Lazy<T> = (() => Promise<T>) & {
  /** The value if it has been loaded. */
  readonly value: () => T | undefined
  /** The value if it was asked for: waits for it, but does not load it. Undefined after a failure. */
  readonly settled: () => Promise<T | undefined>
}

export function lazy<T>(load: () => Promise<T>): Lazy<T> {
  let loading: Promise<T> | undefined
  let loaded: T | undefined
  const get = (): Promise<T> =>
    (loading ??= load().then(
      (value) => (loaded = value),
      (error: unknown) => {
        loading = undefined
        throw error
      },
    ))
  return Object.assign(get, {
    value: () => loaded,
    settled: async () => loading?.catch(() => undefined),
  })
}

/** Loads a package at the first call, without a promise. It must not be an ES module. */
export function lazyPackage<T>(name: string): () => T {
  let loaded: T | undefined
  return () => (loaded ??= require(name) as T)
}
