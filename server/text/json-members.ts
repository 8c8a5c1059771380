// The members of a JSON object as JSON texts, which keep all digits of numbers.

const blanks = /[\s:,]*/y
const string = /"(?:[^"\\]|\\.)*"/y
const scalar = /[^\s,{}[\]"]+/y
const inContainer = /[^"{}[\]]*/y

/** Names and raw values of the object in a valid JSON text. The last member of a name wins. */
export function jsonMembers(text: string): Map<string, string> {
  const members = new Map<string, string>()
  let at = text.indexOf('{') + 1
  const take = (pattern: RegExp): string => {
    pattern.lastIndex = at
    const match = pattern.exec(text)
    if (match) at = pattern.lastIndex
    return match?.[0] ?? ''
  }
  const value = (): string => {
    const start = at
    let depth = 0
    do {
      const sign = text[at]
      if (sign === '"') take(string)
      else if (sign === '{' || sign === '[') {
        depth += 1
        at += 1
      } else if (sign === '}' || sign === ']') {
        depth -= 1
        at += 1
      } else take(depth === 0 ? scalar : inContainer)
    } while (depth > 0)
    return text.slice(start, at)
  }
  for (take(blanks); text[at] === '"'; take(blanks)) {
    const name = JSON.parse(take(string)) as string
    take(blanks)
    members.set(name, value())
  }
  return members
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
