// The audit of tables: which triggers a table needs, and which it has.
import { readFile } from 'node:fs/promises'
import { identifier } from '../../text/sql-text.ts'

/** A table that can be audited, or why it cannot. */
export type AuditedTable = {
  readonly schema: string
  readonly name: string
  /** `statement` for an ordinary table; `row` for a partitioned table and for tables with inheritance. */
  readonly level: 'statement' | 'row'
}

/** Names of the triggers of a table, in the order in which they run. */
const roleTrigger = 'rowhouse_audit_1_role'
const truncateTrigger = 'rowhouse_audit_2_truncate'
const rowTrigger = 'rowhouse_audit_2_row'
const statementTriggers = [
  ['rowhouse_audit_2_insert', 'insert', 'new table as new_rows'],
  ['rowhouse_audit_2_update', 'update', 'old table as old_rows new table as new_rows'],
  ['rowhouse_audit_2_delete', 'delete', 'old table as old_rows'],
] as const

const allTriggers = [roleTrigger, ...statementTriggers.map(([name]) => name), rowTrigger, truncateTrigger]

/** The triggers that an audited table of this level has. */
export const triggersOf = ({ level }: Pick<AuditedTable, 'level'>): readonly string[] =>
  level === 'row'
    ? [roleTrigger, rowTrigger, truncateTrigger]
    : [roleTrigger, ...statementTriggers.map(([name]) => name), truncateTrigger]

/** The file that creates the record of changes. */
const setup = new URL('../../../sql/audit/setup.sql', import.meta.url)

export const qualifiedName = ({ schema, name }: Pick<AuditedTable, 'schema' | 'name'>): string =>
  `${identifier(schema)}.${identifier(name)}`

/**
 * The migration that enables the audit of tables. It may run again.
 *
 * @param isSetUp whether the database has the record of changes, which is otherwise created first
 */
export async function enablingSql(tables: readonly AuditedTable[], isSetUp: boolean): Promise<string> {
  const parts = isSetUp ? [] : [await readFile(setup, 'utf8')]
  return [...parts, ...tables.map(triggersSql)].join('\n')
}

function triggersSql(table: AuditedTable): string {
  const name = qualifiedName(table)
  const role = (level: string): string =>
    `create or replace trigger ${roleTrigger} after insert or update or delete on ${name}\n` +
    `  for each ${level} execute function rowhouse_audit.note_role();`
  const triggers =
    table.level === 'row'
      ? [
          role('row'),
          `create or replace trigger ${rowTrigger} after insert or update or delete on ${name}\n` +
            `  for each row execute function rowhouse_audit.record_row();`,
        ]
      : [
          role('statement'),
          ...statementTriggers.map(
            ([trigger, command, rows]) =>
              `create or replace trigger ${trigger} after ${command} on ${name} referencing ${rows}\n` +
              `  for each statement execute function rowhouse_audit.record_statement();`,
          ),
        ]
  return [
    `-- Audit of ${table.schema}.${table.name}`.replaceAll(/[\n\r]/g, ' '),
    ...triggers,
    `create or replace trigger ${truncateTrigger} after truncate on ${name}\n` +
      `  for each statement execute function rowhouse_audit.record_statement();`,
    '-- Also for a session that suppresses triggers (session_replication_role).',
    `alter table ${name}`,
    `${triggersOf(table)
      .map((trigger) => `  enable always trigger ${trigger}`)
      .join(',\n')};`,
    '',
  ].join('\n')
}

/** The migration that ends the audit of tables. What was recorded stays. */
export const disablingSql = (tables: readonly AuditedTable[]): string =>
  tables
    .map((table) =>
      [
        `-- End of the audit of ${table.schema}.${table.name}`.replaceAll(/[\n\r]/g, ' '),
        ...allTriggers.map((trigger) => `drop trigger if exists ${trigger} on ${qualifiedName(table)};`),
        '',
      ].join('\n'),
    )
    .join('\n')
