// Claims as text with all digits of their numbers, which JavaScript's numbers cannot hold.

const strings = /"(?:[^"\\]|\\.)*"/g
// More digits than a double holds, or an exponent.
const inexact = /[\d.]{16}|\d[eE]/

/** The claims with `role` as JSON text, if it would lose digits to parse and print `payload`; else undefined. */
export function exactClaims(payload: string, role: string): string | undefined {
  if (!inexact.test(payload.replaceAll(strings, ''))) return undefined
  const members = membersOf(payload).set('role', JSON.stringify(role))
  const inOrder = Array.from(members).sort(([one], [other]) => (one < other ? -1 : 1))
  return `{${inOrder.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')}}`
}

const blanks = /[\s:,]*/y
const string = /"(?:[^"\\]|\\.)*"/y
const scalar = /[^\s,{}[\]"]+/y
const inContainer = /[^"{}[\]]*/y

/** Names and raw values of the object that a valid JSON text holds. Of equal names the last one counts. */
function membersOf(text: string): Map<string, string> {
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
