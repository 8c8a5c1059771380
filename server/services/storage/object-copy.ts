// Copies an object: first its bytes, then the row that names them, under the permissions of the caller.
import { randomUUID } from 'node:crypto'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { copyBytes, type Place } from './copied-bytes.ts'
import { AcceptedVersion, bucketLimits, requireAllowedFile } from './bucket-rule.ts'
import { checkedFile, metadataOf, type MetadataColumn } from './object-metadata.ts'
import { objectJson } from './object-row.ts'
import { removeLater, requirePermission, writeObject, type NewObject } from './object-writing.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { storageErrors } from './storage-error.ts'
import { cacheControlOf } from './cache-control.ts'
import { requireMediaType } from './upload-source.ts'
import type { UserMetadata } from './user-metadata.ts'

export type CopyOptions = {
  /** Subject of the token, which owns the copy; null leaves the owner of an object that is replaced unchanged. */
  readonly owner: string | null
  /** Whether the copy replaces an object. */
  readonly isUpsert: boolean
  /** Whether the copy has the metadata of the source, including that of its owner. */
  readonly copyMetadata: boolean
  /** Replaces that of the source, if it is not copied. */
  readonly metadata: { readonly cacheControl?: string | undefined; readonly mimetype?: string | undefined }
  /** The metadata of the owner, if it is not copied. */
  readonly userMetadata: UserMetadata | undefined
}

type Source = {
  readonly version: string
  readonly metadata: MetadataColumn | null
  readonly user_metadata: UserMetadata | null
}

const findSource = new JsonStatement(
  `select json_build_object('version', coalesce(version, ''), 'metadata', metadata, 'user_metadata', user_metadata)
   from storage.objects where bucket_id = $1 and name = $2`,
  { access: 'read' },
)

const rowOfId = new JsonStatement(`select ${objectJson('objects')} from storage.objects where id = $1::uuid`, {
  access: 'read',
  hasNoEffect: true,
})

/**
 * Copies an object for a caller.
 *
 * @returns the id, and the row, unless it has been changed meanwhile
 * @throws StorageError 404 `NoSuchKey` if the caller cannot see the source, 403 if it may not create or replace the copy,
 *   409 if there is an object already, 413 or 415 if the target bucket does not accept it
 */
export async function copyObject(
  context: StorageContext,
  scope: StorageScope,
  from: Place,
  to: Place,
  options: CopyOptions,
): Promise<{ readonly id: string; readonly row: object }> {
  await context.names.requireNew(to.name)
  const changes = options.copyMetadata ? {} : changesOf(options.metadata)
  const { database, store } = context
  const find = async (): Promise<Source | undefined> => {
    const [source] = await database.ask(scope, findSource, [from.bucket, from.name])
    return source as Source | undefined
  }
  const first = await find()
  if (!first) throw storageErrors.noSuchKey()
  const { owner, isUpsert } = options
  const copyOf = (source: Source): NewObject => ({
    ...to,
    owner,
    isUpsert,
    userMetadata: userMetadataOf(source, options),
  })
  const replaceable = await requirePermission({ context, scope }, copyOf(first), { ...first.metadata, ...changes })
  const limits = await bucketLimits(context, to.bucket)
  requireAllowedFile(context, limits, to.name, checkedFile(metadataOf({ ...first.metadata, ...changes })))
  const key = { ...to, version: randomUUID() }
  // The first attempt copies what the caller has just been permitted to copy.
  const found = [first]
  const { bytes, source } = await copyBytes(store, from, key, async () => found.pop() ?? (await find()))
  const { eTag, size, lastModified } = bytes
  const metadata = {
    ...source.metadata,
    ...changes,
    eTag,
    size,
    contentLength: size,
    lastModified: lastModified.toISOString(),
  }
  const file = checkedFile(metadataOf(metadata))
  const accepted = await AcceptedVersion.stored(context, limits, key, file).catch((error: unknown) => {
    removeLater(context, key)
    throw error
  })
  const copy = copyOf(source)
  const { id } = await writeObject({ context, scope }, copy, accepted, JSON.stringify(metadata), replaceable)
  const [row] = await database.askAsAdmin(scope, rowOfId, [id])
  return { id, row: JSON.parse(row?.[0] ?? '{}') as object }
}

type Headers = { readonly cacheControl?: string; readonly mimetype?: string }

/** @throws StorageError 400, 415 for malformed ones */
function changesOf({ cacheControl, mimetype }: CopyOptions['metadata']): Headers {
  if (mimetype !== undefined) requireMediaType(mimetype)
  return {
    ...(cacheControl === undefined ? {} : { cacheControl: cacheControlOf(cacheControl) }),
    ...(mimetype === undefined ? {} : { mimetype }),
  }
}

const userMetadataOf = ({ user_metadata }: Source, { copyMetadata, userMetadata }: CopyOptions) =>
  copyMetadata ? user_metadata : (userMetadata ?? null)
