// The tables and views of the exposed schemas with their rows, for the matrix of who can do what.
import { readPart, type Column, type Index, type PolicyRow, type Relation } from '../../catalogue/description.ts'
import { columnsIn } from '../../catalogue/expression.ts'
import { readNodeTree } from '../../catalogue/node-tree.ts'
import { mayUseColumn } from '../../catalogue/rights.ts'
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
const sampleLimit = 20

/** The bits of `Writability`. Updates and deletes are each for rows that are found by their key. */
const bits = { insert: 8, updateAndDelete: 20 } as const

/** Reads the relations of schemas in the order of their names, each with its first rows. */
export async function readRelations(
  query: RunOwnerQuery,
  schemas: readonly string[],
): Promise<readonly ProbedRelation[]> {
  const roles = (await readPart(query, 'roles', [])).filter(({ name }) => !name.startsWith('pg_'))
  const all = await readPart(query, 'relations', [])
  const indexes = await readPart(query, 'indexes')
  const policies = await readPart(query, 'policies')
  const writability = await readPart(query, 'writability', schemas)
  const eventsOf = new Map(writability.map(({ relation, events }) => [relation, events]))
  const relations: ProbedRelation[] = []
  for (const relation of all) {
    const { oid, schema, name, kind, columns } = relation
    if (!schemas.includes(schema) || relation.isPartition) continue
    const isView = kind === 'v' || kind === 'm'
    const primaryKey = primaryKeyOf(relation, indexes)
    const policyColumns = columnsOfPolicies(relation, policies)
    const events = eventsOf.get(oid) ?? 0
    const isKeyed = primaryKey.length > 0 && !isView
    const commands = matrixCommands.filter((command) => {
      if (command === 'select') return true
      if (command === 'move' && policyColumns.length === 0) return false
      const wanted = command === 'insert' ? bits.insert : bits.updateAndDelete
      return isKeyed && (events & wanted) === wanted
    })
    const writable = (privilege: 'insert' | 'update'): ProbedRelation['insertable'] =>
      Object.fromEntries(
        roles
          .map((role) => {
            const allowed = columns.filter(
              (it) => !it.isGenerated && mayUseColumn(role, relation, privilege, it.number),
            )
            return [role.name, namesOf(allowed)] as const
          })
          .filter(([, names]) => names.length > 0),
      )
    const generated = namesOf(columns.filter(({ isGenerated }) => isGenerated))
    relations.push({
      schema,
      name,
      table: `${schema}.${name}`,
      isView,
      primaryKey,
      policyColumns,
      commands,
      insertable: writable('insert'),
      updatable: writable('update'),
      rows: isKeyed ? await readRows(query, { schema, name, primaryKey }, generated) : [],
    })
  }
  return relations
}

const namesOf = (columns: readonly Column[]): string[] => columns.map(({ name }) => name)

/** Names of the columns of the primary key, in its order. */
function primaryKeyOf({ oid, columns }: Relation, indexes: readonly Index[]): string[] {
  const key = indexes.find(({ relation, isPrimary }) => relation === oid && isPrimary)?.keys ?? []
  return key.flatMap((number) => columns.find((column) => column.number === number)?.name ?? [])
}

/** Columns that a policy of the table mentions. */
function columnsOfPolicies({ oid, columns }: Relation, policies: readonly PolicyRow[]): string[] {
  const trees = policies.flatMap(({ relation, usingTree, checkTree }) =>
    relation === oid ? [usingTree, checkTree].filter((tree) => tree !== null) : [],
  )
  const mentioned = new Set(trees.flatMap((tree) => [...columnsIn(readNodeTree(tree))]))
  return namesOf(columns.filter(({ number, isGenerated }) => mentioned.has(number) && !isGenerated)).sort()
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
