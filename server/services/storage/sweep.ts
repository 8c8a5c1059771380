// Removes bytes that no row names: of uploads that were interrupted, and of objects that SQL has deleted. Parts of
// unfinished resumable uploads are kept until those expire.
import { repeat } from '../../common/repeated-task.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { ListedBytes } from './object-store.ts'
import type { StorageContext } from './storage-context.ts'

/** Files that are looked up at once. */
const batchSize = 1000

const named = new JsonStatement(
  `with versions as materialized (select array(select json_array_elements_text($1::json)) as listed)
   select bucket_id, name, version from storage.objects where version = any ((select listed from versions)::text[])
   union all
   select bucket_id, name, version from rowhouse.resumable_parts
   join rowhouse.resumable_uploads on resumable_uploads.id = upload_id
   where version = any ((select listed from versions)::text[])`,
  { access: 'read', hasNoEffect: true },
)

/** Also differs for a copy of the database on another server. */
const identity = new JsonStatement(
  `select system_identifier || '/' || oid from pg_catalog.pg_control_system(), pg_catalog.pg_database
   where datname = current_database()`,
  { access: 'read', hasNoEffect: true },
)

type SweepContext = Pick<StorageContext, 'store' | 'database' | 'warn'>

/**
 * Removes bytes that were written before a time and that no row names, and the remnants of interrupted uploads.
 *
 * @param before must be so long ago that no upload can still be about to write its row
 * @returns the number of removed versions
 */
export async function sweep(context: SweepContext, before: Date): Promise<number> {
  const { store, database, warn } = context
  const [row] = await database.admin(identity, [])
  if (!(await store.claim(row?.[0] ?? ''))) {
    warn(
      'the store of the storage service belongs to another database, so orphaned bytes are not removed; if it was moved, delete the file `database` in the folder',
    )
    return 0
  }
  await store.removeRemnants(before)
  let removed = 0
  let batch: ListedBytes[] = []
  for await (const bytes of store.list()) {
    if (bytes.lastModified >= before) continue
    batch.push(bytes)
    if (batch.length < batchSize) continue
    removed += await removeOrphans(context, batch)
    batch = []
  }
  return removed + (await removeOrphans(context, batch))
}

async function removeOrphans(
  { store, database }: Pick<SweepContext, 'store' | 'database'>,
  batch: readonly ListedBytes[],
): Promise<number> {
  if (batch.length === 0) return 0
  const rows = await database.admin(named, [JSON.stringify(batch.map(({ version }) => version))])
  const kept = new Set(
    rows.map(([bucket, name, version]) =>
      store.idOf({ bucket: bucket ?? '', name: name ?? '', version: version ?? '' }),
    ),
  )
  const orphans = batch.filter(({ id }) => !kept.has(id)).map(({ id }) => id)
  await store.removeListed(orphans)
  return orphans.length
}

/** Milliseconds between two sweeps, and the age from which bytes without a row are removed. */
const interval = 3_600_000

/**
 * Sweeps once an hour, the first time within the first hour.
 *
 * @returns stops sweeping, and resolves when the sweep in progress, if any, has ended
 */
export const startSweeping = (context: SweepContext & Pick<StorageContext, 'onError'>): (() => Promise<void>) =>
  repeat({
    run: () => sweep(context, new Date(Date.now() - interval)),
    // Several processes that start together do not sweep together.
    pause: (isFirst) => (isFirst ? Math.random() * interval : interval),
    onError: context.onError,
  })
