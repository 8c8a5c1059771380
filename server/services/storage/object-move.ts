// Moves an object: its bytes are copied to a new version at the target before the row is changed, so that the row names
// bytes at all times.
import { randomUUID } from 'node:crypto'
import { leavesConnection } from '../../postgres/database-error.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { copyAttempts, copyBytes, type Place } from './copied-bytes.ts'
import { requireObjectName } from './names.ts'
import { uuidOrNull } from './object-owner.ts'
import { removeLater } from './object-writing.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { storageErrors } from './storage-error.ts'

/** Columns are null unless policies permit the caller to see the object, and to move it. */
const tryMove = new JsonStatement(
  `with found as (
     select id from storage.objects where bucket_id = $1 and name = $2
   ), moved as (
     update storage.objects
     set bucket_id = $3, name = $4, version = $5, owner = coalesce($6::uuid, owner), owner_id = coalesce($7, owner_id)
     where bucket_id = $1 and name = $2
     returning id
   )
   select (select id from found), (select id from moved)`,
  { access: 'write' },
)

const findVersion = new JsonStatement(
  `select coalesce(version, '') from storage.objects where bucket_id = $1 and name = $2`,
  { access: 'read', hasNoEffect: true },
)

const move = new JsonStatement(
  `update storage.objects
   set bucket_id = $3, name = $4, version = $5, owner = coalesce($6::uuid, owner), owner_id = coalesce($7, owner_id),
     metadata = coalesce(metadata, '{}') || jsonb_build_object('lastModified', $9::text)
   where bucket_id = $1 and name = $2 and coalesce(version, '') = $8
   returning id`,
  { access: 'write' },
)

/**
 * Moves an object for a caller, who owns it afterwards. Its id stays the same.
 *
 * @param owner subject of the token; null leaves the owner unchanged
 * @throws StorageError 404 `NoSuchKey` if the caller cannot see or change the object, 409 if the target exists
 */
export async function moveObject(
  context: StorageContext,
  scope: StorageScope,
  from: Place,
  to: Place,
  owner: string | null,
): Promise<void> {
  requireObjectName(to.name)
  const { database, store } = context
  const version = randomUUID()
  const change = [from.bucket, from.name, to.bucket, to.name, version, uuidOrNull(owner), owner]
  const [permitted] = await database.tryOut(scope, tryMove, change)
  const [seen = null, changed = null] = permitted ?? []
  if (seen === null || changed === null) throw storageErrors.noSuchKey()
  if (from.bucket === to.bucket && from.name === to.name) return
  const target = { ...to, version }
  const find = async (): Promise<{ readonly version: string } | undefined> => {
    const [row] = await database.askAsAdmin(scope, findVersion, [from.bucket, from.name])
    return row && { version: row[0] ?? '' }
  }
  for (let attempt = 0; attempt < copyAttempts; attempt++) {
    const { bytes, source } = await copyBytes(store, from, target, find)
    const values = [...change, source.version, bytes.lastModified.toISOString()]
    const rows = await database.askAsAdmin(scope, move, values).catch((error: unknown) => {
      // After a lost connection, the row may have been changed: the bytes are left to the sweep.
      if (leavesConnection(error)) removeLater(context, target)
      throw error
    })
    if (rows.length > 0) {
      removeLater(context, { ...from, version: source.version })
      return
    }
    // The object has been replaced or removed meanwhile.
    await store.remove([target])
  }
  throw storageErrors.resourceLocked()
}
