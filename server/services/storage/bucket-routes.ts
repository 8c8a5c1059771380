// Routes of buckets.
import type { JsonSchema } from '../../http/json-schema.ts'
import { dto, record, text } from '../../http/service-response.ts'
import type { ServiceResponse } from '../../http/service-route.ts'
import { allowedTypes, sizeLimit } from './bucket-limits.ts'
import {
  bucketById,
  bucketLists,
  deleteBucket,
  emptyBucket,
  emptyingBatch,
  insertBucket,
  timeOfBucket,
  updateBucket,
} from './bucket-statements.ts'
import { storageErrorOf } from './database-storage-error.ts'
import { requireBucketName } from './names.ts'
import { removeLater } from './object-writing.ts'
import { StorageError, storageErrors } from './storage-error.ts'
import { defineStorageRoute, type StorageCall, type StorageReply, type StorageRoute } from './dialect.ts'
import { uuidOrNull } from './object-owner.ts'

type BucketChanges = {
  readonly public?: boolean
  readonly file_size_limit?: number | string | null
  readonly allowed_mime_types?: readonly string[] | null
}

type NewBucket = BucketChanges & { readonly name: string; readonly id?: string; readonly type?: string }

const bucketSchema: JsonSchema = {
  type: 'object',
  properties: {
    id: text,
    name: text,
    owner: text,
    public: { type: 'boolean' },
    type: text,
    file_size_limit: { type: ['integer', 'null'] },
    allowed_mime_types: { type: ['array', 'null'], items: text },
    created_at: text,
    updated_at: text,
  },
}

const message = (description: string): ServiceResponse => ({ description, schema: record({ message: text }) })

const jsonOrNull = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value)

async function create({ context, scope, caller, body }: StorageCall<NewBucket>): Promise<StorageReply> {
  const { name, type } = body
  // Some clients send an empty id.
  const id = body.id === undefined || body.id === '' ? name : body.id
  for (const given of [name, id]) {
    if (given.trim() !== given) throw storageErrors.invalidBucketName()
    requireBucketName(given)
  }
  if (type === 'ANALYTICS') {
    throw new StorageError(409, 'FeatureNotEnabled', 'The feature iceberg_catalog is not enabled for this resource')
  }
  const { owner } = caller
  const values = [
    id,
    name,
    uuidOrNull(owner),
    owner,
    body.public ?? false,
    sizeLimit(body.file_size_limit ?? null, context.settings().storageFileSizeLimit),
    jsonOrNull(allowedTypes(body.allowed_mime_types ?? null)),
  ]
  try {
    await context.database.ask(scope, insertBucket, values)
  } catch (error) {
    const known = storageErrorOf(error)
    throw known.code === 'ResourceAlreadyExists' ? storageErrors.bucketExists(error) : known
  }
  return { json: { name } }
}

async function get({ context, scope, path }: StorageCall<undefined>): Promise<StorageReply> {
  const [row] = await context.database.askRows(scope, bucketById, [path.bucket ?? ''])
  if (!row) throw storageErrors.noSuchBucket()
  return { text: row[0] ?? '' }
}

const sortColumns: readonly string[] = ['id', 'name', 'created_at', 'updated_at']
const sortOrders: readonly string[] = ['asc', 'desc']

async function list({ context, scope, query }: StorageCall<undefined>): Promise<StorageReply> {
  const limit = wholeNumber(query, 'limit', 1)
  const offset = wholeNumber(query, 'offset', 0)
  const column = oneOf(query, 'sortColumn', sortColumns) ?? 'created_at'
  const order = oneOf(query, 'sortOrder', sortOrders) ?? 'asc'
  const search = (query.get('search') ?? '').replaceAll('\0', '').replaceAll(/[\\%_]/g, String.raw`\$&`)
  const statement = bucketLists[`${column} ${order}` as keyof typeof bucketLists]
  const rows = await context.database.askRows(scope, statement, [search, limit, offset])
  return { text: `[${rows.map(([bucket]) => bucket).join(',')}]` }
}

function wholeNumber(query: URLSearchParams, name: string, least: number): number | null {
  const given = query.get(name)
  if (given === null) return null
  const value = Number(given)
  if (given.trim() === '' || !Number.isSafeInteger(value)) {
    throw storageErrors.validation(`querystring/${name} must be integer`)
  }
  if (value < least) throw storageErrors.validation(`querystring/${name} must be >= ${least}`)
  return value
}

function oneOf(query: URLSearchParams, name: string, words: readonly string[]): string | undefined {
  const given = query.get(name)
  if (given === null) return undefined
  if (!words.includes(given)) {
    throw storageErrors.validation(`querystring/${name} must be equal to one of the allowed values`)
  }
  return given
}

async function update({ context, scope, path, body }: StorageCall<BucketChanges>): Promise<StorageReply> {
  const id = path.bucket ?? ''
  requireBucketName(id)
  const { public: isPublic, file_size_limit: size, allowed_mime_types: types } = body
  if (isPublic === undefined && size === undefined && types === undefined) throw storageErrors.noContent()
  const [row] = await context.database.askRows(scope, updateBucket, [
    id,
    isPublic !== undefined,
    isPublic ?? null,
    size !== undefined,
    sizeLimit(size ?? null, context.settings().storageFileSizeLimit),
    types !== undefined,
    jsonOrNull(allowedTypes(types ?? null)),
  ])
  if (!row) throw storageErrors.noSuchBucket()
  return { json: { message: 'Successfully updated' } }
}

async function remove({ context: { database }, scope, path }: StorageCall<undefined>): Promise<StorageReply> {
  const id = path.bucket ?? ''
  try {
    const [removed] = await database.askRows(scope, deleteBucket, [id])
    if (!removed) throw storageErrors.noSuchBucket()
  } catch (error) {
    // Only callers who may delete the bucket learn that it has objects.
    throw storageErrorOf(error).code === 'ResourceReferenced' ? storageErrors.bucketNotEmpty() : error
  }
  return { json: { message: 'Successfully deleted' } }
}

async function empty({ context, scope, path }: StorageCall<undefined>): Promise<StorageReply> {
  const { database } = context
  const bucket = path.bucket ?? ''
  const [row] = await database.askRows(scope, timeOfBucket, [bucket])
  if (!row) throw storageErrors.noSuchBucket()
  const [start = null] = row
  for (;;) {
    const rows = await database.askRows(scope, emptyBucket, [bucket, start])
    removeLater(context, ...rows.map(([name, version]) => ({ bucket, name: name ?? '', version: version ?? '' })))
    if (rows.length < emptyingBatch) break
  }
  // The text of the original, which clients compare. The bucket is empty already.
  return { json: { message: 'Empty bucket has been queued. Completion may take up to an hour.' } }
}

const missing = { 404: 'there is no such bucket, or the caller may not see it' }
const limitErrors = { 413: 'the limit is above that of the server', 415: 'a media type is malformed' }

export const bucketRoutes: readonly StorageRoute[] = [
  defineStorageRoute<NewBucket>({
    method: 'post',
    path: '/bucket',
    id: 'createBucket',
    summary: 'Create a bucket',
    caller: 'required',
    operation: 'storage.bucket.create',
    body: dto('StorageCreateBucketDto'),
    success: [200, { description: 'The bucket was created.', schema: record({ name: text }) }],
    errors: { 409: 'there is such a bucket already', ...limitErrors },
    handler: create,
  }),
  defineStorageRoute({
    method: 'get',
    path: '/bucket',
    id: 'listBuckets',
    summary: 'List buckets',
    caller: 'required',
    operation: 'storage.bucket.list',
    query: {
      limit: 'Maximum number of buckets.',
      offset: 'Number of buckets to skip.',
      sortColumn: '`id`, `name`, `created_at` or `updated_at`.',
      sortOrder: '`asc` or `desc`.',
      search: 'What the name contains, in any case.',
    },
    success: [200, { description: 'The buckets.', schema: { type: 'array', items: bucketSchema } }],
    errors: { 400: 'the query string is not valid' },
    handler: list,
  }),
  defineStorageRoute({
    method: 'get',
    path: '/bucket/{bucket}',
    id: 'getBucket',
    summary: 'Get a bucket',
    caller: 'required',
    operation: 'storage.bucket.get',
    success: [200, { description: 'The bucket.', schema: bucketSchema }],
    errors: missing,
    handler: get,
  }),
  defineStorageRoute<BucketChanges>({
    method: 'put',
    path: '/bucket/{bucket}',
    id: 'updateBucket',
    summary: 'Change a bucket',
    caller: 'required',
    operation: 'storage.bucket.update',
    body: dto('StorageUpdateBucketDto'),
    success: [200, message('The bucket was changed.')],
    errors: { ...missing, ...limitErrors },
    handler: update,
  }),
  defineStorageRoute({
    method: 'delete',
    path: '/bucket/{bucket}',
    id: 'deleteBucket',
    summary: 'Delete an empty bucket',
    caller: 'required',
    operation: 'storage.bucket.delete',
    success: [200, message('The bucket was deleted.')],
    errors: { ...missing, 409: 'the bucket is not empty' },
    handler: remove,
  }),
  defineStorageRoute({
    method: 'post',
    path: '/bucket/{bucket}/empty',
    id: 'emptyBucket',
    summary: 'Remove all objects of a bucket',
    caller: 'service',
    operation: 'storage.bucket.empty',
    success: [200, message('The bucket is empty.')],
    errors: missing,
    responses: {
      403: { description: 'Only `service_role` may do that.', schema: { $ref: 'urn:rowhouse:StorageErrorDto' } },
    },
    handler: empty,
  }),
]
