// JSON as one can rely on: RFC 8259 leaves open what an object means that has a name twice, so it is refused.

/** No body of ours is deeper. */
const maxDepth = 32

export type JsonFault = 'is not valid JSON' | 'is nested too deeply' | 'has a name twice in one object'
export type JsonReading =
  { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'fault'; readonly fault: JsonFault }

/** Parses a text. A property named `__proto__` is one like any other. */
export function readJson(text: string): JsonReading {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { kind: 'fault', fault: 'is not valid JSON' }
  }
  const fault = faultOf(text)
  return fault === undefined ? { kind: 'value', value } : { kind: 'fault', fault }
}

/** Goes through a text that is known to be JSON. */
function faultOf(text: string): JsonFault | undefined {
  /** Of each open object, its names; of each open list, nothing. */
  const open: (Set<unknown> | undefined)[] = []
  let isName = false
  let index = 0
  while (index < text.length) {
    switch (text[index]) {
      case '{':
      case '[':
        isName = text[index] === '{'
        open.push(isName ? new Set() : undefined)
        if (open.length > maxDepth) return 'is nested too deeply'
        break
      case '}':
      case ']':
        open.pop()
        isName = false
        break
      case ',':
        isName = open.at(-1) !== undefined
        break
      case '"': {
        const end = endOfString(text, index)
        const names = open.at(-1)
        if (isName && names) {
          // With its escapes resolved: `"a"` and `"\u0061"` are the same name.
          const name: unknown = JSON.parse(text.slice(index, end))
          if (names.has(name)) return 'has a name twice in one object'
          names.add(name)
          isName = false
        }
        index = end
        continue
      }
      default:
    }
    index++
  }
  return undefined
}

/** The position after the closing quote. */
function endOfString(text: string, start: number): number {
  let index = start + 1
  while (text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index + 1
}
