// Strict JSON. RFC 8259 does not define the meaning of an object with duplicate names, so such objects are rejected.

/** More than the bodies of our own routes need. */
const maxDepth = 32

export type JsonFault = 'is not valid JSON' | 'is nested too deeply' | 'has a name twice in one object'
export type JsonReading =
  { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'fault'; readonly fault: JsonFault }

/** Parses JSON. `__proto__` is an ordinary property name. */
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

/** Scans text that is known to be valid JSON. */
function faultOf(text: string): JsonFault | undefined {
  /** The names seen in each open object; undefined for an open array. */
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
          // Compares names with escapes resolved: `"a"` and `"\u0061"` are the same name.
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
