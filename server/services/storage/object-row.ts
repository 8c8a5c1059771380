// Rows of objects as clients get them.

/** An SQL expression for a row of `storage.objects`: all columns that clients get, those of type text never null. */
export const objectJson = (row: string): string =>
  `json_build_object(
    'name', ${row}.name, 'bucket_id', ${row}.bucket_id, 'owner', coalesce(${row}.owner::text, ''),
    'owner_id', coalesce(${row}.owner_id, ''), 'version', coalesce(${row}.version, ''), 'id', ${row}.id,
    'updated_at', storage.json_time(${row}.updated_at), 'created_at', storage.json_time(${row}.created_at),
    'last_accessed_at', storage.json_time(${row}.last_accessed_at), 'metadata', ${row}.metadata,
    'user_metadata', ${row}.user_metadata
  )`

/** What `objectJson` returns. */
export type ObjectRow = {
  readonly name: string
  readonly bucket_id: string
  readonly owner: string
  readonly owner_id: string
  readonly version: string
  readonly id: string
  readonly metadata: Readonly<Record<string, unknown>> | null
  readonly user_metadata: Readonly<Record<string, unknown>> | null
}
