// Rows of objects as clients get them.
import { jsonTime } from './object-reading.ts'

/** An SQL expression for a row of `storage.objects`: all columns that clients get, those of type text never null. */
export const objectJson = (row: string): string =>
  `json_build_object(
    'name', ${row}.name, 'bucket_id', ${row}.bucket_id, 'owner', coalesce(${row}.owner::text, ''),
    'owner_id', coalesce(${row}.owner_id, ''), 'version', coalesce(${row}.version, ''), 'id', ${row}.id,
    'updated_at', ${jsonTime(`${row}.updated_at`)}, 'created_at', ${jsonTime(`${row}.created_at`)},
    'last_accessed_at', ${jsonTime(`${row}.last_accessed_at`)}, 'metadata', ${row}.metadata,
    'user_metadata', ${row}.user_metadata
  )`
