// Copies an object: first its bytes, then the row that names them, under the permissions of the caller.
import { randomUUID } from 'node:crypto'
import { sqlState } from '../../postgres/database-error.ts'
import { JsonStatement, type Parameter } from '../../postgres/json-statement.ts'
import { withCopiedBytes } from './copied-bytes.ts'
import { requireObjectName } from './names.ts'
import type { Place } from './object-move.ts'
import { uuidOrNull } from './object-owner.ts'
import { objectJson, type ObjectRow } from './object-row.ts'
import type { StoredBytes } from './object-store.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { storageErrors } from './storage-error.ts'

export type CopyOptions = {
  /** Subject of the token, which owns the copy; null leaves the owner of an object that is replaced unchanged. */
  readonly owner: string | null
  /** Whether the copy replaces an object. */
  readonly upsert: boolean
  /** Whether the copy has the metadata of the source, including that of its owner. */
  readonly copyMetadata: boolean
  /** Replaces that of the source, if it is not copied. */
  readonly metadata: { readonly cacheControl?: string; readonly mimetype?: string }
  /** The metadata of the owner, if it is not copied. */
  readonly userMetadata: Readonly<Record<string, unknown>> | undefined
}

type Source = Pick<ObjectRow, 'version' | 'metadata' | 'user_metadata'>

const findSource = new JsonStatement(
  `select json_build_object('version', coalesce(version, ''), 'metadata', metadata, 'user_metadata', user_metadata)
   from storage.objects where bucket_id = $1 and name = $2`,
  { access: 'read' },
)

const columns = 'bucket_id, name, version, owner, owner_id, metadata, user_metadata'
const values = '$1, $2, $3, $4::uuid, $5, $6::jsonb, $7::jsonb'
const replacement = `version = excluded.version, owner = coalesce(excluded.owner, objects.owner),
  owner_id = coalesce(excluded.owner_id, objects.owner_id), metadata = excluded.metadata,
  user_metadata = excluded.user_metadata`
const upserted = `insert into storage.objects as objects (${columns}) values (${values})
  on conflict (bucket_id, name) do update set ${replacement}`

// Only an upsert needs the right to select: it returns the row.
const tryInsert = new JsonStatement(`insert into storage.objects (${columns}) values (${values})`, { access: 'write' })
const tryUpsert = new JsonStatement(`${upserted} returning id::text`, { access: 'write' })

/** The row, and null: no object has been replaced. */
const insertRow = new JsonStatement(
  `insert into storage.objects as objects (${columns}) values (${values})
   on conflict (bucket_id, name) do nothing returning ${objectJson('objects')}, null::text`,
  { access: 'write' },
)
/** The row, and the version that it had before. */
const upsertRow = new JsonStatement(
  `with old as (
     select version from storage.objects where bucket_id = $1 and name = $2 for update
   )
   ${upserted} returning ${objectJson('objects')}, (select version from old)`,
  { access: 'write' },
)

/**
 * Copies an object for a caller.
 *
 * @throws StorageError 404 `NoSuchKey` if the caller can not see the source, 403 if it may not create or replace the target,
 *   409 if the target exists
 */
export async function copyObject(
  { database, store, onError }: Pick<StorageContext, 'database' | 'store' | 'onError'>,
  scope: StorageScope,
  from: Place,
  to: Place,
  options: CopyOptions,
): Promise<ObjectRow> {
  requireObjectName(to.name)
  const { upsert, owner } = options
  const find = async (): Promise<Source | undefined> => {
    const [source] = await database.ask(scope, findSource, [from.bucket, from.name])
    return source as Source | undefined
  }
  const first = await find()
  if (!first) throw storageErrors.noSuchKey()
  const version = randomUUID()
  const rowOf = (source: Source, bytes?: StoredBytes): Parameter[] => {
    const { metadata, user } = metadataOf(source, options)
    const copied = bytes && { eTag: bytes.eTag, lastModified: bytes.lastModified.toISOString() }
    return [
      ...[to.bucket, to.name, version, uuidOrNull(owner), owner],
      ...[JSON.stringify({ ...metadata, ...copied }), user && JSON.stringify(user)],
    ]
  }
  if (upsert) await database.tryOut(scope, tryUpsert, rowOf(first))
  else await database.tryOut(scope, tryInsert, rowOf(first)).catch(keyExists)
  // The first attempt copies what the caller has just been permitted to copy.
  const sources = [first]
  const { row, replaced } = await withCopiedBytes(
    { store, onError, from, to: { ...to, version }, find: async () => sources.pop() ?? (await find()) },
    async (bytes, source) => {
      const [copied] = await database.askAsAdmin(scope, upsert ? upsertRow : insertRow, rowOf(source, bytes))
      const [text, old = null] = copied ?? []
      if (typeof text !== 'string') throw storageErrors.keyExists()
      return { row: JSON.parse(text) as ObjectRow, replaced: old }
    },
  )
  if (replaced !== null) await store.remove([{ ...to, version: replaced }]).catch(onError)
  return row
}

/** A violation of the unique index, as an error of the key. */
function keyExists(error: unknown): never {
  throw sqlState(error) === '23505' ? storageErrors.keyExists(error) : error
}

type CopiedMetadata = { readonly metadata: object; readonly user: object | null }

function metadataOf(source: Source, { copyMetadata, metadata, userMetadata }: CopyOptions): CopiedMetadata {
  if (copyMetadata) return { metadata: source.metadata ?? {}, user: source.user_metadata }
  const { cacheControl, mimetype } = metadata
  return {
    metadata: {
      ...source.metadata,
      ...(cacheControl === undefined ? {} : { cacheControl }),
      ...(mimetype === undefined ? {} : { mimetype }),
    },
    user: userMetadata ?? null,
  }
}
