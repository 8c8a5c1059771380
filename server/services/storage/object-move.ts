// Moves an object: its bytes are copied to a new version at the target before the row is changed, so that the row names
// bytes at all times.
import { randomUUID } from 'node:crypto'
import { leavesConnection } from '../../postgres/database-error.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { copyAttempts, copyBytes, type Place } from './copied-bytes.ts'
import { requireNewName } from './names.ts'
import { uuidOrNull } from './object-owner.ts'
import { removeLater } from './object-writing.ts'
import type { StorageContext } from './storage-context.ts'
import type { StorageScope } from './storage-database.ts'
import { storageErrors } from './storage-error.ts'

/** The id is null unless policies permit the caller to move the object; there is no row unless it may see the object. */
const tryMove = new JsonStatement(
  `with moved as (
     update storage.objects
     set bucket_id = $3, name = $4, version = $5, owner = coalesce($6::uuid, owner), owner_id = coalesce($7, owner_id)
     where bucket_id = $1 and name = $2
     returning id
   )
   select (select id from moved), coalesce(version, ''), owner_id
   from storage.objects where bucket_id = $1 and name = $2`,
  { access: 'write' },
)

/** Moves the object that the caller was permitted to move, unless it has been replaced or has another owner now. */
const move = new JsonStatement(
  `update storage.objects
   set bucket_id = $3, name = $4, version = $5, owner = coalesce($6::uuid, owner), owner_id = coalesce($7, owner_id),
     metadata = coalesce(metadata, '{}') || jsonb_build_object('lastModified', $8::text)
   where bucket_id = $1 and name = $2 and id = $9::uuid and coalesce(version, '') = $10
     and owner_id is not distinct from $11
   returning id`,
  { access: 'write' },
)

/** What the caller was permitted to move. */
type Source = { readonly id: string; readonly version: string; readonly owner: string | null }

/**
 * Moves an object for a caller, who owns it afterwards. Its id stays the same.
 *
 * @param owner subject of the token; null leaves the owner unchanged
 * @throws StorageError 404 `NoSuchKey` if the caller cannot see or change the object, 409 if the target exists
 */
export async function moveObject(
  context: Pick<StorageContext, 'database' | 'store' | 'warn'>,
  scope: StorageScope,
  from: Place,
  to: Place,
  owner: string | null,
): Promise<void> {
  requireNewName(to.name)
  const { database, store } = context
  const version = randomUUID()
  const change = [from.bucket, from.name, to.bucket, to.name, version, uuidOrNull(owner), owner]
  const findPermitted = async (): Promise<Source | undefined> => {
    const [row] = await database.tryOut(scope, tryMove, change)
    const [id = null, found = null, ownerId = null] = row ?? []
    return id === null ? undefined : { id, version: found ?? '', owner: ownerId }
  }
  const first = await findPermitted()
  if (!first) throw storageErrors.noSuchKey()
  if (from.bucket === to.bucket && from.name === to.name) return
  const found = [first]
  const target = { ...to, version }
  for (let attempt = 0; attempt < copyAttempts; attempt++) {
    // Another object than the first one is moved only if policies permit it, too.
    const { bytes, source } = await copyBytes(store, from, target, async () => found.pop() ?? (await findPermitted()))
    const permitted = [source.id, source.version, source.owner]
    const values = [...change, bytes.lastModified.toISOString(), ...permitted]
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
