// What the policies of a relation say about rows, with the claims of the caller.
import { identifier } from '../../text/sql-text.ts'
import {
  columnsIn,
  lookupsOf,
  parseCondition,
  testsOf,
  truthOf,
  withValues,
  type Lookup,
} from '../../catalogue/printed-condition.ts'
import type { DeniedRow, ExplainedPolicy } from './explanation.ts'
import type { Command } from './needs.ts'
import type { PolicyRow, RelationRow } from './relations.ts'
import type { Stage } from './stage.ts'

/** The policies for one command, which decide together: one permissive must be true, and all restrictive ones. */
export type PolicyGroup = { readonly command: Command; readonly clause: 'using' | 'with check' }

/** The expression of a policy in a group. Without WITH CHECK, USING also applies to new rows. */
const expressionOf = ({ using, check }: PolicyRow, clause: PolicyGroup['clause']): string =>
  (clause === 'using' ? using : (check ?? using)) ?? 'true'

const policiesOf = (policies: readonly PolicyRow[], { command }: PolicyGroup): readonly PolicyRow[] =>
  policies.filter((policy) => policy.command === 'all' || policy.command === command)

/** Values of look-ups by their SQL: texts for SQL. */
export type LookupValues = ReadonlyMap<string, string>

/** More values of a list are not shown. */
const maxValues = 12

/**
 * Evaluates the look-ups in the expressions of policies as the caller.
 *
 * @param mayEvaluate whether the caller of the explanation may know the value
 */
export async function evaluateLookups(
  stage: Stage,
  policies: readonly PolicyRow[],
  mayEvaluate: (lookup: Lookup) => boolean,
): Promise<LookupValues> {
  const values = new Map<string, string>()
  const expressions = policies.flatMap(({ using, check }) => [using, check].filter((it) => it !== null))
  for (const lookup of expressions.flatMap(lookupsOf)) {
    const key = keyOf(lookup)
    if (values.has(key) || !mayEvaluate(lookup)) continue
    const source = lookup.isQuery ? lookup.text : `select ${lookup.text}`
    const found = await stage.attempt(() =>
      stage.asCaller(() =>
        stage.query(`select value::text as value from (${source}) as looked_up (value) limit ${maxValues + 1}`),
      ),
    )
    if (found)
      values.set(
        key,
        valueText(
          found.map(({ value }) => value as string | null),
          lookup.isList,
        ),
      )
  }
  return values
}

const keyOf = ({ text, isList }: Lookup): string => `${isList} ${text}`

function valueText(values: readonly (string | null)[], isList: boolean): string {
  const literal = (value: string | null): string =>
    value === null ? 'NULL' : /^(?:-?\d{1,15}|true|false)$/.test(value) ? value : `'${value.replaceAll("'", "''")}'`
  if (!isList && values.length === 1) return literal(values[0] ?? null)
  if (!isList && values.length === 0) return 'NULL'
  const shown = values.slice(0, maxValues).map(literal)
  return `(${values.length === 0 ? 'no rows' : [...shown, ...(values.length > maxValues ? ['…'] : [])].join(', ')})`
}

/** An expression with the values of its look-ups. */
export const resolved = (expression: string, values: LookupValues): string =>
  withValues(expression, (lookup) => values.get(keyOf(lookup)))

/** The results of tests for a row; null for unknown, and for a test that failed. */
export type TestResults = ReadonlyMap<string, boolean | null>

/**
 * Evaluates the tests of policies as the caller, for rows of their relation.
 *
 * @param rows the rows as JSON texts
 */
export async function testRows(
  stage: Stage,
  relation: RelationRow,
  policies: readonly PolicyRow[],
  rows: readonly string[],
): Promise<TestResults[]> {
  const expressions = policies.flatMap(({ using, check }) => [using, check].filter((it) => it !== null))
  const tests = [...new Set(['true', ...expressions.flatMap((it) => testsOf(parseCondition(it)))])]
  const run = async (some: readonly string[]): Promise<(boolean | null)[][] | undefined> => {
    const found = await stage.attempt(() =>
      stage.asCaller(() => stage.query(testSql(relation, some), [`[${rows.join(',')}]`])),
    )
    return found?.map(({ results }) => JSON.parse(String(results)) as (boolean | null)[])
  }
  const together = await run(tests)
  const columns = together
    ? tests.map((_, index) => together.map((results) => results[index] ?? null))
    : // A test may fail that the expression would not have reached. The others still have results.
      await sequence(
        tests,
        async (test) => (await run([test]))?.map(([result]) => result ?? null) ?? rows.map(() => null),
      )
  return rows.map((_, row) => new Map(tests.map((test, index) => [test, columns[index]?.[row] ?? null])))
}

async function sequence<T, R>(items: readonly T[], run: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = []
  for (const item of items) results.push(await run(item))
  return results
}

/** The alias is the name of the table, as in the expressions of policies. */
function testSql({ schema, name }: RelationRow, tests: readonly string[]): string {
  const results = tests.map((test) => `(${test})::boolean`).join(', ')
  const type = `${identifier(schema)}.${identifier(name)}`
  return `select json_build_array(${results})::text as results
    from json_array_elements($1::json) with ordinality as rowhouse_row (rowhouse_source, rowhouse_place),
      lateral json_populate_record(null::${type}, rowhouse_source) as ${identifier(name)}
    order by rowhouse_place`
}

const isTrue = (policy: PolicyRow, group: PolicyGroup, results: TestResults): boolean =>
  truthOf(parseCondition(expressionOf(policy, group.clause)), (test) => results.get(test) ?? null) === true

/** The policies that deny a row in a group: all permissive ones if none is true, and the restrictive ones that are not. */
export function denying(policies: readonly PolicyRow[], group: PolicyGroup, results: TestResults): Denying {
  const applied = policiesOf(policies, group)
  const permissive = applied.filter((it) => it.permissive)
  const isAllowed = permissive.some((policy) => isTrue(policy, group, results))
  const restrictive = applied.filter((policy) => !policy.permissive && !isTrue(policy, group, results))
  return {
    isDenied: !isAllowed || restrictive.length > 0,
    policies: [...(isAllowed ? [] : permissive), ...restrictive],
  }
}

export type Denying = { readonly isDenied: boolean; readonly policies: readonly PolicyRow[] }

/** Describes a denied row. Columns are given if `mayKnow` them. */
export function describeDenied(
  relation: RelationRow,
  groups: readonly (readonly [PolicyGroup, Denying])[],
  results: TestResults,
  row: string,
  values: LookupValues,
  mayKnow: (column: string) => boolean,
): DeniedRow['policies'] {
  const fields = JSON.parse(row) as Readonly<Record<string, unknown>>
  const names = relation.columns.map(({ name }) => name)
  return groups.flatMap(([group, { policies }]) =>
    policies.map((policy) => {
      const failed = testsOf(parseCondition(expressionOf(policy, group.clause))).filter(
        (test) => results.get(test) !== true,
      )
      const columns = columnsIn(failed.join(' '), relation.name, names).filter(mayKnow)
      return {
        name: policy.name,
        permissive: policy.permissive,
        command: policy.command,
        clause: group.clause === 'with check' && policy.check !== null ? 'with check' : 'using',
        tests: failed.map((text) => ({ text, resolved: resolved(text, values), result: results.get(text) ?? null })),
        columns: Object.fromEntries(columns.map((name) => [name, fields[name]])),
      }
    }),
  )
}

/** @param rows results of the existing rows that were examined */
export function explainPolicy(
  policy: PolicyRow,
  values: LookupValues,
  rows: readonly TestResults[] | undefined,
): ExplainedPolicy {
  const { name, permissive, command, roles, using, check } = policy
  const group: PolicyGroup = { command: command === 'all' ? 'select' : command, clause: 'using' }
  return {
    name,
    permissive,
    command,
    roles,
    using,
    check,
    usingResolved: using === null ? null : resolved(using, values),
    checkResolved: check === null ? null : resolved(check, values),
    passes: rows && using !== null ? rows.filter((results) => isTrue(policy, group, results)).length : null,
  }
}
