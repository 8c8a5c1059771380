// A change that is evaluated, with its rows.
import type { LogChange, LogRelation, LogTuple } from '../../../postgres/replication/log-transaction.ts'
import type { ChangeKind } from './filter-text.ts'
import type { LoggedRow } from './logged-row.ts'
import type { RoleTable } from './published-table.ts'
import type { ChangeEvent } from './row-changes.ts'

/** A change of the table, with what its event says of it. */
export type EvaluatedChange = { readonly change: LogChange; readonly position: string; readonly time: string }

export type ChangeItem = EvaluatedChange & {
  readonly kind: ChangeKind
  /** The new row; of DELETE, the old one. */
  readonly row: LoggedRow
  /** The old row of an update, if all of it is known. */
  readonly fullOld: LoggedRow | undefined
  /** What the log has of the old row. */
  readonly old: LoggedRow | undefined
  readonly events: Map<string, ChangeEvent>
}

const kinds = { insert: 'INSERT', update: 'UPDATE', delete: 'DELETE' } as const

/** The changes with their rows, as a role knows the table. */
export function itemsOf(table: RoleTable, relation: LogRelation, changes: readonly EvaluatedChange[]): ChangeItem[] {
  const { replicaIdentity } = relation
  const rowOf = table.rows(relation)
  return changes.map((given): ChangeItem => {
    const { change } = given
    const isKeyOnly = replicaIdentity !== 'full'
    const old = oldRowOf(change, isKeyOnly, rowOf)
    const fullOld = change.kind === 'update' && change.old && !isKeyOnly ? old : undefined
    const logged = change.kind === 'delete' ? rowOf(change.old, isKeyOnly) : rowOf(change.row, false)
    // A large value that has not changed is in the old row, if all of that is logged.
    const row = fullOld ? logged.completed(fullOld.values) : logged
    return { ...given, kind: kinds[change.kind], row, old, fullOld, events: new Map() }
  })
}

/** What the log has of the old row. It has nothing of an update that leaves the key as it is. */
function oldRowOf(
  change: LogChange,
  isKeyOnly: boolean,
  rowOf: (tuple: LogTuple, isKeyOnly: boolean) => LoggedRow,
): LoggedRow | undefined {
  if (change.kind === 'insert') return undefined
  if (change.old) return rowOf(change.old, isKeyOnly)
  return change.kind === 'update' ? rowOf(change.row, true) : undefined
}

/** All rows of a change. */
export const rowsOf = ({ row, old }: ChangeItem): LoggedRow[] => (old ? [row, old] : [row])
