// The statements of `POST /object/list-v2`. Each returns at most $3 entries of the bucket $1 whose names begin with $2,
// after the entry $4, whose time is $5 in lists that are sorted by one. Texts may be empty.
import { JsonStatement } from '../../postgres/json-statement.ts'
import type { SortColumn, SortOrder } from './list-cursor.ts'

const entry = `
  'name', name, 'id', id, 'updated_at', storage.json_time(updated_at), 'created_at', storage.json_time(created_at),
  'last_accessed_at', storage.json_time(last_accessed_at), 'metadata', metadata`

/** With folders; $6 is the number of the segment that is the key of an entry. */
const delimited = (column: SortColumn, order: SortOrder): string =>
  column === 'name'
    ? `
  select json_build_object('key', split_part(name, '/', $6::integer), ${entry})
  from storage.list_objects_with_delimiter($1, $2, '/', $3::integer, '', $4, '${order}')
    with ordinality as entries (name, id, metadata, updated_at, created_at, last_accessed_at, place)
  where $5::text is not null
  order by place`
    : `
  select json_build_object('key', key, ${entry})
  from storage.search_by_timestamp($2, $1, $3::integer, $6::integer, $4, '${order}', '${column}', $5)
    with ordinality as entries (key, name, id, updated_at, created_at, last_accessed_at, metadata, place)
  order by place`

const inRange = `bucket_id = $1 and name collate "C" >= $2 and name collate "C" < storage.prefix_end($2)`

const byName = (order: SortOrder): string => `
  select json_build_object(${entry})
  from storage.objects
  where ${inRange} and name collate "C" ${order === 'asc' ? '> $4' : `< least(storage.prefix_end($2), nullif($4, ''))`}
    and $5::text is not null
  order by name collate "C" ${order} limit $3::integer`

const byTime = (column: Exclude<SortColumn, 'name'>, order: SortOrder): string => {
  const moment = `coalesce(date_trunc('milliseconds', ${column}), 'epoch')`
  return `
  select json_build_object(${entry})
  from storage.objects
  where ${inRange} and ($4 = '' or (${moment}, name collate "C") ${order === 'asc' ? '>' : '<'}
    (coalesce(nullif($5, '')::timestamptz, 'epoch'), $4))
  order by ${moment} ${order}, name collate "C" ${order} limit $3::integer`
}

const orders: readonly SortOrder[] = ['asc', 'desc']
const columns: readonly SortColumn[] = ['name', 'updated_at', 'created_at']

const keyOf = (isDelimited: boolean, column: SortColumn, order: SortOrder): string =>
  `${isDelimited ? 'folders' : 'objects'} ${column} ${order}`

const statements = new Map(
  [true, false].flatMap((isDelimited) =>
    columns.flatMap((column) =>
      orders.map((order) => {
        const text = isDelimited ? delimited(column, order) : column === 'name' ? byName(order) : byTime(column, order)
        return [keyOf(isDelimited, column, order), new JsonStatement(text, { access: 'read' })] as const
      }),
    ),
  ),
)

/** The statement for a list, which is prepared. */
export function pageStatement(isDelimited: boolean, column: SortColumn, order: SortOrder): JsonStatement {
  const statement = statements.get(keyOf(isDelimited, column, order))
  if (!statement) throw new TypeError(`no list is sorted by ${column} ${order}`)
  return statement
}
