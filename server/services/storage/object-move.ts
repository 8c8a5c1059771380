// Moves an object: its bytes are copied to a new version at the target before the row is changed, so that the row names
// bytes at all times.
import { randomUUID } from 'node:crypto'
import { leavesConnection } from '../../postgres/database-error.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { copyAttempts, copyBytes, type Place } from './copied-bytes.ts'
import { AcceptedVersion, bucketLimits, requireAllowedFile } from './bucket-rule.ts'
import { isFolderPlaceholder } from './names.ts'
import { checkedFile, readMetadata, type ObjectMetadata } from './object-metadata.ts'
import { uuidOrNull } from './object-owner.ts'
import { removeLater } from './object-writing.ts'
import type { StorageContext } from './storage-context.ts'
import type { ObjectKey, StoredBytes } from './object-store.ts'
import type { StorageDatabase, StorageScope } from './storage-database.ts'
import { StorageError, storageErrors } from './storage-error.ts'

/** The id is null unless policies permit the caller to move the object; there is no row unless it may see the object. */
const tryMove = new JsonStatement(
  `with moved as (
     update storage.objects
     set bucket_id = $3, name = $4, version = $5, owner = coalesce($6::uuid, owner), owner_id = coalesce($7, owner_id)
     where bucket_id = $1 and name = $2
     returning id
   )
   select (select id from moved), coalesce(version, ''), owner_id, metadata
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
type Source = {
  readonly id: string
  readonly version: string
  readonly owner: string | null
  readonly metadata: ObjectMetadata
}

/** Whether an object stays what it is: in its bucket, under a rule of the same kind. */
const isRenamed = (from: Place, to: Place): boolean =>
  from.bucket === to.bucket && isFolderPlaceholder(from.name) === isFolderPlaceholder(to.name)

/**
 * Moves an object for a caller, who owns it afterwards. Its id stays the same. Another bucket must accept it as it would an
 * upload.
 *
 * @param owner subject of the token; null leaves the owner unchanged
 * @throws StorageError 404 `NoSuchKey` if the caller cannot see or change the object, 409 if the target exists, 413 or 415 if
 *   the target bucket does not accept it
 */
export async function moveObject(
  context: Pick<StorageContext, 'database' | 'store' | 'warn' | 'settings' | 'names'>,
  scope: StorageScope,
  from: Place,
  to: Place,
  owner: string | null,
): Promise<void> {
  await context.names.requireNew(to.name)
  const { database, store } = context
  const target: ObjectKey = { ...to, version: randomUUID() }
  const findPermitted = async (): Promise<Source | undefined> => {
    const [row] = await database.tryOut(scope, tryMove, changeOf(from, target, owner))
    const [id = null, found = null, ownerId = null, metadata = null] = row ?? []
    return id === null ? undefined : { id, version: found ?? '', owner: ownerId, metadata: readMetadata(metadata) }
  }
  const first = await findPermitted()
  if (!first) throw storageErrors.noSuchKey()
  if (from.bucket === to.bucket && from.name === to.name) return
  const limits = isRenamed(from, to) ? undefined : await bucketLimits(context, to.bucket)
  if (limits) requireAllowedFile(context, limits, to.name, checkedFile(first.metadata))
  const found = [first]
  for (let attempt = 0; attempt < copyAttempts; attempt++) {
    // Another object than the first one is moved only if policies permit it, too.
    const { bytes, source } = await copyBytes(store, from, target, async () => found.pop() ?? (await findPermitted()))
    try {
      const file = checkedFile({ ...source.metadata, size: bytes.size })
      const accepted = limits
        ? await AcceptedVersion.stored(context, limits, target, file)
        : AcceptedVersion.renamed(target)
      if (await writeMoved({ database, scope }, from, accepted, owner, { source, bytes })) {
        removeLater(context, { ...from, version: source.version })
        return
      }
    } catch (error) {
      // After a lost connection, the row may have been changed: the bytes are left to the sweep.
      if (error instanceof StorageError || leavesConnection(error)) removeLater(context, target)
      throw error
    }
    // The object has been replaced or removed meanwhile.
    await store.remove([target])
  }
  throw storageErrors.resourceLocked()
}

const changeOf = (from: Place, to: ObjectKey, owner: string | null): (string | null)[] => [
  from.bucket,
  from.name,
  to.bucket,
  to.name,
  to.version,
  uuidOrNull(owner),
  owner,
]

/** @returns whether the object was moved: not if it is another one now */
async function writeMoved(
  { database, scope }: { readonly database: StorageDatabase; readonly scope: StorageScope },
  from: Place,
  { key }: AcceptedVersion,
  owner: string | null,
  { source, bytes }: { readonly source: Source; readonly bytes: StoredBytes },
): Promise<boolean> {
  const permitted = [source.id, source.version, source.owner]
  const values = [...changeOf(from, key, owner), bytes.lastModified.toISOString(), ...permitted]
  return (await database.askAsAdmin(scope, move, values)).length > 0
}
