// Finds the object that a request reads.
import { JsonStatement, type TextRow } from '../../postgres/json-statement.ts'
import { requireBucketName } from './names.ts'
import { readMetadata, type ObjectMetadata } from './object-metadata.ts'
import type { StorageCaller } from './callers.ts'
import { MissingBytesError } from './object-store.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { storageErrors } from './storage-error.ts'

/** A row of `storage.objects`. */
export type StoredObject = {
  readonly id: string
  readonly bucket: string
  readonly name: string
  readonly version: string
  readonly metadata: ObjectMetadata
  /** JSON text. */
  readonly userMetadata: string | null
  /** In ISO 8601, with milliseconds, as JavaScript writes it. */
  readonly createdAt: string | null
  readonly updatedAt: string | null
}

export type ObjectReader = {
  readonly context: StorageContext
  readonly caller: Pick<StorageCaller, 'isAuthenticated'>
  readonly scope: StorageScope
  /** Whether the session of the token must be active for public buckets, too. */
  readonly requiresSession?: boolean
}

/** SQL for a time in the notation of JavaScript. */
export const jsonTime = (column: string): string =>
  `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const columns = [
  'objects.id',
  'objects.version',
  'objects.metadata',
  'objects.user_metadata',
  jsonTime('objects.created_at'),
  jsonTime('objects.updated_at'),
].join(', ')

/** A bucket, and an object of it if there is one. */
const inBucket = new JsonStatement(
  `select buckets.public, ${columns} from storage.buckets
   left join storage.objects on objects.bucket_id = buckets.id and objects.name = $2
   where buckets.id = $1`,
  { access: 'read', hasNoEffect: true },
)

const visible = new JsonStatement(
  `select null, ${columns} from storage.objects where objects.bucket_id = $1 and objects.name = $2`,
  { access: 'read', hasNoEffect: true },
)

/**
 * Finds a bucket, and an object of it if there is one.
 *
 * @throws StorageError 404 `NoSuchBucket`
 */
async function findInBucket(
  { database, names }: Pick<StorageContext, 'database' | 'names'>,
  bucket: string,
  name: string,
): Promise<{ readonly isPublic: boolean; readonly row: TextRow }> {
  requireBucketName(bucket)
  await names.require(name)
  const [row] = await database.admin(inBucket, [bucket, name])
  if (!row) throw storageErrors.noSuchBucket()
  return { isPublic: row[0] === 't', row }
}

/**
 * Finds an object of a public bucket, without regard to policies.
 *
 * @throws StorageError 404 `NoSuchBucket`, also for a private bucket; 404 `NoSuchKey`
 */
export async function findPublicObject(
  context: Pick<StorageContext, 'database' | 'names'>,
  bucket: string,
  name: string,
): Promise<StoredObject> {
  const { isPublic, row } = await findInBucket(context, bucket, name)
  if (!isPublic) throw storageErrors.noSuchBucket()
  return objectOf(row, bucket, name)
}

/**
 * Finds an object that the owner of the tables sees, such as one that a signed URL names.
 *
 * @throws StorageError 404 `NoSuchBucket`, `NoSuchKey`
 */
export async function findAnyObject(
  context: Pick<StorageContext, 'database' | 'names'>,
  bucket: string,
  name: string,
): Promise<StoredObject> {
  const { row } = await findInBucket(context, bucket, name)
  return objectOf(row, bucket, name)
}

/**
 * Finds an object that the caller may read: in a private bucket by its policies, in a public one always.
 *
 * @throws StorageError 404 `NoSuchBucket`, `NoSuchKey`
 */
export async function findReadableObject(
  { context, caller, scope, requiresSession = false }: ObjectReader,
  bucket: string,
  name: string,
): Promise<StoredObject> {
  const { isPublic, row } = await findInBucket(context, bucket, name)
  if (isPublic) {
    if (requiresSession) await context.database.requireSession(scope)
    return objectOf(row, bucket, name)
  }
  if (!caller.isAuthenticated) throw storageErrors.noSuchBucket()
  return findVisibleObject({ context, scope }, bucket, name)
}

/**
 * Finds an object that the policies let the caller see, whether its bucket is public or not.
 *
 * @throws StorageError 404 `NoSuchKey`
 */
export async function findVisibleObject(
  { context, scope }: Pick<ObjectReader, 'context' | 'scope'>,
  bucket: string,
  name: string,
): Promise<StoredObject> {
  const [row] = await context.database.askRows(scope, visible, [bucket, name])
  if (!row) throw storageErrors.noSuchKey()
  return objectOf(row, bucket, name)
}

/** How often an object is looked up again whose bytes were removed because it was replaced meanwhile. */
const attempts = 3

/**
 * Finds an object and reads its bytes. Does both again when the object was replaced in between.
 *
 * @param read may reject with `MissingBytesError`
 */
export async function findAndRead<Result>(
  find: () => Promise<StoredObject>,
  read: (object: StoredObject) => Promise<Result>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const object = await find()
    try {
      return await read(object)
    } catch (error) {
      if (!(error instanceof MissingBytesError) || attempt === attempts) throw error
      if ((await find()).version === object.version) throw error
    }
  }
}

function objectOf(
  [, id = null, version = null, metadata = null, userMetadata = null, createdAt = null, updatedAt = null]: TextRow,
  bucket: string,
  name: string,
): StoredObject {
  if (id === null) throw storageErrors.noSuchKey()
  return {
    id,
    bucket,
    name,
    userMetadata,
    createdAt,
    updatedAt,
    version: version ?? '',
    metadata: readMetadata(metadata),
  }
}
