// JSON that keeps the order of members and the digits of numbers. In a plain object, a column named `1` would move to
// the front, and the default of a bigint would be rounded.
import { compareText } from '../../text/code-point-order.ts'

/** A number as its text. */
export type NumberText = { readonly number: string }

export type OrderedJson = string | boolean | null | NumberText | readonly OrderedJson[] | OrderedObject
export type OrderedObject = ReadonlyMap<string, OrderedJson>

export type Member = readonly [name: string, value: OrderedJson | undefined]

/** Creates an object, without the members whose value is undefined. */
export function object(...members: readonly Member[]): OrderedObject {
  const result = new Map<string, OrderedJson>()
  for (const [name, value] of members) if (value !== undefined) result.set(name, value)
  return result
}

/** Sorts members by the code points of their names. */
export const sorted = (members: readonly Member[]): Member[] => [...members].sort(([a], [b]) => compareText(a, b))

const isObject = (json: object): json is OrderedObject => json instanceof Map

export function stringify(json: OrderedJson): string {
  if (json === null || typeof json !== 'object') return JSON.stringify(json)
  if (isObject(json)) {
    return `{${Array.from(json, ([name, value]) => `${JSON.stringify(name)}:${stringify(value)}`).join(',')}}`
  }
  return 'number' in json ? json.number : `[${json.map(stringify).join(',')}]`
}
