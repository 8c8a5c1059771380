// The bytes of several versions, one after another.
import { Readable } from 'node:stream'
import type { ObjectKey, ObjectStore, PutOptions, StoredBytes } from './object-store.ts'

type Get = (key: ObjectKey) => Promise<Readable>

/** Opens each version when the one before has ended. Fails if one is missing. */
export function joinedBytes(keys: readonly ObjectKey[], get: Get): Readable {
  return Readable.from(chunksOf(keys, get), { objectMode: false })
}

async function* chunksOf(keys: readonly ObjectKey[], get: Get): AsyncGenerator<Buffer> {
  for (const key of keys) yield* (await get(key)) as AsyncIterable<Buffer>
}

/**
 * Joins versions to a new one by reading and writing them.
 *
 * @throws as `ObjectStore.get` and `ObjectStore.put`
 */
export async function joinByCopying(
  store: Pick<ObjectStore, 'get' | 'put'>,
  keys: readonly ObjectKey[],
  to: ObjectKey,
  options: PutOptions,
): Promise<StoredBytes> {
  const source = joinedBytes(keys, (key) => store.get(key))
  try {
    return await store.put(to, source, options)
  } finally {
    // A store that fails leaves its source open.
    source.destroy()
  }
}
