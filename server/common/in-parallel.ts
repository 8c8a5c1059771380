/**
 * Calls `use` with each item, several at a time. Begins no more after an error, and settles when all calls have ended.
 *
 * @param most calls at the same time; by default as many files as are read or written together
 * @throws the error of a call
 */
export async function inParallel<T>(items: readonly T[], use: (item: T) => Promise<void>, most = 8): Promise<void> {
  let next = 0
  let failure: { readonly error: unknown } | undefined
  const work = async (): Promise<void> => {
    try {
      while (next < items.length && !failure) await use(items[next++] as T)
    } catch (error) {
      failure ??= { error }
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, work))
  if (failure) throw failure.error
}
