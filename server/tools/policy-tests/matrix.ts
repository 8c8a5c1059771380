// The matrix: which rows of a table a caller can read, insert, update, delete and move. Each attempt is a request that is
// rolled back.
import type { Identity } from '../../identity/identity.ts'
import { keyText, type ProbedRelation, type SampleRow } from './relations.ts'
import type { Problem } from './expectation.ts'
import type { Reply, Sent, TestSession } from './session.ts'
import type { Cell, Keys, MatrixCommand } from './test-file.ts'

/** Reads that return more rows are recorded as a number. */
const maxKeys = 100
/** Values that rows are given for one column. */
const maxMoves = 3

/** The key is undefined if there is no row. */
type Attempt = { readonly key: string | undefined; readonly sent: Sent }

/**
 * Finds out what a caller can do with the rows of a relation. A write counts as possible if no grant, policy or trigger
 * refuses it; constraints may: a copy of a row that passes the policies fails as a duplicate.
 *
 * @returns undefined for moves if the role may not update any column that policies compare
 */
export async function probe(
  session: TestSession,
  relation: ProbedRelation,
  command: MatrixCommand,
  identity: Identity,
): Promise<Cell | undefined> {
  if (command === 'select') return probeSelect(session, relation, identity)
  const attempts = attemptsOf(relation, command, identity.role)
  if (command === 'move' && attempts.length === 0) return undefined
  const allowed: string[] = []
  const failed = new Map<string, string[]>()
  for (const { key, sent } of attempts) {
    const outcome = outcomeOf(await session.isolated(() => session.send(sent, identity)))
    if (outcome.kind === 'refused') return outcome.code
    // Without a filter, only the number of rows is known.
    if (command === 'update all' || command === 'delete all') return 'code' in outcome ? outcome.code : outcome.count
    if (key === undefined || outcome.kind === 'denied') continue
    if (outcome.kind === 'written' ? outcome.count > 0 : isConstraint(outcome.code)) allowed.push(key)
    else if (outcome.kind !== 'written') failed.set(outcome.code, [...(failed.get(outcome.code) ?? []), key])
  }
  if (failed.size === 0) return allowed
  return { allowed, ...Object.fromEntries(failed) }
}

type Outcome =
  | { readonly kind: 'written'; readonly count: number }
  /** `refused`: the whole command, by a missing grant; `denied`: this row, by a policy. */
  | { readonly kind: 'refused' | 'denied' | 'failed'; readonly code: string }

function outcomeOf({ status, body, header }: Reply): Outcome {
  if (status < 400) return { kind: 'written', count: Number(/\/(\d+)$/.exec(header('content-range') ?? '')?.[1] ?? 1) }
  const { code, message } = errorOf(body, status)
  // insufficient_privilege: of a grant, or of a policy for this row.
  if (code === '42501' && message.startsWith('permission denied for ')) return { kind: 'refused', code }
  if (code === '42501' && message.includes('row-level security policy')) return { kind: 'denied', code }
  return { kind: 'failed', code }
}

/** Constraints are checked after the policies. */
const isConstraint = (code: string): boolean => code.startsWith('23')

function errorOf(body: unknown, status: number): { readonly code: string; readonly message: string } {
  const { code, message } =
    typeof body === 'object' && body !== null ? (body as { code?: unknown; message?: unknown }) : {}
  return { code: typeof code === 'string' ? code : String(status), message: String(message) }
}

const parameter = (name: string, value: string): string => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`
const quoted = (column: string): string => `"${column.replaceAll(/["\\]/g, '\\$&')}"`
const pathOf = ({ name }: ProbedRelation): string => `/${encodeURIComponent(name)}`

async function probeSelect(session: TestSession, relation: ProbedRelation, identity: Identity): Promise<Cell> {
  const { schema, primaryKey, isView } = relation
  const keys = isView ? [] : primaryKey.map(quoted).join(',')
  const query =
    keys.length === 0 ? 'select=*' : `${parameter('select', String(keys))}&${parameter('order', String(keys))}`
  const sent = { method: 'GET', target: `${pathOf(relation)}?${query}`, headers: { 'accept-profile': schema } }
  const { status, body } = await session.isolated(() => session.send(sent, identity))
  if (status >= 400) return errorOf(body, status).code
  const rows = Array.isArray(body) ? (body as Record<string, unknown>[]) : []
  if (keys.length === 0 || rows.length > maxKeys) return rows.length
  return rows.map((row) => keyText(primaryKey.map((column) => row[column])))
}

function attemptsOf(relation: ProbedRelation, command: MatrixCommand, role: string): readonly Attempt[] {
  const { schema, primaryKey, rows } = relation
  const headers = { 'content-type': 'application/json', 'content-profile': schema, prefer: 'count=exact' }
  const rowTarget = ({ keyValues }: SampleRow): string => {
    const filters = primaryKey.map((column, index) => parameter(quotedFilter(column), `eq.${keyValues[index]}`))
    return `${pathOf(relation)}?${filters.join('&')}`
  }
  const update = (row: SampleRow, body: object): Sent => ({
    method: 'PATCH',
    target: rowTarget(row),
    headers,
    body: JSON.stringify(body),
  })
  const updateAll = (body: object): Sent => ({
    method: 'PATCH',
    target: pathOf(relation),
    headers,
    body: JSON.stringify(body),
  })
  const anyColumn = (all: readonly SampleRow[]): string =>
    Object.keys(all[0]?.values ?? {}).find((name) => !primaryKey.includes(name)) ?? primaryKey[0] ?? ''
  const updatable = relation.updatable[role] ?? []
  if (rows.length === 0) return attemptsWithoutRows(relation, command, headers)
  switch (command) {
    case 'insert': {
      const columns = relation.insertable[role] ?? []
      const bodyOf = ({ values }: SampleRow): object =>
        columns.length === 0 ? values : Object.fromEntries(columns.map((name) => [name, values[name]]))
      return rows.map((row) => ({
        key: row.key,
        sent: { method: 'POST', target: pathOf(relation), headers, body: JSON.stringify(bodyOf(row)) },
      }))
    }
    case 'update': {
      // A change of no consequence: one column gets its own value.
      const column = updatable.find((name) => !primaryKey.includes(name)) ?? updatable[0]
      return rows.map((row) => {
        const name = column ?? anyColumn(rows)
        return { key: row.key, sent: update(row, { [name]: row.values[name] }) }
      })
    }
    case 'update all':
      return [
        {
          key: undefined,
          sent: updateAll({ [updatable[0] ?? anyColumn(rows)]: rows[0]?.values[updatable[0] ?? anyColumn(rows)] }),
        },
      ]
    case 'delete all':
      return [{ key: undefined, sent: { method: 'DELETE', target: pathOf(relation), headers } }]
    case 'move':
      return relation.policyColumns
        .filter((name) => updatable.includes(name))
        .flatMap((name) =>
          valuesOf(rows, name).map((value) => ({
            key: `${name}=${textOf(value)}`,
            sent: updateAll({ [name]: value }),
          })),
        )
    default:
      return rows.map((row) => ({ key: row.key, sent: { method: 'DELETE', target: rowTarget(row), headers } }))
  }
}

/** A write of no row, which shows whether the role may use the command at all. */
function attemptsWithoutRows(
  relation: ProbedRelation,
  command: MatrixCommand,
  headers: NonNullable<Sent['headers']>,
): readonly Attempt[] {
  const [column = ''] = relation.primaryKey
  const nothing = `${pathOf(relation)}?${parameter(quotedFilter(column), 'is.null')}`
  const requests: Readonly<Record<string, Sent>> = {
    insert: { method: 'POST', target: pathOf(relation), headers, body: '[]' },
    update: { method: 'PATCH', target: nothing, headers, body: JSON.stringify({ [column]: null }) },
    'update all': { method: 'PATCH', target: pathOf(relation), headers, body: JSON.stringify({ [column]: null }) },
    delete: { method: 'DELETE', target: nothing, headers },
    'delete all': { method: 'DELETE', target: pathOf(relation), headers },
  }
  const sent = requests[command]
  return sent ? [{ key: undefined, sent }] : []
}

/** A column in a filter. Dots and arrows in its name would have a meaning. */
const quotedFilter = (column: string): string => (/^[\w$]+$/.test(column) ? column : quoted(column))

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** The first different values of a column. */
function valuesOf(rows: readonly SampleRow[], column: string): readonly unknown[] {
  const values = new Map(rows.map((row) => [textOf(row.values[column]), row.values[column]]))
  return [...values.values()].slice(0, maxMoves)
}

/** Compares what a caller can do with what the matrix expects. Null: the same. */
export function compareCell(expected: Cell, actual: Cell | undefined): Problem | null {
  const found = actual === undefined ? undefined : typeof expected === 'number' ? counted(actual) : actual
  const [wanted, got] = [comparable(expected), comparable(found)]
  if (wanted === got) return null
  return { message: 'the matrix differs', expected, actual: found, ...differenceOf(expected, found) }
}

const isKeys = (cell: unknown): cell is Keys => Array.isArray(cell)

/** The cell with numbers in the place of lists of keys. */
export function counted(cell: Cell): Cell {
  if (isKeys(cell)) return cell.length
  if (typeof cell !== 'object') return cell
  return Object.fromEntries(Object.entries(cell).map(([name, keys]) => [name, isKeys(keys) ? keys.length : keys]))
}

function comparable(cell: Cell | undefined): string {
  if (cell === undefined) return ''
  if (isKeys(cell)) return JSON.stringify(cell.map(String).sort())
  // A code without quotes is a number in YAML.
  if (typeof cell !== 'object') return String(cell)
  const entries = Object.entries(cell).map(([name, keys]) => [name, comparable(keys)] as const)
  return JSON.stringify(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function differenceOf(expected: Cell, actual: Cell | undefined): { readonly difference?: readonly string[] } {
  if (!isKeys(expected) || !isKeys(actual)) return {}
  const [wanted, found] = [expected.map(String), actual.map(String)]
  const missing = wanted.filter((key) => !found.includes(key)).map((key) => `- ${key}`)
  const added = found.filter((key) => !wanted.includes(key)).map((key) => `+ ${key}`)
  return { difference: [...missing, ...added] }
}
