// The rows of resumable uploads. Of requests that add bytes at the same position, the first whose row is written wins: no
// other locks are needed, in whatever process the requests are.
import { JsonStatement } from '../../../postgres/json-statement.ts'
import { leavesConnection, sqlState } from '../../../postgres/database-error.ts'
import type { AcceptedVersion } from '../bucket-rule.ts'
import type { ObjectKey } from '../object-store.ts'
import type { Replaceable } from '../object-writing.ts'
import type { StorageContext } from '../storage-context.ts'
import type { StorageScope } from '../storage-database.ts'
import { uuidOrNull } from '../object-owner.ts'

export type ResumableUpload = {
  /** A UUID. */
  readonly id: string
  readonly bucket: string
  readonly name: string
  readonly owner: string | null
  /** Bytes of the object; null if the client has not declared them. */
  readonly length: number | null
  /** Bytes that are durable. */
  readonly received: number
  /** As the client has sent it; null for a key without a value. */
  readonly metadata: Readonly<Record<string, string | null>>
  /** ISO 8601. */
  readonly createdAt: string
  readonly isComplete: boolean
}

export type Part = { readonly start: number; readonly size: number; readonly version: string }

/** What the row of the finished object contains. */
export type FinishedObject = {
  readonly owner: string | null
  readonly version: AcceptedVersion
  /** JSON text. */
  readonly metadata: string
  readonly userMetadata: string
  /** Whether an object of that name is replaced. */
  readonly isUpsert: boolean
  /** The only object that is replaced; undefined for any. */
  readonly replaceable: Replaceable | undefined
  /** Bytes. */
  readonly length: number
}

const insert = new JsonStatement(
  `insert into rowhouse.resumable_uploads (id, bucket_id, name, owner_id, length, metadata)
   values ($1::uuid, $2, $3, $4, $5::bigint, $6::jsonb) returning to_json(id)`,
  { access: 'write' },
)

const byId = new JsonStatement(
  `select json_build_object(
     'id', id, 'bucket', bucket_id, 'name', name, 'owner', owner_id, 'length', length, 'received', received,
     'metadata', metadata, 'createdAt', created_at, 'isComplete', completed_at is not null
   ) from rowhouse.resumable_uploads where id = $1::uuid`,
  { access: 'read', hasNoEffect: true },
)

const declare = new JsonStatement(
  `update rowhouse.resumable_uploads set length = $2::bigint
   where id = $1::uuid and length is null and completed_at is null returning to_json(id)`,
  { access: 'write' },
)

const addPart = new JsonStatement(
  `with upload as (
     update rowhouse.resumable_uploads set received = received + $3::bigint
     where id = $1::uuid and received = $2::bigint and completed_at is null returning id
   )
   insert into rowhouse.resumable_parts (upload_id, start, size, version)
   select id, $2::bigint, $3::bigint, $4 from upload returning to_json(start)`,
  { access: 'write' },
)

const partsOf = new JsonStatement(
  `select json_build_object('start', start, 'size', size, 'version', version)
   from rowhouse.resumable_parts where upload_id = $1::uuid order by start`,
  { access: 'read', hasNoEffect: true },
)

/**
 * Marks the upload as complete and writes the row of the object: both or neither. If there is an object that must not be
 * replaced, dividing by zero makes it neither.
 */
const finish = (isUpsert: boolean): JsonStatement =>
  new JsonStatement(
    `with upload as (
       update rowhouse.resumable_uploads set completed_at = now(), received = $10::bigint, length = $10::bigint
       where id = $8::uuid and received = $9::bigint and completed_at is null returning id
     ), previous as materialized (
       select version from storage.objects where bucket_id = $1 and name = $2 for update
     ), written as (
       insert into storage.objects (bucket_id, name, owner, owner_id, version, metadata, user_metadata)
       select $1, $2, $3::uuid, $4, $5, $6::jsonb, $7::jsonb from upload left join previous on true
       ${
         isUpsert
           ? `on conflict (bucket_id, name) do update set
              owner = coalesce(excluded.owner, objects.owner),
              owner_id = coalesce(excluded.owner_id, objects.owner_id),
              version = excluded.version, metadata = excluded.metadata, user_metadata = excluded.user_metadata
              where $11::uuid is null or objects.id = $11::uuid and objects.owner_id is not distinct from $12`
           : ''
       }
       returning id
     )
     select written.id, (select version from previous), 1 / (select count(*) from written)
     from upload left join written on true`,
    { access: 'write' },
  )
const finishNew = finish(false)
const finishUpsert = finish(true)

/** Whether an upload is not finished because there is another object than the one it may replace. */
export const hasOtherObject = (error: unknown): boolean => sqlState(error) === '22012'

const removeParts = new JsonStatement(
  'delete from rowhouse.resumable_parts where upload_id = $1::uuid returning to_json(version)',
  { access: 'write' },
)

const remove = new JsonStatement(
  `with parts as (
     delete from rowhouse.resumable_parts where upload_id = $1::uuid returning version
   ), upload as (
     delete from rowhouse.resumable_uploads where id = $1::uuid and completed_at is null returning id
   )
   select upload.id, parts.version from upload left join parts on true`,
  { access: 'write' },
)

/** Uploads that are removed at once. */
const expiredAtOnce = 100

const removeExpired = new JsonStatement(
  `with uploads as (
     delete from rowhouse.resumable_uploads where id in (
       select id from rowhouse.resumable_uploads where created_at < now() - $1::bigint * interval '1 millisecond'
       order by created_at limit ${expiredAtOnce} for update skip locked
     ) returning id, bucket_id, name
   ), parts as (
     delete from rowhouse.resumable_parts using uploads where upload_id = uploads.id returning upload_id, version
   )
   select uploads.id, uploads.bucket_id, uploads.name, parts.version
   from uploads left join parts on parts.upload_id = uploads.id`,
  { access: 'write' },
)

export class ResumableUploads {
  readonly #context: Pick<StorageContext, 'database' | 'store' | 'warn'>

  constructor(context: Pick<StorageContext, 'database' | 'store' | 'warn'>) {
    this.#context = context
  }

  async create(
    upload: Pick<ResumableUpload, 'id' | 'bucket' | 'name' | 'owner' | 'length' | 'metadata'>,
  ): Promise<void> {
    const { id, bucket, name, owner, length, metadata } = upload
    await this.#context.database.admin(insert, [id, bucket, name, owner, length, JSON.stringify(metadata)])
  }

  async find(id: string): Promise<ResumableUpload | undefined> {
    const [row] = await this.#context.database.admin(byId, [id])
    return row && (JSON.parse(row[0] ?? 'null') as ResumableUpload)
  }

  /** @returns whether the length was unknown before */
  async declareLength(id: string, length: number): Promise<boolean> {
    return (await this.#context.database.admin(declare, [id, length])).length > 0
  }

  /**
   * Adds a part whose bytes are durable. Removes the bytes if it is not added.
   *
   * @returns whether the part begins where the others end
   */
  async addPart(upload: ResumableUpload, { start, size, version }: Part): Promise<boolean> {
    try {
      const rows = await this.#context.database.admin(addPart, [upload.id, start, size, version])
      if (rows.length > 0) return true
    } catch (error) {
      // After a lost connection, the row may be there: the bytes are left to the sweep.
      if (leavesConnection(error)) this.removeBytes(upload, [version])
      throw error
    }
    this.removeBytes(upload, [version])
    return false
  }

  async parts({ id }: ResumableUpload): Promise<readonly Part[]> {
    const rows = await this.#context.database.admin(partsOf, [id])
    return rows.map(([text]) => JSON.parse(text ?? 'null') as Part)
  }

  /**
   * Completes an upload: from now on the object exists. The bytes of its version must be durable.
   *
   * @param received position up to which parts are stored; another request has added some if that has changed
   * @returns undefined if another request was faster; otherwise the version that was replaced, or null
   * @throws the error of the database, for an object that exists already, too: `hasOtherObject` if it is not replaced
   */
  async finish(
    upload: ResumableUpload,
    received: number,
    object: FinishedObject,
    scope: StorageScope,
  ): Promise<{ readonly previous: string | null } | undefined> {
    const { owner, version, metadata, userMetadata, isUpsert, length, replaceable } = object
    const values = [
      version.key.bucket,
      version.key.name,
      uuidOrNull(owner),
      owner,
      version.key.version,
      metadata,
      userMetadata,
      upload.id,
      received,
      length,
    ]
    const { askAsAdmin } = this.#context.database
    const [row] = isUpsert
      ? await askAsAdmin(scope, finishUpsert, [...values, replaceable?.id ?? null, replaceable?.owner ?? null])
      : await askAsAdmin(scope, finishNew, values)
    return row && { previous: row[1] ?? null }
  }

  /** Removes the parts of a completed upload. What fails is left to the sweeps. */
  async removeParts(upload: ResumableUpload): Promise<void> {
    const rows = await this.#context.database.admin(removeParts, [upload.id])
    this.removeBytes(
      upload,
      rows.map(([version]) => JSON.parse(version ?? '""') as string),
    )
  }

  /** @returns whether there was such an unfinished upload */
  async remove(upload: ResumableUpload): Promise<boolean> {
    const rows = await this.#context.database.admin(remove, [upload.id])
    this.removeBytes(
      upload,
      rows.map(([, version]) => version).filter((version) => version != null),
    )
    return rows.length > 0
  }

  /**
   * Removes uploads that began longer ago than that.
   *
   * @param age milliseconds
   * @returns how many
   */
  async removeExpired(age: number): Promise<number> {
    let removed = 0
    for (;;) {
      const rows = await this.#context.database.admin(removeExpired, [age])
      const keys = rows.flatMap(([, bucket, name, version]): ObjectKey[] =>
        version == null ? [] : [{ bucket: bucket ?? '', name: name ?? '', version }],
      )
      if (keys.length > 0) await this.#context.store.remove(keys)
      const count = new Set(rows.map(([id]) => id)).size
      removed += count
      if (count < expiredAtOnce) return removed
    }
  }

  /** Removes bytes of an upload that no row names. If that fails, they are left to the sweep. */
  removeBytes({ bucket, name }: ResumableUpload, versions: readonly string[]): void {
    if (versions.length === 0) return
    this.#context.store.remove(versions.map((version) => ({ bucket, name, version }))).catch((error: unknown) => {
      this.#context.warn(`parts of a resumable upload are left to the sweep of storage: ${String(error)}`)
    })
  }
}
