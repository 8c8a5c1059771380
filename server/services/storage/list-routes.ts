// Lists of the objects in a bucket, by folder: by offset, and by cursor.
import { dto } from '../../http/service-response.ts'
import { JsonStatement } from '../../postgres/json-statement.ts'
import { decodeCursor, encodeCursor, type ListCursor, type SortColumn, type SortOrder } from './list-cursor.ts'
import { pageStatement } from './list-statements.ts'
import { requireBucketName } from './names.ts'
import { defineStorageRoute, type StorageRoute } from './dialect.ts'

/** The body of `/object/list`. */
type ListBody = {
  readonly prefix: string
  readonly limit?: number
  readonly offset?: number
  readonly search?: string
  readonly sortBy?: { readonly column: SortColumn | 'last_accessed_at'; readonly order?: SortOrder }
}

/** The body of `/object/list-v2`. */
type ListPageBody = {
  readonly prefix?: string
  readonly limit?: number
  readonly cursor?: string
  readonly with_delimiter?: boolean
  readonly sortBy?: { readonly column: SortColumn; readonly order?: SortOrder }
}

/** An entry of a page. */
type Entry = {
  readonly name: string
  /** Null for a folder. */
  readonly id: string | null
  readonly updated_at: string | null
  readonly created_at: string | null
}

const search = new JsonStatement(
  `select coalesce(json_agg(json_build_object(
     'name', name, 'id', id, 'updated_at', storage.json_time(updated_at), 'created_at', storage.json_time(created_at),
     'last_accessed_at', storage.json_time(last_accessed_at), 'metadata', metadata
   ) order by place), '[]')
   from storage.search($1, $2, $3::integer, $4::integer, $5::integer, $6, $7, $8) with ordinality
     as entries (name, id, updated_at, created_at, last_accessed_at, metadata, place)`,
  { access: 'read' },
)

/** The largest number of entries in a list: what the function returns at most, and of a page. */
const [longestList, longestPage] = [1500, 1000]
const largestInteger = 2 ** 31 - 1

const delimiter = '/'

export const listRoutes: readonly StorageRoute[] = [
  defineStorageRoute<ListBody>({
    method: 'post',
    path: '/object/list/{bucket}',
    id: 'listObjects',
    summary: 'List the objects and folders in a folder',
    description:
      'Names are relative to the folder. Folders have null in all other fields. A search finds names that begin with it, in ' +
      'upper or lower case. A bucket that does not exist, or that you may not see, is empty.',
    caller: 'required',
    operation: 'storage.object.list',
    body: dto('StorageListDto'),
    success: [200, { description: 'The objects and folders.', schema: { type: 'array', items: { type: 'object' } } }],
    handler: async ({ context, scope, path, body }) => {
      const { bucket = '' } = path
      requireBucketName(bucket)
      const {
        prefix,
        limit = 100,
        offset = 0,
        search: text = '',
        sortBy: { column = 'name', order = 'asc' } = {},
      } = body
      const folder = prefix === '' || prefix.endsWith(delimiter) ? prefix : prefix + delimiter
      const [row] = await context.database.askRows(scope, search, [
        folder,
        bucket,
        Math.min(limit, longestList),
        (folder + text).split(delimiter).length,
        Math.min(offset, largestInteger),
        text,
        column,
        order,
      ])
      return { text: row?.[0] ?? '[]' }
    },
  }),
  defineStorageRoute<ListPageBody>({
    method: 'post',
    path: '/object/list-v2/{bucket}',
    id: 'listObjectPage',
    summary: 'List the objects whose names begin with a prefix, page by page',
    description:
      'Names are complete. With a delimiter, objects in folders are replaced with the folders. Send the cursor of a page to ' +
      'get the next one.',
    caller: 'required',
    operation: 'storage.object.list_v2',
    body: dto('StorageListPageDto'),
    success: [200, { description: 'The page.', schema: { type: 'object' } }],
    errors: { 400: 'the cursor is not one of a page' },
    handler: async ({ context, scope, path, body }) => {
      const { bucket = '' } = path
      requireBucketName(bucket)
      const { prefix = '', limit = longestPage, with_delimiter: isDelimited = false, sortBy } = body
      const cursor = body.cursor === undefined || body.cursor === '' ? undefined : decodeCursor(body.cursor)
      const column = cursor?.column ?? sortBy?.column
      const order = cursor?.order ?? sortBy?.order
      const size = Math.min(limit, longestPage)
      const entries = (await context.database.ask(scope, pageStatement(isDelimited, column ?? 'name', order ?? 'asc'), [
        bucket,
        prefix,
        size + 1,
        cursor?.after ?? '',
        cursor?.moment ?? '',
        ...(isDelimited ? [prefix === '' ? 1 : prefix.split(delimiter).length] : []),
      ])) as Entry[]
      const page = entries.slice(0, size)
      const isFolder = ({ id }: Entry): boolean => id === null
      return {
        json: {
          hasNext: entries.length > size,
          ...(entries.length > size ? nextOf(page.at(-1), column, order) : {}),
          folders: page.filter(isFolder).map((entry) => ({ ...entry, name: entry.name + delimiter })),
          objects: page.filter((entry) => !isFolder(entry)),
        },
      }
    },
  }),
]

/** How to get the page after an entry. */
function nextOf(last: Entry | undefined, column: SortColumn | undefined, order: SortOrder | undefined): object {
  if (!last) return {}
  const cursor: ListCursor = {
    after: last.id === null ? last.name + delimiter : last.name,
    order,
    column,
    moment: column === undefined || column === 'name' ? undefined : (last[column] ?? undefined),
  }
  return { nextCursor: encodeCursor(cursor), nextCursorKey: last.name }
}
