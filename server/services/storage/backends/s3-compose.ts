// Joins objects of an S3 bucket to one. The server copies them, except for small ones, which S3 does not accept as parts.
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { joinedBytes } from '../joined-bytes.ts'
import { TooManyBytesError, type ObjectKey, type StoredBytes } from '../object-store.ts'
import { leastPart, mostParts, putWhole, S3Multipart, type S3Place, type S3Target } from './s3-multipart.ts'

export type Composition = {
  readonly target: S3Target
  readonly parts: readonly ObjectKey[]
  readonly maxBytes: number
  readonly place: (key: ObjectKey) => S3Place
  readonly get: (key: ObjectKey) => Promise<Readable>
}

type Sized = { readonly key: ObjectKey; readonly size: number }

const totalOf = (parts: readonly { readonly size: number }[]): number => parts.reduce((sum, { size }) => sum + size, 0)

/**
 * Small objects together with their successors, so that every group is large enough for a part, and S3 takes all groups.
 *
 * @returns groups; a last one may be small
 */
export function groupsOf<T extends { readonly size: number }>(parts: readonly T[]): readonly (readonly T[])[] {
  const least = Math.max(leastPart, Math.ceil(totalOf(parts) / mostParts))
  const groups: T[][] = []
  let open: T[] = []
  let size = 0
  for (const part of parts) {
    open.push(part)
    size += part.size
    if (size < least) continue
    groups.push(open)
    open = []
    size = 0
  }
  return open.length > 0 ? [...groups, open] : groups
}

/**
 * Joins the objects in this order.
 *
 * @throws the errors of the SDK; TooManyBytesError; the reason of the signal
 */
export async function composeParts({ target, parts, maxBytes, place, get }: Composition): Promise<StoredBytes> {
  const { client, library, options } = target
  const sized = await Promise.all(
    parts.map(async (key): Promise<Sized> => {
      const { ContentLength: size = 0 } = await client.send(new library.HeadObjectCommand(place(key)))
      return { key, size }
    }),
  )
  const size = totalOf(sized)
  if (size > maxBytes) throw new TooManyBytesError()
  const bytesOf = (group: readonly Sized[]): Promise<Buffer> =>
    buffer(
      joinedBytes(
        group.map(({ key }) => key),
        get,
      ),
    )
  const groups = groupsOf(sized.filter((part) => part.size > 0))
  if (groups.length < 2) {
    const eTag = await putWhole(target, await bytesOf(groups[0] ?? []))
    return { size, eTag, lastModified: new Date() }
  }
  const multipart = await S3Multipart.begin(target)
  try {
    for (const group of groups) {
      options.signal?.throwIfAborted()
      const [only, ...others] = group
      if (only && others.length === 0) await multipart.copy(place(only.key))
      else await multipart.add(await bytesOf(group))
    }
    const eTag = await multipart.complete()
    return { size, eTag, lastModified: new Date() }
  } catch (error) {
    await multipart.abort()
    throw error
  }
}
