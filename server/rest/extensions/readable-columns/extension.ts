import type { Extension } from '../../extension.ts'
import { ReadableColumns } from './readable-columns.ts'
import { readableColumnsStatement } from './readable-columns-sql.ts'
import { starredRelations } from './starred.ts'

/** `*` as the columns that the role may read (`db-select-readable-columns`). */
export const readableColumns: Extension = {
  parts: ({ dbSelectReadableColumns }) => (dbSelectReadableColumns ? { readableColumns: new ReadableColumns() } : {}),
  check: (plan, snapshot) => {
    if (!snapshot.readableColumns) return undefined
    const starred = starredRelations(plan)
    return starred.length > 0 ? readableColumnsStatement(starred) : undefined
  },
}
