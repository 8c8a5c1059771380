// JSON that keeps the order of members and the digits of numbers. In a plain object, a column named `1` would move to
// the front, and the default of a bigint would be rounded.
import { compareText } from '../../text/code-point-order.ts'

/** A number as its text. */
export class NumberText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export type OrderedJson = string | boolean | null | NumberText | readonly OrderedJson[] | OrderedObject | FixedObject

/** An object with names of the database. */
export type OrderedObject = ReadonlyMap<string, OrderedJson>

/** An object whose names are in the code: numbers come first, ascending. Members that are undefined are left out. */
export type FixedObject = { readonly [name: string]: OrderedJson | undefined }

export type Member = readonly [name: string, value: OrderedJson]

/** Sorts members by the code points of their names. */
export const sorted = (members: readonly Member[]): Member[] => [...members].sort(([a], [b]) => compareText(a, b))

const isList = (json: object): json is readonly OrderedJson[] => Array.isArray(json)

export function stringify(json: OrderedJson): string {
  if (json === null || typeof json !== 'object') return JSON.stringify(json)
  if (json instanceof NumberText) return json.text
  if (isList(json)) return `[${json.map(stringify).join(',')}]`
  const members: readonly (readonly [string, OrderedJson | undefined])[] =
    json instanceof Map ? [...(json as OrderedObject)] : Object.entries(json as FixedObject)
  const texts = members.flatMap(([name, value]) =>
    value === undefined ? [] : `${JSON.stringify(name)}:${stringify(value)}`,
  )
  return `{${texts.join(',')}}`
}
