// Joins objects of an S3 bucket to one. The server copies them, except for small ones, which S3 does not accept as parts.
import { Readable } from 'node:stream'
import type { CompletedPart, S3Client } from '@aws-sdk/client-s3'
import { TooManyBytesError, type ObjectKey, type PutOptions, type StoredBytes } from '../object-store.ts'
import type { S3Library } from './s3-library.ts'

type Place = { readonly Bucket: string; readonly Key: string }

export type Composition = {
  readonly client: S3Client
  readonly library: S3Library
  readonly place: (key: ObjectKey) => Place
  readonly parts: readonly ObjectKey[]
  readonly to: ObjectKey
  readonly options: PutOptions
  readonly get: (key: ObjectKey) => Promise<Readable>
}

/** Bytes of all parts but the last. */
const leastPart = 5 * 1024 * 1024

type Sized = { readonly key: ObjectKey; readonly size: number }

/**
 * Small objects together with their successors, so that every group is large enough for a part.
 *
 * @returns groups; a last one may be small
 */
export function groupsOf<T extends { readonly size: number }>(parts: readonly T[]): readonly (readonly T[])[] {
  const groups: T[][] = []
  let open: T[] = []
  for (const part of parts) {
    open.push(part)
    if (open.reduce((sum, { size }) => sum + size, 0) >= leastPart) {
      groups.push(open)
      open = []
    }
  }
  return open.length > 0 ? [...groups, open] : groups
}

/**
 * Joins the objects in this order.
 *
 * @throws the errors of the SDK
 */
export async function composeParts(composition: Composition): Promise<StoredBytes> {
  const { client, library, place, parts, to, options, get } = composition
  const sized = await Promise.all(
    parts.map(async (key): Promise<Sized> => {
      const { ContentLength: size = 0 } = await client.send(new library.HeadObjectCommand(place(key)))
      return { key, size }
    }),
  )
  const size = sized.reduce((sum, part) => sum + part.size, 0)
  if (size > options.maxBytes) throw new TooManyBytesError()
  const groups = groupsOf(sized.filter((part) => part.size > 0))
  const { contentType, cacheControl, signal } = options
  const headers = {
    ...(contentType === '' ? {} : { ContentType: contentType }),
    ...(cacheControl === '' ? {} : { CacheControl: cacheControl }),
  }
  if (groups.length < 2) {
    const Body = await bytesOf(groups[0] ?? [], get)
    const { ETag: eTag = '' } = await client.send(new library.PutObjectCommand({ ...place(to), ...headers, Body }))
    return { size, eTag, lastModified: new Date() }
  }
  const { UploadId } = await client.send(new library.CreateMultipartUploadCommand({ ...place(to), ...headers }))
  const upload = { ...place(to), UploadId }
  try {
    const completed: CompletedPart[] = []
    for (const [index, group] of groups.entries()) {
      signal?.throwIfAborted()
      const PartNumber = index + 1
      completed.push({ PartNumber, ETag: await addPart({ ...upload, PartNumber }, group, composition) })
    }
    const { ETag: eTag = '' } = await client.send(
      new library.CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts: completed } }),
    )
    return { size, eTag: eTag.startsWith('"') ? eTag : `"${eTag}"`, lastModified: new Date() }
  } catch (error) {
    await client.send(new library.AbortMultipartUploadCommand(upload)).catch(() => undefined)
    throw error
  }
}

async function addPart(
  part: Place & { readonly UploadId: string | undefined; readonly PartNumber: number },
  group: readonly Sized[],
  { client, library, place, get }: Composition,
): Promise<string | undefined> {
  const [only, ...others] = group
  if (only && others.length === 0) {
    const { Bucket, Key } = place(only.key)
    const copied = await client.send(new library.UploadPartCopyCommand({ ...part, CopySource: `${Bucket}/${Key}` }))
    return copied.CopyPartResult?.ETag
  }
  const { ETag } = await client.send(new library.UploadPartCommand({ ...part, Body: await bytesOf(group, get) }))
  return ETag
}

/** The bytes of small objects. */
async function bytesOf(group: readonly Sized[], get: Composition['get']): Promise<Buffer> {
  const chunks: Buffer[] = []
  for (const { key } of group) for await (const chunk of await get(key)) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}
