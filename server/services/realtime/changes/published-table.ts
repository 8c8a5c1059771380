// A table of the log, as a role sees it: how its rows are read, checked and shown.
import { isDeepStrictEqual } from 'node:util'
import { sqlState } from '../../../postgres/database-error.ts'
import type { Database } from '../../../postgres/database.ts'
import { JsonStatement } from '../../../postgres/json-statement.ts'
import type { LogRelation, LogTuple, LogValue } from '../../../postgres/replication/log-transaction.ts'
import type { SettingsStatement } from '../../../rest/database.ts'
import { arrayText } from '../../../rest/sql/parameter.ts'
import { describeRelation, type RelationAccess, type RelationColumn } from '../policies/relation-policies.ts'
import { checkStatement, lookupStatement } from '../policies/row-check.ts'
import type { Viewer } from './audience.ts'
import { answer, condition, mostValues, type Condition } from './filter.ts'
import type { Binding, FilterText } from './filter-text.ts'
import { columnForm, LoggedRow, type ColumnForm } from './logged-row.ts'
import { Projection } from './projection.ts'
import { ChangesRefused } from './row-changes.ts'

/** The conditions of a binding, and what it shows. */
export type CompiledBinding = { readonly conditions: readonly Condition[]; readonly projection: Projection }

const read = { access: 'read', hasNoEffect: true } as const

export class RoleTable {
  readonly access: RelationAccess
  readonly role: string
  readonly forms: readonly ColumnForm[]
  /** Whether the table has a primary key, and whether the role may select it. */
  readonly hasKey: boolean
  readonly hasReadableKey: boolean
  /** Returns the rows that the policies show; undefined if none is needed. */
  readonly check: JsonStatement | undefined
  /** Indexes of the columns that the policies mention. */
  readonly checkedColumns: readonly number[]
  /** Whether the conditions of policies apply to stored rows only: they mention the whole row, or system columns. */
  needsStoredRows = false
  readonly #database: Pick<Database, 'runWith'>
  readonly #lookups = new Map<string, JsonStatement>()
  readonly #projections = new Map<string, Projection>()
  readonly #compiled = new Map<string, Promise<CompiledBinding>>()
  readonly #inexact: ReadonlySet<number>

  constructor(access: RelationAccess, role: string, database: Pick<Database, 'runWith'>) {
    this.access = access
    this.role = role
    this.#database = database
    const { columns, select } = access
    const keys = columns.filter(({ isKey }) => isKey)
    this.hasKey = keys.length > 0
    this.hasReadableKey = keys.every(({ isReadable }) => isReadable)
    this.forms = columns.map(columnForm)
    this.#inexact = new Set(this.forms.flatMap(({ isInexact }, index) => (isInexact ? [index] : [])))
    this.check = select.kind === 'expression' ? checkStatement(access, select.sql) : undefined
    this.checkedColumns =
      select.kind === 'expression'
        ? columns.flatMap(({ number }, index) => (select.columns.includes(number) ? [index] : []))
        : []
  }

  /** Reads the values of columns, by their indexes, of the stored rows with the keys of others. */
  lookup(indexes: readonly number[]): JsonStatement {
    const key = indexes.join()
    let statement = this.#lookups.get(key)
    if (!statement) {
      const names = indexes.map((index) => this.access.columns[index]?.name ?? '')
      this.#lookups.set(key, (statement = lookupStatement(this.access, names)))
    }
    return statement
  }

  /** Reads rows of the log. Columns that are not in it are unknown. */
  rows(relation: LogRelation): (tuple: LogTuple, isKeyOnly: boolean) => LoggedRow {
    const places = this.access.columns.map(({ name }) => relation.columns.findIndex((column) => column.name === name))
    const isOfKey = places.map((place) => relation.columns[place]?.isKey === true)
    return (tuple, isKeyOnly) =>
      new LoggedRow(
        this.forms,
        places.map((place, index): LogValue => (isKeyOnly && isOfKey[index] !== true ? undefined : tuple[place])),
      )
  }

  /**
   * Prepares a binding.
   *
   * @throws ChangesRefused when a column or value does not fit; the error of the database
   */
  compile(binding: Binding, viewer: Viewer): Promise<CompiledBinding> {
    const { filters, select, hasTextNumbers } = binding
    const key = JSON.stringify([filters, select, hasTextNumbers])
    const kept = this.#compiled.get(key)
    if (kept) return kept
    const compiling = this.#compile(binding, viewer)
    if (this.#compiled.size >= mostCompiled) this.#compiled.clear()
    this.#compiled.set(key, compiling)
    compiling.catch((error: unknown) => {
      if (!(error instanceof ChangesRefused)) this.#compiled.delete(key)
    })
    return compiling
  }

  /** The JSON of values of a column, as `to_jsonb` writes it. */
  async toJson(
    index: number,
    viewer: Viewer,
    texts: readonly string[],
  ): Promise<readonly (string | null | undefined)[]> {
    const type = this.access.columns[index]?.typeText ?? 'text'
    const statement = new JsonStatement(
      `select pg_catalog.to_jsonb(given.value::${type})::text
        from pg_catalog.unnest($1::text[]) with ordinality as given(value, number) order by given.number`,
      read,
    )
    const rows = await this.#database.runWith(statement, viewer.settings, [arrayText(texts)])
    return rows.map(([json]) => json)
  }

  async #compile({ filters, select, hasTextNumbers }: Binding, viewer: Viewer): Promise<CompiledBinding> {
    const conditions = await Promise.all(filters.map((filter) => this.#condition(filter, viewer)))
    const { columns } = this.access
    const missing = select?.find((name) => !columns.some((column) => column.name === name && column.isReadable))
    if (missing !== undefined)
      throw new ChangesRefused(`ERROR P0001 (raise_exception) invalid column for select ${missing}`)
    const shown = columns.flatMap(({ name, isKey, isReadable }, index) =>
      isReadable && (select === null || isKey || select.includes(name)) ? [index] : [],
    )
    const key = `${hasTextNumbers} ${shown.join()}`
    let projection = this.#projections.get(key)
    if (!projection) {
      this.#projections.set(key, (projection = new Projection(this.access, shown, this.#inexact, hasTextNumbers)))
    }
    return { conditions, projection }
  }

  async #condition(filter: FilterText, viewer: Viewer): Promise<Condition> {
    const { columns } = this.access
    const index = columns.findIndex(({ name, isReadable }) => isReadable && name === filter.column)
    const column = columns[index]
    if (!column) throw refusal(`invalid column for filter ${filter.column}`)
    if (filter.operator === 'is') {
      requireKeyword(filter, column)
      return condition(filter, column, index, [])
    }
    const canonical = await canonicalValues(this.#database, viewer.settings, filter, column)
    const made = condition(filter, column, index, canonical)
    if (made.decide) return made
    // Fails now if the operator does not apply to the type, or the pattern is malformed.
    const sample = filter.operator === 'in' ? null : filter.value
    await answer(
      this.#database,
      viewer.settings,
      [{ question: made.question, values: [sample] }],
      (_question, error) => {
        throw patternRefusal(filter, column, error)
      },
    )
    return made
  }
}

/** Bindings whose conditions are kept, of a table and role. */
const mostCompiled = 20_000

const refusal = (message: string): ChangesRefused => new ChangesRefused(`ERROR P0001 (raise_exception) ${message}`)

function requireKeyword({ value }: FilterText, { typeText }: RelationColumn): void {
  if (!['null', 'true', 'false', 'unknown'].includes(value)) {
    throw refusal('invalid value for is filter: must be null, true, false, or unknown')
  }
  if (value !== 'null' && typeText !== 'boolean') {
    throw refusal(`is ${value} filter requires a boolean column, got ${typeText}`)
  }
}

const booleanType = 16
const patterns = ['like', 'ilike', 'match', 'imatch']
const plainText: readonly string[] = ['text', 'character varying']

function patternRefusal({ operator }: FilterText, { typeText }: RelationColumn, error: unknown): unknown {
  const state = sqlState(error)
  if (state === undefined) return error
  const message = error instanceof Error ? error.message : String(error)
  if (state === '2201B') return refusal(`invalid regular expression for ${operator} filter: ${message}`)
  if (patterns.includes(operator) && state === '42883') {
    return refusal(`operator ${operator} requires a text-compatible column type, got ${typeText}`)
  }
  return new ChangesRefused(`ERROR ${state} ${message}`)
}

/** The value as the type writes it; of `in`, each of the values. */
async function canonicalValues(
  database: Pick<Database, 'runWith'>,
  settings: SettingsStatement,
  filter: FilterText,
  column: RelationColumn,
): Promise<readonly (string | null)[]> {
  const { operator, value } = filter
  const { typeText } = column
  if (operator !== 'in' && plainText.includes(typeText)) return [value]
  // A pattern need not be a value of the type: `%` is no number.
  if (patterns.includes(operator)) return [value]
  const text =
    operator === 'in'
      ? `select v::text from pg_catalog.unnest($1::text::${typeText}[]) as v`
      : `select ($1::text::${typeText})::text`
  try {
    const rows = await database.runWith(new JsonStatement(text, read), settings, [value])
    if (rows.length > mostValues) throw refusal(`too many values for \`in\` filter. Maximum ${mostValues}`)
    // The cast to text spells booleans out.
    return rows.map(([found = null]) => (column.baseType === booleanType ? (found?.[0] ?? null) : found))
  } catch (error) {
    const state = sqlState(error)
    if (error instanceof ChangesRefused || state === undefined || !(error instanceof Error)) throw error
    throw new ChangesRefused(`ERROR ${state} ${error.message}`)
  }
}

/**
 * Milliseconds after which a description is read again: what a role inherits, and privileges of schemas, are not in the log. Those of
 * partitioned tables are not, either: their description is read for each transaction.
 */
const longestUse = 1000

type Kept = {
  readonly table: Promise<RoleTable | undefined>
  /** When the reading began. */
  readonly time: number
}

/** The tables that are in use, by role. */
export class TableCatalogue {
  readonly #database: Pick<Database, 'runWith'>
  readonly #tables = new Map<string, Kept>()
  /** The last description in the log, by oid. */
  readonly #relations = new Map<number, LogRelation>()

  constructor(database: Pick<Database, 'runWith'>) {
    this.#database = database
  }

  /**
   * The log has described a table: if it does so again, the table, its policies or its publication have changed.
   *
   * @returns whether it has been described before
   */
  noteRelation(relation: LogRelation): boolean {
    const before = this.#relations.get(relation.oid)
    if (before === relation) return false
    this.#relations.set(relation.oid, relation)
    this.#forgetTable(relation)
    return before !== undefined
  }

  #forgetTable({ schema, name }: Pick<LogRelation, 'schema' | 'name'>): void {
    const prefix = tableKey(schema, name, '')
    for (const key of this.#tables.keys()) if (key.startsWith(prefix)) this.#tables.delete(key)
  }

  /** Keeps a description that was just read. */
  keep(access: RelationAccess, role: string): RoleTable {
    const table = new RoleTable(access, role, this.#database)
    this.#tables.set(tableKey(access.schema, access.name, role), {
      table: Promise.resolve(table),
      time: performance.now(),
    })
    return table
  }

  /** Undefined if the table does not exist any more. */
  async get(relation: LogRelation, role: string): Promise<RoleTable | undefined> {
    const { schema, name, oid } = relation
    const key = tableKey(schema, name, role)
    const now = performance.now()
    const kept = this.#tables.get(key)
    const before = await kept?.table
    const isUsable = kept !== undefined && now - kept.time <= (before?.access.isPartitioned === true ? 0 : longestUse)
    const table = isUsable ? before : await this.#read(key, relation, role, before)
    return table?.access.oid === oid ? table : undefined
  }

  /** @param before the previous description: while it is the same, what was prepared for it stays */
  #read(
    key: string,
    { schema, name }: LogRelation,
    role: string,
    before: RoleTable | undefined,
  ): Promise<RoleTable | undefined> {
    const table = describeRelation(this.#database, role, schema, name).then((access) =>
      before && isDeepStrictEqual(access, before.access)
        ? before
        : access && new RoleTable(access, role, this.#database),
    )
    const kept: Kept = { table, time: performance.now() }
    this.#tables.set(key, kept)
    table.catch(() => {
      if (this.#tables.get(key) === kept) this.#tables.delete(key)
    })
    return table
  }

  /** Reads all descriptions again when they are needed. */
  forget(): void {
    this.#tables.clear()
  }
}

const tableKey = (schema: string, name: string, role: string): string => `${schema}\0${name}\0${role}`
