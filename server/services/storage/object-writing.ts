// Rows of new objects: whether the caller may write them, and the rows themselves once the bytes are durable.
import { leavesConnection } from '../../postgres/database-error.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { AcceptedVersion } from './bucket-rule.ts'
import type { ObjectKey } from './object-store.ts'
import { storageErrorOf } from './database-storage-error.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { storageErrors, type StorageError } from './storage-error.ts'
import type { UserMetadata } from './user-metadata.ts'
import { uuidOrNull } from './object-owner.ts'

type Writer = { readonly context: StorageContext; readonly scope: StorageScope }

/** An object to be written. */
export type NewObject = {
  readonly bucket: string
  readonly name: string
  /** Subject of the token; null keeps the owner of a replaced object. */
  readonly owner: string | null
  /** Whether an object of that name is replaced. */
  readonly isUpsert: boolean
  /** Null for none; undefined for the default, which is empty. */
  readonly userMetadata: UserMetadata | null | undefined
}

/** SQL that inserts the row of an object. Its parameters are those of `objectValues`. */
export const insertObject = `insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata, user_metadata)
   values ($1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb)`

const replace = `on conflict (bucket_id, name) do update set
     owner = coalesce(excluded.owner, objects.owner), owner_id = coalesce(excluded.owner_id, objects.owner_id),
     version = excluded.version, metadata = excluded.metadata, user_metadata = excluded.user_metadata`

const tryInsert = new JsonStatement(insertObject, { access: 'write' })
// Reading the row requires the policies of select, as replacing requires those of update.
const tryUpsert = new JsonStatement(
  `${insertObject} ${replace}
   returning id, (select owner_id from storage.objects as seen where seen.bucket_id = $1 and seen.name = $2)`,
  { access: 'write' },
)

const insertRow = new JsonStatement(`${insertObject} on conflict (bucket_id, name) do nothing returning id, null`, {
  access: 'write',
})
// The lock makes the previous version that of the row which is replaced. Rows that the caller was not asked about stay.
const upsertRow = new JsonStatement(
  `with previous as materialized (
     select version from storage.objects where bucket_id = $1 and name = $2 for update
   )
   insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata, user_metadata)
   select $1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb from (select) as one left join previous on true
   ${replace}
   where objects.id = $8::uuid and objects.owner_id is not distinct from $9
   returning id, (select version from previous)`,
  { access: 'write' },
)

/** @param byDefault user metadata in JSON, if the object has none of its own */
export const objectValues = (
  { bucket, name, owner, userMetadata }: Omit<NewObject, 'isUpsert'>,
  version: string,
  metadata: string | null,
  byDefault: string | null,
): (string | null)[] => [
  bucket,
  name,
  uuidOrNull(owner),
  owner,
  version,
  metadata,
  userMetadata === undefined ? byDefault : userMetadata && JSON.stringify(userMetadata),
]

/**
 * The object that the caller may replace: during a long upload, another user may put a different object there, which
 * only its policies could permit to replace.
 */
export type Replaceable = {
  /** If there is no object yet, a new id, which no row ever has. */
  readonly id: string | null
  readonly owner: string | null
}

/** What is known of an object before its upload. */
type Known = { readonly mimetype?: string; readonly contentLength?: number }

/** How often another user may put a different object where one is to be replaced, until the caller has to try again. */
const attempts = 10

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
  known: Known,
): Promise<Replaceable> {
  const statement = object.isUpsert ? tryUpsert : tryInsert
  try {
    const [row] = await database.tryOut(scope, statement, objectValues(object, '1', JSON.stringify(known), null))
    return { id: row?.[0] ?? null, owner: row?.[1] ?? null }
  } catch (error) {
    throw objectErrorOf(error)
  }
}

export type WrittenObject = {
  readonly id: string
  /** The version that was replaced. */
  readonly previous: string | null
}

/**
 * Writes the row of an object whose bytes are durable, as the owner of the tables: the caller's permission was checked
 * before, and is again if there is another object now. One statement decides conflicts. Afterwards, the bytes of the
 * replaced version are removed; if the row is certainly not written, those of the new one.
 *
 * @param accepted the version, whose bytes the bucket accepts
 * @param metadata JSON text
 * @param replaceable as `requirePermission` has returned it
 * @throws StorageError 409 `KeyAlreadyExists` if another upload was faster and `isUpsert` is not set; 403 `AccessDenied`
 *   if it was faster and the caller may not replace its object; 423 if others are faster again and again
 */
export async function writeObject(
  writer: Writer,
  object: NewObject,
  { key }: AcceptedVersion,
  metadata: string,
  replaceable: Replaceable,
): Promise<WrittenObject> {
  const { context } = writer
  const { bucket, name, version } = key
  const { isUpsert } = object
  let target = replaceable
  try {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const written = await writeRow(writer, object, version, metadata, target)
      if (written) {
        const { previous } = written
        if (previous !== null && previous !== version) removeLater(context, { bucket, name, version: previous })
        return written
      }
      if (!isUpsert) throw storageErrors.keyExists()
      target = await requirePermission(writer, object, JSON.parse(metadata) as Known)
    }
    throw storageErrors.resourceLocked()
  } catch (error) {
    // After a lost connection, the row may be there: the bytes are left to the sweep.
    if (!(error instanceof LostRowError)) {
      removeLater(context, { bucket, name, version })
      throw error
    }
    throw objectErrorOf(error.cause)
  }
}

/** It is not known whether a row was written. */
class LostRowError extends Error {}

/** @returns undefined if there is an object already that the row does not replace */
async function writeRow(
  { context: { database }, scope }: Writer,
  object: NewObject,
  version: string,
  metadata: string,
  { id: replaced, owner }: Replaceable,
): Promise<WrittenObject | undefined> {
  const values = objectValues(object, version, metadata, '{}')
  try {
    const [row] = object.isUpsert
      ? await database.askAsAdmin(scope, upsertRow, [...values, replaced, owner])
      : await database.askAsAdmin(scope, insertRow, values)
    const [id = null, previous = null] = row ?? []
    return id === null ? undefined : { id, previous }
  } catch (error) {
    throw leavesConnection(error) ? objectErrorOf(error) : new LostRowError('', { cause: error })
  }
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

/** The response to an error of a statement that writes an object. */
export function objectErrorOf(error: unknown): StorageError {
  const known = storageErrorOf(error)
  return known.code === 'ResourceAlreadyExists' ? storageErrors.keyExists(error) : known
}
