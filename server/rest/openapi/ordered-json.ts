// JSON whose members keep the order they were given in, and whose numbers keep their digits. Plain objects do neither:
// a column named `1` would move to the front, and the default of a bigint would be rounded.
import { compareText } from '../../text/code-point-order.ts'

/** A number as its text. */
export type NumberText = { readonly number: string }

export type OrderedJson = string | boolean | null | NumberText | readonly OrderedJson[] | OrderedObject
export type OrderedObject = ReadonlyMap<string, OrderedJson>

export type Member = readonly [name: string, value: OrderedJson | undefined]

/** An object with these members; those without a value are left out. */
export function object(...members: readonly Member[]): OrderedObject {
  const result = new Map<string, OrderedJson>()
  for (const [name, value] of members) if (value !== undefined) result.set(name, value)
  return result
}

/** The members in the order of their names' code points. */
export const sorted = (members: readonly Member[]): Member[] => [...members].sort(([a], [b]) => compareText(a, b))

const isObject = (json: object): json is OrderedObject => json instanceof Map

export function stringify(json: OrderedJson): string {
  if (json === null || typeof json !== 'object') return JSON.stringify(json)
  if (isObject(json)) {
    return `{${Array.from(json, ([name, value]) => `${JSON.stringify(name)}:${stringify(value)}`).join(',')}}`
  }
  return 'number' in json ? json.number : `[${json.map(stringify).join(',')}]`
}
