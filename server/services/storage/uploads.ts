// Uploads an object: permission of the caller, then the bytes, then the row.
import { randomUUID } from 'node:crypto'
import { isUnread } from '../../common/free-buffer.ts'
import { allowLongUpload } from '../../http/long-upload.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { sniffed } from './content-sniffing.ts'
import { metadataText } from './object-metadata.ts'
import { requirePermission, writeObject, type NewObject, type WrittenObject } from './object-writing.ts'
import { isFolderPlaceholder, requireBucketName, requireNewName } from './names.ts'
import type { PutOptions } from './object-store.ts'
import type { StorageContext } from './storage-context.ts'
import { storageErrors } from './storage-error.ts'
import type { StorageCall } from './storage-route.ts'
import { readUpload, type UploadSource } from './upload-source.ts'

/** What a bucket allows. */
export type BucketLimits = {
  /** Bytes; null for the limit of the server. */
  readonly fileSizeLimit: number | null
  /** Empty for all. */
  readonly allowedMimeTypes: readonly string[]
}

const limits = new JsonStatement(
  `select json_build_object('fileSizeLimit', file_size_limit, 'allowedMimeTypes', coalesce(allowed_mime_types, '{}'))
   from storage.buckets where id = $1`,
  { access: 'read', hasNoEffect: true },
)

/**
 * The limits of a bucket, whether the caller can see it or not.
 *
 * @throws StorageError 400 `InvalidBucketName`; 404 `NoSuchBucket`
 */
export async function bucketLimits(
  { database }: Pick<StorageContext, 'database'>,
  bucket: string,
): Promise<BucketLimits> {
  requireBucketName(bucket)
  const [row] = await database.admin(limits, [bucket])
  if (!row) throw storageErrors.noSuchBucket()
  return JSON.parse(row[0] ?? 'null') as BucketLimits
}

/** Maximum bytes of an object. */
export function largestUpload(
  { settings }: Pick<StorageContext, 'settings'>,
  { fileSizeLimit }: BucketLimits,
  name: string,
): number {
  if (isFolderPlaceholder(name)) return 0
  const { storageFileSizeLimit } = settings()
  return fileSizeLimit === null ? storageFileSizeLimit : Math.min(fileSizeLimit, storageFileSizeLimit)
}

/**
 * Checks a media type against those that a bucket allows: `image/png`, `image/*`.
 *
 * @throws StorageError 415 `InvalidMimeType`
 */
export function requireAllowedType(type: string, { allowedMimeTypes }: BucketLimits, name: string): void {
  if (allowedMimeTypes.length === 0 || isFolderPlaceholder(name)) return
  const [kind, subtype] = type.split('/')
  const isAllowed = allowedMimeTypes.some((allowed) => {
    const [allowedKind, allowedSubtype] = allowed.split('/')
    return kind === allowedKind && (allowedSubtype === '*' || allowedSubtype === subtype)
  })
  if (!isAllowed) throw storageErrors.invalidMimeType(type)
}

/**
 * Uploads the object that a request has in its body.
 *
 * @param call its scope says whose permission is checked
 * @throws StorageError as in the parts, 413 `EntityTooLarge`; 400 when the request breaks off
 */
export async function uploadObject(
  call: Pick<StorageCall<unknown>, 'context' | 'scope' | 'request'>,
  { bucket, name, owner, isUpsert }: Omit<NewObject, 'userMetadata'>,
): Promise<WrittenObject> {
  const { context, scope, request } = call
  const ownsChunks = isUnread(request)
  const allowed = await bucketLimits(context, bucket)
  const source = await readUpload(request)
  try {
    const maxBytes = largestUpload(context, allowed, name)
    requireAllowedType(source.contentType, allowed, name)
    const { declaredLength } = source
    if (source.isRaw && declaredLength !== undefined && declaredLength > maxBytes) throw storageErrors.tooLarge()
    requireNewName(name)
    const object = { bucket, name, owner, isUpsert, userMetadata: source.userMetadata }
    const replaceable = await requirePermission({ context, scope }, object, {
      mimetype: source.contentType,
      ...(declaredLength === undefined ? {} : { contentLength: declaredLength }),
    })
    const version = randomUUID()
    const stored = await receive(call, { bucket, name, version }, source, { maxBytes, ownsChunks })
    return await writeObject({ context, scope }, object, version, metadataText(stored, source), replaceable)
  } catch (error) {
    source.stop()
    throw error
  }
}

async function receive(
  { context: { store }, request }: Pick<StorageCall<unknown>, 'context' | 'request'>,
  key: { readonly bucket: string; readonly name: string; readonly version: string },
  { bytes, contentType, cacheControl }: UploadSource,
  options: Pick<PutOptions, 'maxBytes' | 'ownsChunks'>,
): ReturnType<StorageContext['store']['put']> {
  const hasArrived = allowLongUpload(request)
  try {
    return await store.put(key, await sniffed(bytes, contentType), { contentType, cacheControl, ...options })
  } catch (error) {
    if (request.destroyed && !request.complete) {
      throw storageErrors.noContent('Request stream closed before upload could complete', error)
    }
    throw error
  } finally {
    hasArrived()
  }
}
