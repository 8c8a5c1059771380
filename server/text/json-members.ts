// Members of objects and elements of arrays as JSON texts, which keep all digits of numbers.
import { visitElements, visitMembers } from './json-tokens.ts'

/** Names and raw values of the object in a valid JSON text; none for another value. The last member of a name wins. */
export function jsonMembers(text: string): Map<string, string> {
  const members = new Map<string, string>()
  visitMembers(text, 0, (name, start, end) => members.set(name, text.slice(start, end)))
  return members
}

/** The elements of the array in a valid JSON text; none for another value. */
export function jsonElements(text: string): string[] {
  const elements: string[] = []
  visitElements(text, 0, (start, end) => elements.push(text.slice(start, end)))
  return elements
}

/** JSON texts by name; undefined members are left out of an object. */
export type JsonTexts = Readonly<Record<string, string | undefined>>

/** The members of a value as JSON texts. */
export const jsonTexts = (value: object): JsonTexts =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name, JSON.stringify(member)]))

/** The object with these members, as JSON text. A map keeps its order, a record puts names that are numbers first. */
export const jsonObject = (members: JsonTexts | ReadonlyMap<string, string | undefined>): string =>
  `{${Array.from(members instanceof Map ? members : Object.entries(members))
    .flatMap(([name, text]) => (text === undefined ? [] : [`${JSON.stringify(name)}:${text}`]))
    .join(',')}}`
