/** Files that are read or written at the same time. */
const parallel = 8

/**
 * Calls `use` with each item, several at a time. Begins no more after an error, and settles when all calls have ended.
 *
 * @throws the error of a call
 */
export async function inParallel<T>(items: readonly T[], use: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  let failure: { readonly error: unknown } | undefined
  const work = async (): Promise<void> => {
    try {
      while (next < items.length && !failure) await use(items[next++] as T)
    } catch (error) {
      failure ??= { error }
    }
  }
  await Promise.all(Array.from({ length: parallel }, work))
  if (failure) throw failure.error
}
