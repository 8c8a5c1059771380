// The parts of a valid JSON text as JSON texts, which keep all digits of numbers. The time is linear and the depth
// unlimited, because the text may come from a client.

const structural = /["{}[\]]/g
const endOfScalar = /[\s,}\]]/g

/** The position after a string. @param start of its first quotation mark */
function endOfString(text: string, start: number): number {
  for (let at = text.indexOf('"', start + 1); at > 0; at = text.indexOf('"', at + 1)) {
    let backslashes = 0
    while (text[at - 1 - backslashes] === '\\') backslashes += 1
    if (backslashes % 2 === 0) return at + 1
  }
  return text.length
}

/** The position after a value. @param start of its first character */
function endOfValue(text: string, start: number): number {
  const first = text[start]
  if (first === '"') return endOfString(text, start)
  if (first !== '{' && first !== '[') {
    endOfScalar.lastIndex = start
    return endOfScalar.exec(text)?.index ?? text.length
  }
  let depth = 0
  structural.lastIndex = start
  for (let match = structural.exec(text); match; match = structural.exec(text)) {
    const [sign] = match
    if (sign === '"') structural.lastIndex = endOfString(text, match.index)
    else if (sign === '{' || sign === '[') depth += 1
    else if (--depth === 0) return match.index + 1
  }
  return text.length
}

const separator = /[\s,:]*/y

/** The position of the next name or value. */
function next(text: string, at: number): number {
  separator.lastIndex = at
  separator.exec(text)
  return separator.lastIndex
}

/** What a JSON text is, by its first character. */
export function kindOfJson(text: string): 'object' | 'array' | 'null' | 'scalar' {
  const first = text[next(text, 0)]
  if (first === '{') return 'object'
  if (first === '[') return 'array'
  return first === 'n' ? 'null' : 'scalar'
}

/** Names and values of the object in a valid JSON text. The last member of a name wins, as in PostgreSQL. */
export function memberTexts(text: string): Map<string, string> {
  const members = new Map<string, string>()
  for (let at = next(text, text.indexOf('{') + 1); text[at] === '"';) {
    const end = endOfString(text, at)
    const name = JSON.parse(text.slice(at, end)) as string
    const start = next(text, end)
    const after = endOfValue(text, start)
    members.set(name, text.slice(start, after))
    at = next(text, after)
  }
  return members
}

/** The elements of the array in a valid JSON text. */
export function elementTexts(text: string): string[] {
  const elements: string[] = []
  for (let at = next(text, text.indexOf('[') + 1); at < text.length && text[at] !== ']';) {
    const after = endOfValue(text, at)
    elements.push(text.slice(at, after))
    at = next(text, after)
  }
  return elements
}
