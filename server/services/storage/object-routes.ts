// Routes of single objects: upload, download, description, removal.
import type { JsonSchema } from '../../http/json-schema.ts'
import { record, text } from '../../http/service-response.ts'
import type { ServiceResponse } from '../../http/service-route.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { requireBucketName } from './names.ts'
import { findPublicObject, findReadableObject, findVisibleObject, type StoredObject } from './object-reading.ts'
import { descriptionHeaders } from './object-headers.ts'
import { sendObject, sendObjectHead } from './object-sending.ts'
import { removeLater } from './object-writing.ts'
import { storageErrors } from './storage-error.ts'
import {
  defineStorageRoute,
  type StorageCall,
  type StorageMethod,
  type StorageReply,
  type StorageRoute,
} from './dialect.ts'
import { uploadObject } from './uploads.ts'

const bytes: JsonSchema = { type: 'string', format: 'binary' }

/** The response with the bytes of an object. */
export const objectResponse: ServiceResponse = {
  description: 'The object.',
  media: '*/*',
  schema: bytes,
  headers: { ETag: 'MD5 of the bytes.', 'Cache-Control': 'As the uploader has set it.' },
}

/** Responses to conditional and partial reads. */
export const readResponses: Readonly<Record<number, ServiceResponse>> = {
  206: { description: 'The part that `Range` asks for.', media: '*/*', schema: bytes },
  304: { description: 'The client has the current object.' },
  416: { description: 'There is no such part.', schema: { $ref: 'urn:rowhouse:StorageErrorDto' } },
}

const readErrors = { 404: 'there is no such bucket or object, or the caller may not see it' }
const downloadQuery = { download: 'Makes browsers save the object: under this name, or its own if empty.' }
const conditions = {
  Range: 'A part of the object: `bytes=0-99`.',
  'If-None-Match': 'The `ETag` that the client has.',
  'If-Modified-Since': 'The time of what the client has.',
}

const uploadBodies = { '*/*': bytes, 'multipart/form-data': { type: 'object', properties: { file: bytes } } } as const

const uploadErrors = {
  404: 'there is no such bucket',
  409: 'the object exists already',
  413: 'the object is larger than allowed',
  415: 'the bucket does not allow the media type',
}

/** The response to an upload. */
const uploadedResponse: ServiceResponse = {
  description: 'The object was uploaded.',
  schema: record({ Id: text, Key: text }),
}

const uploadHeaders = {
  'Cache-Control': 'Sent with the object.',
  'X-Metadata': 'Metadata of the object: JSON in base64.',
}

/** The bucket and the name in the path. */
export const keyOf = ({
  path,
}: Pick<StorageCall<unknown>, 'path'>): { readonly bucket: string; readonly name: string } => ({
  bucket: path.bucket ?? '',
  name: path.name ?? '',
})

async function upload(call: StorageCall<undefined>, isUpsert: boolean): Promise<StorageReply> {
  const { bucket, name } = keyOf(call)
  const { id } = await uploadObject(call, { bucket, name, isUpsert, owner: call.caller.owner })
  return { json: { Id: id, Key: `${bucket}/${name}` } }
}

type Find = (call: StorageCall<undefined>) => Promise<StoredObject>

const findReadable: Find = (call) => {
  const { bucket, name } = keyOf(call)
  return findReadableObject(call, bucket, name)
}

const findAuthenticated: Find = (call) => {
  const { bucket, name } = keyOf(call)
  return findReadableObject({ ...call, requiresSession: true }, bucket, name)
}

const findPublic: Find = (call) => {
  const { bucket, name } = keyOf(call)
  return findPublicObject(call.context, bucket, name)
}

type ReadRoute = {
  readonly path: string
  readonly name: string
  readonly caller: 'anyone' | 'optional' | 'required'
  readonly operation: string
  readonly summary: string
  readonly find: Find
}

const download = (method: StorageMethod, { path, name, caller, operation, summary, find }: ReadRoute): StorageRoute =>
  defineStorageRoute({
    method,
    path,
    caller,
    operation,
    summary,
    id: `${method}${name}`,
    query: downloadQuery,
    headers: conditions,
    success: [200, objectResponse],
    errors: readErrors,
    responses: readResponses,
    handler: async (call) => {
      const options = { download: call.query.get('download') }
      if (method === 'head') return sendObjectHead(call, await find(call), options)
      return sendObject(call, () => find(call), options)
    },
  })

const infoSchema: JsonSchema = {
  type: 'object',
  properties: {
    id: text,
    name: text,
    version: text,
    bucket_id: text,
    size: { type: ['integer', 'null'] },
    content_type: text,
    cache_control: text,
    etag: text,
    metadata: { type: ['object', 'null'] },
    last_modified: text,
    created_at: text,
  },
}

const info = ({ path, name, caller, operation, summary, find }: ReadRoute): StorageRoute =>
  defineStorageRoute({
    path,
    caller,
    operation,
    summary,
    method: 'get',
    id: `get${name}`,
    success: [200, { description: 'What is known of the object.', schema: infoSchema }],
    errors: readErrors,
    handler: async (call) => {
      const { id, bucket, name: objectName, version, metadata, userMetadata, createdAt, updatedAt } = await find(call)
      return {
        headers: descriptionHeaders(metadata),
        json: {
          id,
          name: objectName,
          version,
          bucket_id: bucket,
          size: metadata.size ?? null,
          content_type: metadata.mimetype ?? null,
          cache_control: metadata.cacheControl ?? null,
          etag: metadata.eTag ?? null,
          metadata: userMetadata === null ? null : (JSON.parse(userMetadata) as unknown),
          last_modified: updatedAt,
          created_at: createdAt,
        },
      }
    },
  })

const removed = new JsonStatement(
  'delete from storage.objects where bucket_id = $1 and name = $2 returning to_json(version)',
  { access: 'write' },
)

/** @throws StorageError 404 `NoSuchKey`, also if the policies hide the object; 403 `AccessDenied` if they forbid to delete it */
async function remove({ context, scope, path }: StorageCall<undefined>): Promise<StorageReply> {
  const { bucket, name } = keyOf({ path })
  requireBucketName(bucket)
  const [row] = await context.database.askRows(scope, removed, [bucket, name])
  if (!row) {
    await findVisibleObject({ context, scope }, bucket, name)
    throw storageErrors.accessDenied()
  }
  const version = row[0] ?? null
  if (version !== null) removeLater(context, { bucket, name, version: JSON.parse(version) as string })
  return { json: { message: 'Successfully deleted' } }
}

const authenticated = {
  name: 'AuthenticatedObject',
  path: '/object/authenticated/{bucket}/{*name}',
  caller: 'required',
  find: findAuthenticated,
} as const
const either = {
  name: 'Object',
  path: '/object/{bucket}/{*name}',
  caller: 'optional',
  find: findReadable,
} as const
const open = {
  name: 'PublicObject',
  path: '/object/public/{bucket}/{*name}',
  caller: 'anyone',
  find: findPublic,
} as const

const reading = 'storage.object.get_authenticated'
const describing = 'object.get_authenticated_info'
const existing = 'object.head_authenticated_info'

export const objectRoutes: readonly StorageRoute[] = [
  defineStorageRoute({
    method: 'post',
    path: '/object/{bucket}/{*name}',
    id: 'uploadObject',
    summary: 'Upload an object',
    caller: 'required',
    operation: 'storage.object.upload',
    bodies: uploadBodies,
    headers: { ...uploadHeaders, 'X-Upsert': '`true` replaces an existing object.' },
    success: [200, uploadedResponse],
    errors: uploadErrors,
    handler: (call) => upload(call, call.request.headers['x-upsert'] === 'true'),
  }),
  defineStorageRoute({
    method: 'put',
    path: '/object/{bucket}/{*name}',
    id: 'replaceObject',
    summary: 'Upload an object, or replace it',
    caller: 'required',
    operation: 'storage.object.upload_update',
    bodies: uploadBodies,
    headers: uploadHeaders,
    success: [200, uploadedResponse],
    errors: uploadErrors,
    handler: (call) => upload(call, true),
  }),
  defineStorageRoute({
    method: 'delete',
    path: '/object/{bucket}/{*name}',
    id: 'removeObject',
    summary: 'Remove an object',
    caller: 'required',
    operation: 'storage.object.delete',
    success: [200, { description: 'The object was removed.', schema: record({ message: text }) }],
    errors: { 404: 'there is no such object' },
    handler: remove,
  }),
  download('get', { ...either, operation: reading, summary: 'Download an object' }),
  download('head', { ...either, operation: existing, summary: 'Whether an object exists' }),
  download('get', { ...authenticated, operation: reading, summary: 'Download an object as a user' }),
  download('head', { ...authenticated, operation: existing, summary: 'Whether an object exists' }),
  download('get', {
    ...open,
    operation: 'storage.object.get_public',
    summary: 'Download an object of a public bucket',
  }),
  download('head', { ...open, operation: 'storage.object.info_public', summary: 'Whether a public object exists' }),
  info({
    ...either,
    path: '/object/info/{bucket}/{*name}',
    name: 'ObjectInfo',
    operation: describing,
    summary: 'Describe an object',
  }),
  info({
    ...authenticated,
    path: '/object/info/authenticated/{bucket}/{*name}',
    name: 'AuthenticatedObjectInfo',
    operation: describing,
    summary: 'Describe an object as a user',
  }),
  info({
    ...open,
    path: '/object/info/public/{bucket}/{*name}',
    name: 'PublicObjectInfo',
    operation: 'storage.object.info_public',
    summary: 'Describe an object of a public bucket',
  }),
]
