// Uploads an object: permission of the caller, then the bytes, then the row.
import { randomUUID } from 'node:crypto'
import { allowLongUpload } from '../../http/long-upload.ts'
import { AcceptedVersion, bucketLimits, largestUpload, requireAllowedType } from './bucket-rule.ts'
import { sniffed } from './content-sniffing.ts'
import { metadataText } from './object-metadata.ts'
import { requirePermission, writeObject, type NewObject, type WrittenObject } from './object-writing.ts'
import type { ObjectKey, PutOptions } from './object-store.ts'
import type { StorageContext } from './storage-context.ts'
import { storageErrors } from './storage-error.ts'
import type { StorageCall } from './dialect.ts'
import { readUpload, type UploadSource } from './upload-source.ts'

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
  const allowed = await bucketLimits(context, bucket)
  const source = await readUpload(request)
  try {
    const maxBytes = largestUpload(context, allowed, name)
    requireAllowedType(source.contentType, allowed, name)
    const { declaredLength } = source
    if (source.isRaw && declaredLength !== undefined && declaredLength > maxBytes) throw storageErrors.tooLarge()
    await context.names.requireNew(name)
    const object = { bucket, name, owner, isUpsert, userMetadata: source.userMetadata }
    const replaceable = await requirePermission({ context, scope }, object, {
      mimetype: source.contentType,
      ...(declaredLength === undefined ? {} : { contentLength: declaredLength }),
    })
    const key = { bucket, name, version: randomUUID() }
    const stored = await receive(call, key, source, { maxBytes })
    const accepted = AcceptedVersion.received(context, allowed, key, { size: stored.size, type: source.contentType })
    return await writeObject({ context, scope }, object, accepted, metadataText(stored, source), replaceable)
  } catch (error) {
    source.stop()
    throw error
  }
}

async function receive(
  { context: { store }, request }: Pick<StorageCall<unknown>, 'context' | 'request'>,
  key: ObjectKey,
  { bytes, contentType, cacheControl }: UploadSource,
  options: Pick<PutOptions, 'maxBytes'>,
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
