// Rows of new objects: whether the caller may write them, and the rows themselves once the bytes are durable.
import { leavesConnection } from '../../postgres/database-error.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { ObjectKey } from './object-store.ts'
import { storageErrorOf } from './database-storage-error.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { storageErrors } from './storage-error.ts'
import type { UserMetadata } from './user-metadata.ts'

type Writer = { readonly context: StorageContext; readonly scope: StorageScope }

/** An object to be written. */
export type NewObject = {
  readonly bucket: string
  readonly name: string
  /** Subject of the token; null keeps the owner of a replaced object. */
  readonly owner: string | null
  /** Whether an object of that name is replaced. */
  readonly isUpsert: boolean
  readonly userMetadata: UserMetadata | undefined
}

const insert = `insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata, user_metadata)
   values ($1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb)`

const replace = `on conflict (bucket_id, name) do update set
     owner = coalesce(excluded.owner, objects.owner), owner_id = coalesce(excluded.owner_id, objects.owner_id),
     version = excluded.version, metadata = excluded.metadata, user_metadata = excluded.user_metadata`

const tryInsert = new JsonStatement(insert, { access: 'write' })
// Reading the row requires the policies of select, as replacing requires those of update.
const tryUpsert = new JsonStatement(`${insert} ${replace} returning id`, { access: 'write' })

const insertRow = new JsonStatement(`${insert} on conflict (bucket_id, name) do nothing returning id, null`, {
  access: 'write',
})
// The lock makes the previous version that of the row which is replaced.
const upsertRow = new JsonStatement(
  `with previous as materialized (
     select version from storage.objects where bucket_id = $1 and name = $2 for update
   )
   insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata, user_metadata)
   select $1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb from (select) as one left join previous on true
   ${replace}
   returning id, (select version from previous)`,
  { access: 'write' },
)

const uuid = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i

const valuesOf = (
  { bucket, name, owner, userMetadata }: NewObject,
  version: string,
  metadata: string | null,
  byDefault: string | null,
): (string | null)[] => [
  bucket,
  name,
  owner !== null && uuid.test(owner) ? owner : null,
  owner,
  version,
  metadata,
  userMetadata === undefined ? byDefault : JSON.stringify(userMetadata),
]

/**
 * Finds out whether the caller may write an object, by writing its row and rolling back. The policies see the columns
 * that are known before the upload.
 *
 * @param known media type and length, as the client claims them
 * @throws StorageError 403 `AccessDenied`; 409 `KeyAlreadyExists`
 */
export async function requirePermission(
  { context: { database }, scope }: Writer,
  object: NewObject,
  known: { readonly mimetype?: string; readonly contentLength?: number },
): Promise<void> {
  const statement = object.isUpsert ? tryUpsert : tryInsert
  try {
    await database.tryOut(scope, statement, valuesOf(object, '1', JSON.stringify(known), null))
  } catch (error) {
    throw objectError(error)
  }
}

export type WrittenObject = {
  readonly id: string
  /** The version that was replaced. */
  readonly previous: string | null
}

/**
 * Writes the row of an object whose bytes are durable, as the owner of the tables: the caller's permission was checked
 * before. One statement decides conflicts. Afterwards, the bytes of the replaced version are removed; if the row is
 * certainly not written, those of the new one.
 *
 * @param metadata JSON text
 * @throws StorageError 409 `KeyAlreadyExists` if another upload was faster and `isUpsert` is not set
 */
export async function writeObject(
  { context, scope }: Writer,
  object: NewObject,
  version: string,
  metadata: string,
): Promise<WrittenObject> {
  const { database } = context
  const { bucket, name } = object
  const statement = object.isUpsert ? upsertRow : insertRow
  let row
  try {
    ;[row] = await database.askAsAdmin(scope, statement, valuesOf(object, version, metadata, '{}'))
  } catch (error) {
    // After a lost connection, the row may be there: the bytes are left to the sweep.
    if (leavesConnection(error)) removeLater(context, { bucket, name, version })
    throw objectError(error)
  }
  const [id = null, previous = null] = row ?? []
  if (id === null) {
    removeLater(context, { bucket, name, version })
    throw storageErrors.keyExists()
  }
  if (previous !== null && previous !== version) removeLater(context, { bucket, name, version: previous })
  return { id, previous }
}

/** Removes bytes that no row names any more. The sweep removes them later if that fails. */
export function removeLater(
  { store, warn }: Pick<StorageContext, 'store' | 'warn'>,
  ...keys: readonly ObjectKey[]
): void {
  store.remove(keys).catch((error: unknown) => {
    warn(`bytes of ${keys.length} removed objects are left to the sweep of storage: ${String(error)}`)
  })
}

function objectError(error: unknown): unknown {
  const known = storageErrorOf(error)
  return known.code === 'ResourceAlreadyExists' ? storageErrors.keyExists(error) : known
}
