/** Files that are read or written at the same time. */
const parallel = 8

/** Calls `use` with each item, several at a time. Rejects with the first error, after which it begins no more. */
export async function inParallel<T>(items: readonly T[], use: (item: T) => Promise<void>): Promise<void> {
  let next = 0
  let hasFailed = false
  const work = async (): Promise<void> => {
    try {
      while (next < items.length && !hasFailed) await use(items[next++] as T)
    } catch (error) {
      hasFailed = true
      throw error
    }
  }
  await Promise.all(Array.from({ length: parallel }, work))
}
