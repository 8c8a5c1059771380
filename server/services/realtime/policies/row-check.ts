// Runs the conditions of policies on rows that need not be in the table: those of the log, and hypothetical ones.
import type { Database } from '../../../postgres/database.ts'
import { JsonStatement, type TextRow } from '../../../postgres/json-statement.ts'
import type { Identity } from '../../../identity/identity.ts'
import {
  identityValues,
  resetRole,
  set,
  setIdentity,
  setReadOnly,
  SettingsText,
} from '../../../identity/settings-text.ts'
import type { SettingsStatement } from '../../../rest/database.ts'
import { identifier, qualified } from '../../../rest/sql/identifier.ts'
import { namedSession, requireSession, sessionValues } from '../../../rest/sql/session.ts'
import type { RelationAccess } from './relation-policies.ts'

/** The values of a row as text, in the order of the relation's columns. */
export type RowTexts = readonly (string | null | undefined)[]

type Relation = Pick<RelationAccess, 'schema' | 'name' | 'columns'>

/** A name that no column has, for the number of a row. */
function ordinalOf({ columns }: Relation): string {
  let name = 'rowhouse row'
  while (columns.some((column) => column.name === name)) name += '_'
  return identifier(name)
}

/**
 * The rows of the first parameter as a relation with the name of the table, so that conditions apply as they are. The role needs no
 * privilege on the table for that, except USAGE of its schema.
 */
export function rowsOf(relation: Relation, alias: string = identifier(relation.name)): string {
  const columns = relation.columns.map(({ name }) => identifier(name))
  return `pg_catalog.unnest($1::${qualified(relation)}[]) with ordinality as ${alias}(${[...columns, ordinalOf(relation)].join()})`
}

const read = { access: 'read', hasNoEffect: true } as const

/** Returns the numbers of the rows, from 1 on, that the condition is true for. */
export const checkStatement = (relation: Relation, condition: string): JsonStatement =>
  new JsonStatement(`select ${ordinalOf(relation)}::text from ${rowsOf(relation)} where ${condition}`, read)

/** Returns the number of each row, and whether each of the conditions is true for it. */
export const decisionStatement = (relation: Relation, conditions: readonly string[]): JsonStatement =>
  new JsonStatement(
    `select ${[`${ordinalOf(relation)}::text`, ...conditions.map((condition) => `coalesce((${condition}), false)`)].join()} from ${rowsOf(relation)}`,
    read,
  )

/**
 * Reads columns of the rows that the caller sees in the table with the keys of the given ones.
 *
 * @param names the columns, whose values follow the number of the row
 */
export function lookupStatement(relation: Relation, names: readonly string[]): JsonStatement {
  const keys = relation.columns.filter(({ isKey }) => isKey).map(({ name }) => identifier(name))
  const [given, found] = ['"rowhouse given"', '"rowhouse found"']
  return new JsonStatement(
    `select ${[`${given}.${ordinalOf(relation)}::text`, ...names.map((name) => `${found}.${identifier(name)}`)].join()}
      from ${rowsOf(relation, given)}
      join ${qualified(relation)} as ${found} on ${keys.map((key) => `${found}.${key} = ${given}.${key}`).join(' and ')}`,
    read,
  )
}

/** The text of a row in an array: quotes and backslashes are escaped for the row, and then for the array. */
export const rowText = (row: RowTexts): string => `"(${row.map(fieldText).join()})"`

/** The text of an array of rows. */
export const rowsText = (rows: readonly string[]): string => `{${rows.join()}}`

const simple = /^[\w.:+-]+$/

function fieldText(value: string | null | undefined): string {
  if (value === null || value === undefined) return ''
  if (simple.test(value)) return value
  return `\\"${value.replace(/\\/g, '\\\\\\\\').replace(/"/g, '\\\\\\"')}\\"`
}

const text = (checksSession: boolean, more: readonly string[]): SettingsText =>
  new SettingsText([
    setReadOnly,
    resetRole,
    ...(checksSession ? [requireSession] : []),
    ...setIdentity,
    set('statement_timeout'),
    ...more.map(set),
  ])

/** A policy that takes longer must not hold up others. */
const policyTime = '5s'
/** The same for the filters of clients, which may name patterns that take forever. */
export const filterTime = '500ms'

/** Writes the settings for statements under a role and its claims. */
export class CallerSettings {
  readonly #plain: SettingsText
  readonly #checking: SettingsText
  readonly #checksSessions: () => boolean
  readonly #timeLimit: string

  /**
   * @param checksSessions see `Snapshot`, read at each use
   * @param more names of further settings
   * @param timeLimit of a statement
   */
  constructor(checksSessions: () => boolean, more: readonly string[] = [], timeLimit = policyTime) {
    this.#timeLimit = timeLimit
    this.#plain = text(false, more)
    this.#checking = text(true, more)
    this.#checksSessions = checksSessions
  }

  /**
   * The statement fails with PGRST303 when the session of the identity has ended.
   *
   * @param isChecked whether the session is checked
   */
  of(identity: Identity, values: readonly string[] = [], isChecked = true): SettingsStatement {
    const session = isChecked && this.#checksSessions() ? namedSession(identity) : undefined
    const texts = session ? this.#checking : this.#plain
    return {
      text: texts.plain,
      values: [...sessionValues(session), ...identityValues(identity), this.#timeLimit, ...values],
      hasNoEffect: true,
      texts,
      checksSession: session !== undefined,
    }
  }
}

/** Runs statements that have rows as their parameter. */
export type RowDatabase = Pick<Database, 'runWith'>

export const runOnRows = (
  database: RowDatabase,
  statement: JsonStatement,
  settings: SettingsStatement,
  rows: readonly RowTexts[],
): Promise<TextRow[]> => database.runWith(statement, settings, [rowsText(rows.map(rowText))])
