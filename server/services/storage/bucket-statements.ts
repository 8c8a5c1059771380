// Statements on buckets, under the role of the caller.
import { JsonStatement } from '../../postgres/json-statement.ts'
import { jsonTime } from './object-reading.ts'

const members = [
  `'id', id, 'name', name, 'owner', coalesce(owner::text, ''), 'public', public`,
  `'file_size_limit', file_size_limit, 'allowed_mime_types', allowed_mime_types`,
  `'created_at', ${jsonTime('created_at')}, 'updated_at', ${jsonTime('updated_at')}`,
].join(', ')

/** Elements of a JSON array as an array; null for null. */
const texts = (parameter: string): string =>
  `case when ${parameter}::json is not null then array(select json_array_elements_text(${parameter}::json)) end`

export const insertBucket = new JsonStatement(
  `insert into storage.buckets (id, name, owner, owner_id, public, file_size_limit, allowed_mime_types)
   values ($1, $2, $3::uuid, $4, $5::boolean, $6::bigint, ${texts('$7')})`,
  { access: 'write' },
)

export const bucketById = new JsonStatement(`select json_build_object(${members}) from storage.buckets where id = $1`, {
  access: 'read',
  hasNoEffect: true,
})

/** By which column, and in which direction. */
type Order = `${'id' | 'name' | 'created_at' | 'updated_at'} ${'asc' | 'desc'}`

const list = (order: Order): JsonStatement =>
  new JsonStatement(
    `select json_build_object(${members}, 'type', type) from storage.buckets
     where name ilike '%' || $1 || '%' order by ${order}, id limit $2::bigint offset $3::bigint`,
    { access: 'read', hasNoEffect: true },
  )

/** Lists buckets. Its values: what the name contains, with wildcards escaped; limit; offset. */
export const bucketLists: Readonly<Record<Order, JsonStatement>> = {
  'id asc': list('id asc'),
  'id desc': list('id desc'),
  'name asc': list('name asc'),
  'name desc': list('name desc'),
  'created_at asc': list('created_at asc'),
  'created_at desc': list('created_at desc'),
  'updated_at asc': list('updated_at asc'),
  'updated_at desc': list('updated_at desc'),
}

/** Its values: id; then for each column whether it changes, and its new value. */
export const updateBucket = new JsonStatement(
  `update storage.buckets set
     public = case when $2::boolean then $3::boolean else public end,
     file_size_limit = case when $4::boolean then $5::bigint else file_size_limit end,
     allowed_mime_types = case when $6::boolean then ${texts('$7')} else allowed_mime_types end
   where id = $1 returning to_json(id)`,
  { access: 'write' },
)

export const deleteBucket = new JsonStatement('delete from storage.buckets where id = $1 returning to_json(id)', {
  access: 'write',
})

/** The time by the clock of the database, which the times of objects are from; no row if there is no such bucket. */
export const timeOfBucket = new JsonStatement('select now()::text from storage.buckets where id = $1', {
  access: 'read',
  hasNoEffect: true,
})

/** Objects that are deleted at once. */
export const emptyingBatch = 1000

/** Deletes some objects that are not newer than a time. */
export const emptyBucket = new JsonStatement(
  `delete from storage.objects where id in (
     select id from storage.objects where bucket_id = $1 and created_at <= $2::timestamptz limit ${emptyingBatch}
   ) returning name, version`,
  { access: 'write' },
)
