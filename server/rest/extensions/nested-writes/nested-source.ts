// The objects of a body that become rows.
import type { Table } from '../../../catalogue/table.ts'
import type { JsonDocument } from '../../../text/json-document.ts'
import { errors } from '../../errors.ts'
import { nestedErrors, pointerToken } from './nested-errors.ts'

/** An object of the body that is to become a row: where it begins, and a pointer to it. */
export type Source = { readonly start: number; readonly path: string }

/** A source with its members by what they are. */
export type ReadSource = {
  readonly number: number
  readonly path: string
  /** Values of columns as JSON texts. */
  readonly own: Map<string, string>
  /** Where related rows begin in the body, by key. */
  readonly nested: ReadonlyMap<string, number>
  /** Related rows that its foreign keys refer to, by key of the body: their numbers. */
  readonly toOne: Map<string, number>
}

/**
 * The objects of the root.
 *
 * @param body valid JSON
 * @throws ApiError PGRST102 when it is neither an object nor an array of objects
 */
export function rootSources(body: JsonDocument): readonly Source[] {
  const { start } = body
  const kind = body.kindAt(start)
  if (kind === 'object') return [{ start, path: '' }]
  const sources =
    kind === 'array' ? body.elementsAt(start).map((at, index) => ({ start: at, path: `/${index}` })) : undefined
  if (sources?.every((source) => body.kindAt(source.start) === 'object') !== true) {
    throw errors.invalidBody('The body must be an object or an array of objects')
  }
  return sources
}

/** The objects at a key of all rows, with the number of their row. */
export function* nestedSources(
  body: JsonDocument,
  rows: readonly ReadSource[],
  key: string,
  toOne: boolean,
): Generator<{ readonly source: Source; readonly parent: number }> {
  for (const { number, path, nested } of rows) {
    const start = nested.get(key)
    if (start === undefined) continue
    const at = path + pointerToken(key)
    const kind = body.kindAt(start)
    if (toOne) {
      if (kind === 'null') continue
      if (kind !== 'object') throw nestedErrors.wrongKind(key, 'an object or null', at)
      yield { source: { start, path: at }, parent: number }
      continue
    }
    if (kind !== 'array') throw nestedErrors.wrongKind(key, 'an array of objects', at)
    for (const [index, element] of body.elementsAt(start).entries()) {
      const path = `${at}/${index}`
      if (body.kindAt(element) !== 'object') throw nestedErrors.wrongKind(key, 'an array of objects', path)
      yield { source: { start: element, path }, parent: number }
    }
  }
}

/** Sources of rows that others refer to. An upsert writes a row once that several others name in the same way. */
export class SourceList {
  readonly list: Source[] = []
  readonly #body: JsonDocument
  readonly #numbers = new Map<string, number>()
  readonly #primaryKey: readonly string[] | undefined

  constructor(body: JsonDocument, { primaryKey }: Table, isUpsert: boolean) {
    this.#body = body
    this.#primaryKey = isUpsert && primaryKey.length > 0 ? primaryKey : undefined
  }

  /** Adds a source unless there is the same one, and returns its number. */
  add(source: Source): number {
    const text = this.#primaryKey && this.#body.textAt(source.start)
    // Of objects with containers in them, the text is neither compared nor read to its end.
    const isComparable = text !== undefined && !/[[{]/.test(text.slice(1))
    const number = isComparable ? this.#numbers.get(text) : undefined
    if (number !== undefined) return number
    const added = this.list.push(source) - 1
    if (isComparable) {
      const members = this.#body.membersAt(source.start)
      if (this.#primaryKey?.every((name) => members.has(name))) this.#numbers.set(text, added)
    }
    return added
  }
}
