// The plan of a statement that has run, with the parameters, role and claims of its request. Nothing is executed.
import type { Caller, Database, PipelineStatement, RestTransaction, SettingsStatement } from '../../rest/database.ts'

const explainable = /^\s*(select|with|insert|update|delete|merge|values)\b/i

/** Whether PostgreSQL can plan a statement. */
export const isExplainable = ({ text }: PipelineStatement): boolean => explainable.test(text)

export const isSettings = (statement: PipelineStatement): statement is SettingsStatement => 'checksSession' in statement

/** Whether a statement is neither the settings of a transaction nor one of its commands. */
export const isOwn = (statement: PipelineStatement): boolean =>
  !isSettings(statement) && !(statement.isUnprepared === true && statement.hasNoEffect === true)

/**
 * Plans a statement once more, in a read-only transaction that is rolled back.
 *
 * @param settings of its transaction
 * @returns what EXPLAIN (FORMAT JSON) returns
 */
export async function planOf(
  database: Pick<Database, 'run'>,
  settings: SettingsStatement,
  { text, values }: PipelineStatement,
): Promise<unknown> {
  const transaction: RestTransaction = {
    settings,
    before: [planTimeout],
    statements: [{ text: `EXPLAIN (FORMAT JSON) ${text}`, values, isUnprepared: true, hasNoEffect: true }],
    isolation: null,
    readOnly: true,
    hasNoEffect: true,
    rollback: true,
    caller: unobserved,
    checkResult: undefined,
    stats: undefined,
  }
  const { rows } = await database.run(transaction, { prepare: false, sharing: 'none' })
  return JSON.parse(rows[0]?.[0]?.[0]?.toString() ?? 'null')
}

/** Limits planning, which may evaluate immutable functions of users. It comes after the timeout of the role. */
const planTimeout: PipelineStatement = {
  text: "select pg_catalog.set_config('statement_timeout', '1000', true)",
  values: [],
  isUnprepared: true,
  hasNoEffect: true,
}

/** Plans are for the log and the console, which do not show the statements that determine them. */
const unobserved: Caller = {
  isGone: false,
  onGone: () => () => undefined,
  observer: {
    timesStatements: false,
    note: undefined,
    connectionTaken: () => undefined,
    statementEnded: () => undefined,
    roundTripEnded: () => undefined,
  },
}
