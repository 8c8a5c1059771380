// Buckets and files by `/storage/v1`, as the chosen viewer.
import { fetchAs, jsonAs, serverUrl, type Viewer } from '../../api.ts'

export type Bucket = {
  readonly id: string
  readonly name: string
  readonly public: boolean
  readonly file_size_limit: number | null
  readonly allowed_mime_types: readonly string[] | null
  readonly created_at: string
}

/** An entry of a folder. Folders have null in all fields but the name. */
export type Entry = {
  readonly name: string
  readonly id: string | null
  readonly updated_at: string | null
  readonly metadata: { readonly size?: number; readonly mimetype?: string } | null
}

export const isFolder = ({ id }: Entry): boolean => id === null

const encoded = (path: string): string => path.split('/').map(encodeURIComponent).join('/')

const base = 'storage/v1'
const ofBucket = (id: string): string => `${base}/bucket/${encodeURIComponent(id)}`
const objectPath = (bucket: string, name: string): string => `${encodeURIComponent(bucket)}/${encoded(name)}`

export const listBuckets = (viewer: Viewer): Promise<readonly Bucket[]> =>
  jsonAs(viewer, `${base}/bucket?sortColumn=name`)

/** What a bucket is created with, and what can be changed of it. */
export type BucketSettings = Pick<Bucket, 'public' | 'allowed_mime_types'> & {
  /** Bytes, or a text such as `5MB`. */
  readonly file_size_limit: string | number | null
}

export const createBucket = (viewer: Viewer, name: string, settings: BucketSettings): Promise<unknown> =>
  jsonAs(viewer, `${base}/bucket`, { method: 'POST', body: { name, ...settings } })

export const changeBucket = (viewer: Viewer, id: string, settings: BucketSettings): Promise<unknown> =>
  jsonAs(viewer, ofBucket(id), { method: 'PUT', body: settings })

export const emptyBucket = (viewer: Viewer, id: string): Promise<unknown> =>
  jsonAs(viewer, `${ofBucket(id)}/empty`, { method: 'POST' })

export const deleteBucket = (viewer: Viewer, id: string): Promise<unknown> =>
  jsonAs(viewer, ofBucket(id), { method: 'DELETE' })

export const pageSize = 200

export type Place = {
  readonly bucket: string
  /** Without a slash at the end; empty for the bucket itself. */
  readonly folder: string
}

/** The name of a file in a folder. */
export const nameIn = ({ folder }: Place, name: string): string => (folder === '' ? name : `${folder}/${name}`)

type ListOptions = { readonly search: string; readonly page: number; readonly signal: AbortSignal }

/** A page of a folder. */
export const listFolder = (
  viewer: Viewer,
  { bucket, folder }: Place,
  { search, page, signal }: ListOptions,
): Promise<readonly Entry[]> =>
  jsonAs(viewer, `${base}/object/list/${encodeURIComponent(bucket)}`, {
    method: 'POST',
    body: { prefix: folder, search, limit: pageSize, offset: (page - 1) * pageSize },
    signal,
    isRead: true,
  })

type NamePage = { readonly objects: readonly { readonly name: string }[]; readonly hasNext: boolean }

/** Removes files, and all files in folders, in requests of at most 1,000. @returns how many were removed */
export async function remove(viewer: Viewer, place: Place, entries: readonly Entry[]): Promise<number> {
  const files = entries.filter((entry) => !isFolder(entry)).map(({ name }) => nameIn(place, name))
  let removed = files.length === 0 ? 0 : await removeFiles(viewer, place.bucket, files)
  for (const { name } of entries.filter(isFolder)) {
    for (;;) {
      const page = await jsonAs<NamePage>(viewer, `${base}/object/list-v2/${encodeURIComponent(place.bucket)}`, {
        method: 'POST',
        body: { prefix: `${nameIn(place, name)}/` },
        isRead: true,
      })
      const count = await removeFiles(
        viewer,
        place.bucket,
        page.objects.map(({ name: of }) => of),
      )
      removed += count
      // Nothing but files that policies do not let the viewer delete is left.
      if (count === 0 || !page.hasNext) break
    }
  }
  return removed
}

async function removeFiles(viewer: Viewer, bucket: string, names: readonly string[]): Promise<number> {
  if (names.length === 0) return 0
  const removed = await jsonAs<readonly unknown[]>(viewer, `${base}/object/${encodeURIComponent(bucket)}`, {
    method: 'DELETE',
    body: { prefixes: names },
  })
  return removed.length
}

export const moveFile = (viewer: Viewer, bucket: string, from: string, to: string): Promise<unknown> =>
  jsonAs(viewer, `${base}/object/move`, {
    method: 'POST',
    body: { bucketId: bucket, sourceKey: from, destinationKey: to },
  })

/** The bytes of a file, or its first ones. */
export async function readFile(
  viewer: Viewer,
  bucket: string,
  name: string,
  { first, signal }: { readonly first?: number; readonly signal: AbortSignal },
): Promise<Blob> {
  const response = await fetchAs(viewer, `${base}/object/authenticated/${objectPath(bucket, name)}`, {
    signal,
    ...(first === undefined ? {} : { headers: { Range: `bytes=0-${first - 1}` } }),
  })
  return response.blob()
}

/** A link that anyone may use for some seconds. */
export async function signedLink(viewer: Viewer, bucket: string, name: string, seconds: number): Promise<string> {
  const path = `${base}/object/sign/${objectPath(bucket, name)}`
  const { signedURL } = await jsonAs<{ signedURL: string }>(viewer, path, {
    method: 'POST',
    body: { expiresIn: seconds },
  })
  return new URL(`${base}${signedURL}`, serverUrl).href
}

export const publicLink = (bucket: string, name: string): string =>
  new URL(`${base}/object/public/${objectPath(bucket, name)}`, serverUrl).href

/** Uploads a small file in one request. */
export const uploadAtOnce = (
  viewer: Viewer,
  bucket: string,
  name: string,
  file: File,
  { isUpsert, signal }: { readonly isUpsert: boolean; readonly signal: AbortSignal },
): Promise<Response> =>
  fetchAs(viewer, `${base}/object/${objectPath(bucket, name)}`, {
    method: 'POST',
    body: file,
    signal,
    headers: { 'Content-Type': typeOf(file), 'x-upsert': String(isUpsert) },
  })

export const typeOf = ({ type }: File): string => (type === '' ? 'application/octet-stream' : type)

export const resumableUrl: string = new URL(`${base}/upload/resumable`, serverUrl).href

/** The names of the folders in a path. */
export const segmentsOf = (folder: string): readonly string[] => folder.split('/').filter((segment) => segment !== '')
