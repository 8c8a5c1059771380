// The tables and views of the exposed schemas with their rows, for the matrix of who can do what.
import { decodeRow, introspectionQuery } from '../../catalogue/introspection.ts'
import type { RunOwnerQuery } from './callers.ts'
import { matrixCommands, type MatrixCommand } from './test-file.ts'

/** A row of the database after the fixture. */
export type SampleRow = {
  /** The values of the primary key as text, joined by `, `; the same in every run unless the fixture is random. */
  readonly key: string
  /** The same as texts, in the order of `primaryKey`. */
  readonly keyValues: readonly string[]
  /** Values by column, as JSON, without generated columns. */
  readonly values: Readonly<Record<string, unknown>>
}

export type ProbedRelation = {
  readonly schema: string
  readonly name: string
  /** `public.tasks` */
  readonly table: string
  readonly isView: boolean
  /** Empty: its rows can only be counted. */
  readonly primaryKey: readonly string[]
  /** Columns that policies of the table compare with something. */
  readonly policyColumns: readonly string[]
  readonly commands: readonly MatrixCommand[]
  /** Columns that a role may insert or update, by role. Roles without any are left out. */
  readonly insertable: Readonly<Record<string, readonly string[]>>
  readonly updatable: Readonly<Record<string, readonly string[]>>
  readonly rows: readonly SampleRow[]
}

/** Rows of a table that the matrix tries to write. */
export const sampleLimit = 20

type RelationRow = Omit<ProbedRelation, 'table' | 'rows' | 'commands'> & {
  readonly generated: readonly string[]
  readonly isInsertable: boolean
  readonly isUpdatable: boolean
}

/** Reads the relations of schemas in the order of their names, each with its first rows. */
export async function readRelations(
  query: RunOwnerQuery,
  schemas: readonly string[],
): Promise<readonly ProbedRelation[]> {
  const { text } = introspectionQuery('policy-test-relations')
  const rows = await query(text, [JSON.stringify(schemas)])
  const relations: ProbedRelation[] = []
  for (const row of rows) {
    const { generated, isInsertable, isUpdatable, ...found } = decodeRow<RelationRow>(row)
    const isKeyed = found.primaryKey.length > 0 && !found.isView
    const commands = matrixCommands.filter((command) => {
      if (command === 'select') return true
      if (command === 'move' && found.policyColumns.length === 0) return false
      return isKeyed && (command === 'insert' ? isInsertable : isUpdatable)
    })
    const table = `${found.schema}.${found.name}`
    const sample = isKeyed ? await readRows(query, found, generated) : []
    relations.push({ ...found, table, commands, rows: sample })
  }
  return relations
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

async function readRows(
  query: RunOwnerQuery,
  { schema, name, primaryKey }: Pick<ProbedRelation, 'schema' | 'name' | 'primaryKey'>,
  generated: readonly string[],
): Promise<readonly SampleRow[]> {
  const order = primaryKey.map(quoted).join(', ')
  const rows = await query(
    `select to_jsonb(sample) - $1::text[] as values, array(select to_jsonb(sample) ->> column_name from unnest($2::text[]) as column_name) as key
    from ${quoted(schema)}.${quoted(name)} as sample order by ${order} limit ${sampleLimit}`,
    [generated, primaryKey],
  )
  return rows.map(({ key, values }) => ({
    key: keyText(key as string[]),
    keyValues: key as string[],
    values: values as SampleRow['values'],
  }))
}

/** The key of a row as it stands in a matrix. */
export const keyText = (values: readonly unknown[]): string =>
  values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value))).join(', ')
