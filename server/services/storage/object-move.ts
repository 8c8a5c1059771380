// Moves an object: its bytes are copied to a new version at the target before the row is changed, so that the row names
// bytes at all times.
import { randomUUID } from 'node:crypto'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { withCopiedBytes } from './copied-bytes.ts'
import { requireObjectName } from './names.ts'
import { uuidOrNull } from './object-owner.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { storageErrors } from './storage-error.ts'

/** The bucket and name of an object. */
export type Place = { readonly bucket: string; readonly name: string }

/** Of the objects that the caller can see. The second column is null unless the caller may make the change. */
const tryMove = new JsonStatement(
  `with found as (
     select id from storage.objects where bucket_id = $1 and name = $2
   ), moved as (
     update storage.objects
     set bucket_id = $3, name = $4, version = $5, owner = coalesce($6::uuid, owner), owner_id = coalesce($7, owner_id)
     where bucket_id = $1 and name = $2
     returning id
   )
   select (select id from found)::text, (select id from moved)::text`,
  { access: 'write' },
)

const findVersion = new JsonStatement('select version from storage.objects where bucket_id = $1 and name = $2', {
  access: 'read',
})

const move = new JsonStatement(
  `update storage.objects
   set bucket_id = $3, name = $4, version = $5, owner = coalesce($6::uuid, owner), owner_id = coalesce($7, owner_id),
     metadata = coalesce(metadata, '{}') || jsonb_build_object('lastModified', $9::text)
   where bucket_id = $1 and name = $2 and version is not distinct from $8
   returning id::text`,
  { access: 'write' },
)

/**
 * Moves an object for a caller, who owns it afterwards. Its id stays the same.
 *
 * @param owner subject of the token; null leaves the owner unchanged
 * @throws StorageError 404 `NoSuchKey` if the caller can not see or change the object, 409 if the target exists
 */
export async function moveObject(
  { database, store, onError }: Pick<StorageContext, 'database' | 'store' | 'onError'>,
  scope: StorageScope,
  from: Place,
  to: Place,
  owner: string | null,
): Promise<void> {
  requireObjectName(to.name)
  const version = randomUUID()
  const change = [from.bucket, from.name, to.bucket, to.name, version, uuidOrNull(owner), owner]
  const [permitted] = await database.tryOut(scope, tryMove, change)
  const [seen = null, changed = null] = permitted ?? []
  if (seen === null || changed === null) throw storageErrors.noSuchKey()
  if (from.bucket === to.bucket && from.name === to.name) return
  const find = async (): Promise<{ readonly version: string } | undefined> => {
    const [row] = await database.askAsAdmin(scope, findVersion, [from.bucket, from.name])
    return row && { version: row[0] ?? '' }
  }
  const { old } = await withCopiedBytes(
    { store, onError, from, to: { ...to, version }, find },
    async ({ lastModified }, { version: old }) => {
      const expected = old === '' ? null : old
      const rows = await database.askAsAdmin(scope, move, [...change, expected, lastModified.toISOString()])
      // No row: the object has been replaced or removed in the meantime.
      return rows.length > 0 ? { old } : undefined
    },
  )
  await store.remove([{ ...from, version: old }]).catch(onError)
}
