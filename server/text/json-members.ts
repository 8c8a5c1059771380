// The members of a JSON object in their original notation.

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
