// The statements of a nested write. They run in one transaction and one round trip: each statement keeps the keys of its
// rows in a setting of the transaction, from which later statements read them. One statement for everything would not
// do, because policies of related rows could not see the rows that it writes.
import type { Column } from '../../../catalogue/table.ts'
import type { MutatePlan } from '../../plan/mutate-plan.ts'
import type {
  ExistingStep,
  JunctionStep,
  LinkedColumn,
  NestedLevel,
  NestedPlan,
  NestedStep,
  RowsStep,
} from './nested-write.ts'
import { countInserted, countUpdated } from '../../sql/current-setting.ts'
import { join, type Fragment } from '../../sql/fragment.ts'
import { column, identifier, literal, qualified, unqualified } from '../../sql/identifier.ts'
import { representedSql } from '../../sql/payload.ts'

const settingOf = ({ number }: NestedLevel): string => literal(`rowhouse.nested_${number}`)
const keyName = (key: number): string => identifier(String(key))
const numbers = (list: readonly number[]): Fragment => [{ value: `{${list.join(',')}}` }, '::int[]']

/** The keys of a level as rows: `n` is the number of the row, `w` whether it was written. */
function keysSql(level: NestedLevel, alias: string): string {
  const keys = level.keys.map(({ nominalType }, index) => `, ${keyName(index)} ${nominalType}`)
  return `json_to_recordset(current_setting(${settingOf(level)})::json) AS ${alias}(n int, w boolean${keys.join('')})`
}

/** Keeps the keys in `rows` for later statements; true. */
function keepSql(level: NestedLevel, wasWritten: boolean, isFirst: boolean): string {
  const keys = level.keys.map((_, index) => `, ${literal(String(index))}, k${index}`).join('')
  const entries = `coalesce(jsonb_agg(jsonb_build_object('n', n, 'w', ${wasWritten}${keys})), '[]')`
  const all = isFirst ? entries : `current_setting(${settingOf(level)})::jsonb || ${entries}`
  return `set_config(${settingOf(level)}, (${all})::text, true) IS NOT NULL`
}

/** The keys as JSON keeps them: text is converted back by the input function of the type, JSON as it is. */
const keyTexts = (keys: readonly Column[], relation: string): readonly string[] =>
  keys.map(({ name, type }, index) => {
    const isJson = type === 'json' || type === 'jsonb'
    return `${column(unqualified(relation), name)}${isJson ? '' : '::text'} AS k${index}`
  })

/** The rows of the body with their defaults. */
function bodySql({ rows, columns, applyDefaults }: RowsStep): Fragment {
  const body = { value: `[${rows.map(({ text }) => text).join(',')}]` }
  if (!applyDefaults) return ['json_to_recordset(', body, '::json)']
  const defaults = columns.flatMap(({ name, default: value }) => (value === null ? [] : `${literal(name)}, ${value}`))
  return [
    `jsonb_to_recordset((SELECT jsonb_agg(jsonb_build_object(${defaults.join(', ')}) || e.v ORDER BY e.o)`,
    ' FROM jsonb_array_elements(',
    body,
    '::jsonb) WITH ORDINALITY AS e(v, o)))',
  ]
}

/**
 * The CTE `s` with the values of all written columns: `c0` and so on. Their number is `n`.
 */
function sourceSql(step: RowsStep): Fragment {
  const { rows, columns, links, onlyPaired } = step
  const definitions = columns.map(({ name, type }) => `${identifier(name)} ${type}`).join(', ')
  const aliases = [...columns.map((_, index) => `c${index}`), 'n', ...links.map((_, index) => `r${index}`)]
  const functions = [
    ...(columns.length === 0 ? [] : [[bodySql(step), ` AS (${definitions})`]]),
    ['unnest(', numbers(rows.map(({ number }) => number)), ')'],
    ...links.map((link) => ['unnest(', numbers(link.rows), ')']),
  ]
  const values = [
    'b.n',
    ...columns.map((field, index) => `${representedSql(field, `b.c${index}`)} AS c${index}`),
    ...linkedColumns(step).map(({ link, key }, index) => `l${link}.${keyName(key)} AS c${columns.length + index}`),
  ]
  const joined = links.map(
    ({ level, isParent }, index) =>
      ` JOIN ${keysSql(level, `l${index}`)} ON l${index}.n = b.r${index}${isParent ? ` AND l${index}.w` : ''}`,
  )
  const paired: Fragment = onlyPaired
    ? [
        ' WHERE EXISTS (SELECT FROM unnest(',
        numbers(onlyPaired.pairs.sources),
        ', ',
        numbers(onlyPaired.pairs.targets),
        `) AS p(p, t) JOIN ${keysSql(onlyPaired.level, 'k')} ON k.n = p.p AND k.w WHERE p.t = b.n)`,
      ]
    : ''
  return [
    `s AS MATERIALIZED (SELECT ${values.join(', ')} FROM ROWS FROM (`,
    join(functions, ', '),
    `) AS b(${aliases.join(', ')})${joined.join('')}`,
    paired,
    ')',
  ]
}

const linkedColumns = ({ links }: RowsStep) =>
  links.flatMap(({ columns }, link) => columns.map(({ name, key }) => ({ link, name, key })))

/** The names of all written columns, in the order of `c0` and so on. */
export const writtenColumns = (step: RowsStep): readonly string[] => [
  ...step.columns.map(({ name }) => name),
  ...linkedColumns(step).map(({ name }) => name),
]

function conflictSql(step: RowsStep, written: readonly string[]): string {
  const { conflict, isRoot } = step
  if (!conflict) return ''
  const target = ` ON CONFLICT ${conflict.target ?? `(${conflict.columns.map(identifier).join(', ')})`}`
  if (conflict.resolution === 'ignore-duplicates' || written.length === 0) return `${target} DO NOTHING`
  const others = written.filter((name) => !conflict.columns.includes(name))
  const set = (isRoot || others.length === 0 ? written : others).map(
    (name) => `${identifier(name)} = EXCLUDED.${identifier(name)}`,
  )
  const isCounted = isRoot && conflict.isDistributed !== true
  return `${target} DO UPDATE SET ${set.join(', ')}${isCounted ? ` WHERE ${countUpdated}` : ''}`
}

/** A written column that identifies duplicates: where its value is in `s` and in `w`. */
type Identifying = {
  readonly name: string
  readonly given: string
  readonly kept: string
  readonly isNullable: boolean
}

/** The written columns that identify duplicates; undefined unless all of them are written. */
function identifyingColumns(step: RowsStep, written: readonly string[]): readonly Identifying[] | undefined {
  const { conflict } = step
  if (conflict?.resolution !== 'ignore-duplicates') return undefined
  const found = conflict.columns.map((name): Identifying => {
    const at = written.indexOf(name)
    return { name, given: `c${at}`, kept: `d${at}`, isNullable: conflict.nullable.includes(name) }
  })
  return found.every(({ name }) => written.includes(name)) ? found : undefined
}

/** Matches the written rows in `w` with those in `s`. Counts how many were to be matched. */
type Matching = { readonly rows: string; readonly wanted: string }

/**
 * PostgreSQL writes the rows in the order of the SELECT, and returns one for each of them in that order.
 *
 * @param keys the columns of `w` that are needed
 */
const matchedByOrder = (keys: string): Matching => ({
  rows:
    `SELECT p.n${keys} FROM (SELECT row_number() OVER () AS i, w.* FROM w) w` +
    ' JOIN (SELECT row_number() OVER (ORDER BY n) AS i, n FROM s) p ON p.i = w.i',
  wanted: '(SELECT count(*) FROM s)',
})

/**
 * If rows are left out as duplicates, the written ones are found by the columns that identify them, as the first with
 * their values. Rows with a null in these columns are no duplicates: they are found by their order.
 */
function matchedByValue(keys: string, identifying: readonly Identifying[]): Matching {
  const given = identifying.map(({ given }) => given)
  const isSame = identifying.map(({ given, kept }) => `p.${given} = w.${kept}`)
  const rows =
    `SELECT p.n${keys} FROM w JOIN (SELECT min(n) AS n, ${given.join(', ')} FROM s GROUP BY ${given.join(', ')}) p` +
    ` ON ${isSame.join(' AND ')}`
  const nullable = identifying.filter(({ isNullable }) => isNullable)
  if (nullable.length === 0) return { rows, wanted: '(SELECT count(*) FROM w)' }
  const isNull = (relation: 's' | 'w'): string =>
    nullable.map((column) => `${relation}.${relation === 's' ? column.given : column.kept} IS NULL`).join(' OR ')
  return {
    rows:
      `${rows} UNION ALL SELECT p.n${keys}` +
      ` FROM (SELECT row_number() OVER () AS i, w.* FROM w WHERE ${isNull('w')}) w` +
      ` JOIN (SELECT row_number() OVER (ORDER BY n) AS i, n FROM s WHERE ${isNull('s')}) p ON p.i = w.i`,
    wanted:
      '((SELECT count(*) FROM w)' +
      ` + abs((SELECT count(*) FROM s WHERE ${isNull('s')}) - (SELECT count(*) FROM w WHERE ${isNull('w')})))`,
  }
}

/**
 * INSERT of the rows of a step, in their order. Keeps the keys of its level if later steps need them; then returns one
 * row: true, how many rows were to be matched with the body, how many were.
 */
function rowsSql(step: RowsStep): Fragment {
  const { level, isFirst, isRoot, onlyUnknown, conflict } = step
  const written = writtenColumns(step)
  const counts = isRoot && conflict?.resolution === 'merge-duplicates' ? ` WHERE ${countInserted}` : ''
  const unknown = onlyUnknown ? ` WHERE s.n NOT IN (SELECT n FROM ${keysSql(level, 'k')})` : ''
  const insert = [
    `INSERT INTO ${qualified(level.into)} AS t${written.length === 0 ? '' : ` (${written.map(identifier).join(', ')})`}`,
    ` SELECT ${written.map((_, index) => `s.c${index}`).join(', ')} FROM s${counts}${unknown} ORDER BY s.n`,
    conflictSql(step, written),
  ].join('')
  if (!level.isKept) return ['WITH ', sourceSql(step), ' ', insert]
  const identifying = identifyingColumns(step, written)
  const identified = identifying?.map(({ name, kept }) => `${column(unqualified('t'), name)} AS ${kept}`) ?? []
  const returned = [...keyTexts(level.keys, 't'), ...identified]
  const keys = level.keys.map((_, index) => `, w.k${index}`).join('')
  const { rows, wanted } = identifying ? matchedByValue(keys, identifying) : matchedByOrder(keys)
  return [
    'WITH ',
    sourceSql(step),
    `, w AS (${insert} RETURNING ${returned.length === 0 ? '1' : returned.join(', ')}), m AS (${rows})`,
    ` SELECT ${keepSql(level, true, isFirst)}, ${wanted}, count(*) FROM m`,
  ]
}

/** Keeps the keys of rows that existed before. Returns how many rows the step has, and how many are known now. */
function existingSql({ of: step, asWritten, isFirst }: ExistingStep): Fragment {
  const { level } = step
  const written = writtenColumns(step)
  const isSame = (step.conflict?.columns ?? []).map(
    (name) => `${column(unqualified('t'), name)} = s.c${written.indexOf(name)}`,
  )
  return [
    'WITH ',
    sourceSql(step),
    `, k AS (SELECT n FROM ${isFirst ? '(SELECT 0 AS n WHERE false) k' : keysSql(level, 'k')} WHERE n IN (SELECT n FROM s))`,
    `, f AS (SELECT ${['s.n', ...keyTexts(level.keys, 't')].join(', ')} FROM s JOIN ${qualified(level.into)} t`,
    ` ON ${isSame.join(' AND ')} WHERE s.n NOT IN (SELECT n FROM k))`,
    ` SELECT ${keepSql(level, asWritten, isFirst)}, (SELECT count(*) FROM s), (SELECT count(*) FROM k) + count(*) FROM f`,
  ]
}

function junctionSql({ into, source, target, pairs, ignoresDuplicates }: JunctionStep): Fragment {
  const names = (columns: readonly LinkedColumn[]): string[] => columns.map(({ name }) => identifier(name))
  const values = (columns: readonly LinkedColumn[], alias: string): string[] =>
    columns.map(({ key }) => `${alias}.${keyName(key)}`)
  return [
    `INSERT INTO ${qualified(into)} (${[...names(source.columns), ...names(target.columns)].join(', ')})`,
    ` SELECT ${[...values(source.columns, 'p'), ...values(target.columns, 'q')].join(', ')} FROM unnest(`,
    numbers(pairs.sources),
    ', ',
    numbers(pairs.targets),
    `) WITH ORDINALITY AS x(p, q, o) JOIN ${keysSql(source.level, 'p')} ON p.n = x.p AND p.w`,
    ` JOIN ${keysSql(target.level, 'q')} ON q.n = x.q ORDER BY x.o`,
    ignoresDuplicates ? ' ON CONFLICT DO NOTHING' : '',
  ]
}

/** The statement of a step. */
export function nestedStatement(step: NestedStep): Fragment {
  switch (step.kind) {
    case 'rows':
      return rowsSql(step)
    case 'existing':
      return existingSql(step)
    case 'junction':
      return junctionSql(step)
    default:
      return step satisfies never
  }
}

/** The columns of the written rows of the root that the response needs, read again after all steps. */
export function writtenRoot(
  { root, primaryKey }: NestedPlan,
  { returning }: MutatePlan & { kind: 'insert' },
): Fragment {
  const rows = keysSql(root, 'k')
  if (returning.length === 0) return `SELECT 1 FROM ${rows} WHERE k.w`
  const isSame = primaryKey.map(({ name, key }) => `${column(unqualified('t'), name)} = k.${keyName(key)}`)
  return [
    `SELECT ${returning.map((name) => column(unqualified('t'), name)).join(', ')} FROM ${rows}`,
    ` JOIN ${qualified(root.into)} t ON ${isSame.join(' AND ')} WHERE k.w ORDER BY k.n`,
  ]
}
