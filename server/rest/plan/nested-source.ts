// The objects of a body that become rows.
import type { Table } from '../../schema-cache/table.ts'
import { elementTexts, kindOfJson, memberTexts } from '../../text/json-parts.ts'
import { errors } from '../errors.ts'
import { nestedErrors, pointerToken } from './nested-errors.ts'

/** An object of the body that is to become a row. */
export type Source = { readonly text: string; readonly path: string }

/** A source with its members by what they are. */
export type ReadSource = {
  readonly number: number
  readonly path: string
  readonly own: Map<string, string>
  readonly nested: ReadonlyMap<string, string>
  /** Related rows that its foreign keys refer to, by key of the body: their numbers. */
  readonly toOne: Map<string, number>
}

/**
 * The objects of the root.
 *
 * @param body valid JSON
 * @throws ApiError PGRST102 when it is neither an object nor an array of objects
 */
export function rootSources(body: string): readonly Source[] {
  const kind = kindOfJson(body)
  if (kind === 'object') return [{ text: body, path: '' }]
  const sources = kind === 'array' ? elementTexts(body).map((text, index) => ({ text, path: `/${index}` })) : undefined
  if (sources?.every(({ text }) => kindOfJson(text) === 'object') !== true) {
    throw errors.invalidBody('The body must be an object or an array of objects')
  }
  return sources
}

/** The objects at a key of all rows, with the number of their row. */
export function* nestedSources(
  rows: readonly ReadSource[],
  key: string,
  toOne: boolean,
): Generator<{ readonly source: Source; readonly parent: number }> {
  for (const { number, path, nested } of rows) {
    const text = nested.get(key)
    if (text === undefined) continue
    const at = path + pointerToken(key)
    const kind = kindOfJson(text)
    if (toOne) {
      if (kind === 'null') continue
      if (kind !== 'object') throw nestedErrors.wrongKind(key, 'an object or null', at)
      yield { source: { text, path: at }, parent: number }
      continue
    }
    if (kind !== 'array') throw nestedErrors.wrongKind(key, 'an array of objects', at)
    for (const [index, element] of elementTexts(text).entries()) {
      const path = `${at}/${index}`
      if (kindOfJson(element) !== 'object') throw nestedErrors.wrongKind(key, 'an array of objects', path)
      yield { source: { text: element, path }, parent: number }
    }
  }
}

/** Sources of rows that others refer to. An upsert writes a row once that several others name in the same way. */
export class SourceList {
  readonly list: Source[] = []
  readonly #numbers = new Map<string, number>()
  readonly #primaryKey: readonly string[] | undefined

  constructor({ primaryKey }: Table, isUpsert: boolean) {
    this.#primaryKey = isUpsert && primaryKey.length > 0 ? primaryKey : undefined
  }

  /** Adds a source unless there is the same one, and returns its number. */
  add(source: Source): number {
    const { text } = source
    const number = this.#numbers.get(text)
    if (number !== undefined) return number
    const added = this.list.push(source) - 1
    if (this.#primaryKey && !/[[{]/.test(text.slice(1))) {
      const members = memberTexts(text)
      if (this.#primaryKey.every((name) => members.has(name))) this.#numbers.set(text, added)
    }
    return added
  }
}
