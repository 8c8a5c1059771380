// Statements on an empty copy of a table, for trials: on the table itself they would work on all rows, and lock it meanwhile.
import type { Relation } from '../../catalogue/description.ts'

const copy = 'pg_temp.rowhouse_trial'

/** @param statement the statement on a table of the given name */
export const onCopy = ({ quoted }: Relation, statement: (table: string) => string): string =>
  [
    `create temporary table rowhouse_trial (like ${quoted} including defaults including generated);`,
    statement(copy),
    `drop table ${copy};`,
  ].join('\n')
