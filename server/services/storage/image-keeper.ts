// Keeps analysed images as objects of their callers, in `<sub>/<uuid>.jpg`, so that policies for users' own folders apply.
import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Identity } from '../../identity/identity.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { ImageKeeper, KeptImage } from '../analysis/image-keeper.ts'
import { imageTypeOf } from '../analysis/image-type.ts'
import { metadataText } from './object-metadata.ts'
import { insertObject, objectValues, removeLater, requirePermission } from './object-writing.ts'
import type { StorageContext } from './storage-context.ts'
import { StorageError, storageErrors } from './storage-error.ts'
import { storagePath } from './dialect.ts'
import { bucketLimits, requireAllowedFile, type BucketLimits } from './bucket-rule.ts'

const createBucket = new JsonStatement(
  'insert into storage.buckets (id, name, public) values ($1, $1, false) on conflict do nothing returning to_json(id)',
  { access: 'write' },
)

/** What policies can read of the request. */
const scopeSettings = `select set_config('storage.operation', $1, true), set_config('request.method', 'POST', true),
  set_config('request.path', $2, true), set_config('request.headers', '{}', true)`

const operation = 'storage.object.upload'
const cacheControl = 'no-cache'
const extensions = { 'image/jpeg': 'jpg', 'image/png': 'png', 'image/webp': 'webp' } as const

/** @param bucket is created at the first use, as a private one without policies */
export function createImageKeeper(context: StorageContext, bucket: string): ImageKeeper {
  const { store } = context
  const put = async (identity: Identity, image: Uint8Array, origin: string): Promise<KeptImage> => {
    const { sub } = identity.claims
    if (typeof sub !== 'string' || sub === '') throw storageErrors.accessDenied('Only users can keep images')
    const contentType = imageTypeOf(image)
    if (!contentType) throw storageErrors.invalidMimeType('of the image')
    const name = `${sub}/${randomUUID()}.${extensions[contentType]}`
    await context.names.requireNew(name)
    const limits = await limitsOf(context, bucket)
    requireAllowedFile(context, limits, name, { size: image.length, type: contentType })
    const path = `/object/${bucket}/${name}`
    const scope = { identity, operation, method: 'POST', path, headers: {} }
    const object = { bucket, name, owner: sub, isUpsert: false, userMetadata: undefined }
    try {
      await requirePermission({ context, scope }, object, { mimetype: contentType, contentLength: image.length })
    } catch (error) {
      throw error instanceof StorageError && error.message === rowSecurity ? lacksPolicy(bucket, error) : error
    }
    const key = { bucket, name, version: randomUUID() }
    const stored = await store.put(key, Readable.from([image]), { contentType, cacheControl, maxBytes: image.length })
    const { storagePublicUrl } = context.settings()
    const service = storagePublicUrl ?? origin + storagePath
    const uri = `${service}/object/authenticated/${[bucket, ...name.split('/')].map(encodeURIComponent).join('/')}`
    return { ...key, uri, owner: sub, metadata: metadataText(stored, { contentType, cacheControl }) }
  }
  return {
    put,
    insert: async (query, { name, owner, version, metadata }) => {
      await query(scopeSettings, [operation, `/object/${bucket}/${name}`])
      await query(insertObject, objectValues({ bucket, name, owner, userMetadata: undefined }, version, metadata, '{}'))
    },
    discard: (images) => removeLater(context, ...images),
  }
}

const { message: rowSecurity } = storageErrors.rowSecurity()

/** Says which policy is missing, in the words of the guide. */
const lacksPolicy = (bucket: string, cause: StorageError): StorageError =>
  storageErrors.accessDenied(
    `no policy of storage.objects lets you add a file to your folder of the bucket ${bucket}. One that does: create policy ` +
      `own_images on storage.objects for all to authenticated using (bucket_id = '${bucket.replaceAll("'", "''")}' and ` +
      '(storage.foldername(name))[1] = auth.uid()::text)',
    cause,
  )

/** The limits of a bucket, which is created if it does not exist. */
async function limitsOf(context: StorageContext, bucket: string): Promise<BucketLimits> {
  try {
    return await bucketLimits(context, bucket)
  } catch (error) {
    if (!(error instanceof StorageError && error.code === 'NoSuchBucket')) throw error
    await context.database.admin(createBucket, [bucket])
    return bucketLimits(context, bucket)
  }
}
