// Writes of rows as the viewer: what a policy silently leaves out is an error here.
import type { RelationDetails } from '../../../services/console/schema-protocol.ts'
import { ApiProblem, type Viewer } from '../../api.ts'
import { objectOf, parseRows, type Row } from '../../rest/cells.ts'
import {
  keyFilters,
  keysFilter,
  profile,
  readOf,
  relationPath,
  sendAs,
  type Place,
  type Sent,
} from '../../rest/relation.ts'

/** A write that was refused, or that has changed fewer rows than it should, with its request for the explanation. */
export class WriteRefused extends Error {
  readonly sent: Sent
  /** The error of the API; undefined when no row was changed. */
  readonly problem: unknown

  constructor(message: string, sent: Sent, problem?: unknown) {
    super(message)
    this.sent = sent
    this.problem = problem
  }
}

type Target = {
  readonly viewer: Viewer
  readonly place: Place
  readonly relation: Pick<RelationDetails, 'primaryKey' | 'isVersioned'>
}

const returned = ['Prefer', 'return=representation'] as const

async function send(viewer: Viewer, sent: Sent, more: Sent['headers'] = []): Promise<Response> {
  try {
    return await sendAs(viewer, sent, more)
  } catch (error) {
    throw error instanceof ApiProblem ? new WriteRefused(error.message, sent, error) : error
  }
}

/** The tag of a row, if the table has versions. It is compared with what is shown, so that no other change is overwritten. */
async function versionOf(
  { viewer, place, relation }: Target,
  row: Row,
  columns: readonly string[],
): Promise<string | null> {
  if (!relation.isVersioned) return null
  const response = await sendAs(viewer, readOf(place, keyFilters(relation, row)))
  const [stored] = parseRows(await response.text())
  const changed = stored && columns.find((column) => stored.get(column) !== row.get(column))
  if (changed !== undefined) throw new Error(`${changed} was changed by someone else. Reload the rows.`)
  return response.headers.get('etag')
}

/**
 * Changes columns of a row.
 *
 * @returns the stored row
 * @throws WriteRefused
 */
export async function updateRow(target: Target, row: Row, values: ReadonlyMap<string, string>): Promise<Row> {
  const { viewer, place, relation } = target
  const sent: Sent = {
    method: 'PATCH',
    path: relationPath(place, keyFilters(relation, row)),
    headers: [...profile(place, true), returned],
    body: objectOf(values),
  }
  const tag = await versionOf(target, row, [...values.keys()])
  const response = await send(viewer, sent, tag === null ? [] : [['If-Match', tag]])
  const [stored] = parseRows(await response.text())
  if (!stored) throw new WriteRefused('No policy lets this viewer change the row.', sent)
  return stored
}

/**
 * @returns the stored row, as far as the viewer may see it
 * @throws WriteRefused
 */
export async function insertRow({ viewer, place }: Target, values: ReadonlyMap<string, string>): Promise<void> {
  await send(viewer, {
    method: 'POST',
    path: relationPath(place),
    headers: [...profile(place, true), ['Prefer', 'return=minimal']],
    body: objectOf(values),
  })
}

/**
 * @returns the rows that were deleted
 * @throws WriteRefused
 */
export async function deleteRows({ viewer, place, relation }: Target, rows: readonly Row[]): Promise<readonly Row[]> {
  const sent: Sent = {
    method: 'DELETE',
    path: relationPath(place, [keysFilter(relation, rows)]),
    headers: [...profile(place, true), returned],
  }
  const deleted = parseRows(await (await send(viewer, sent)).text())
  if (deleted.length === 0) throw new WriteRefused('No policy lets this viewer delete the rows.', sent)
  return deleted
}
