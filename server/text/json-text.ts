// Strict JSON. RFC 8259 does not define the meaning of an object with duplicate names, so such objects are rejected.

/** More than the bodies of our own routes need. */
const maxDepth = 32
/** Parsing and checking so many values takes some 10 ms. */
const mostSignsOfBodies = 50_000
/** Of a JSON value that the server parses for `/rest/v1`: as many values as 1000 rows of 50 columns have. */
export const mostSigns = 100_000

export type JsonFault =
  | 'is not valid UTF-8'
  | 'is not valid JSON'
  | 'is nested too deeply'
  | 'has a name twice in one object'
  | 'has too many values'
export type JsonReading =
  { readonly kind: 'value'; readonly value: unknown } | { readonly kind: 'fault'; readonly fault: JsonFault }

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Decodes UTF-8, and leaves out a byte order mark; undefined if the bytes are not valid UTF-8. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    return utf8.decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * Parses JSON in UTF-8, as `readJson` does.
 *
 * @param mostSigns maximum number of commas, colons and opening brackets, those in strings as well: values take far more
 *   time and memory than a string of their length
 */
export function readJsonBytes(bytes: Buffer, mostSigns = mostSignsOfBodies): JsonReading {
  if (hasMoreSigns(bytes, mostSigns)) return { kind: 'fault', fault: 'has too many values' }
  const text = utf8Text(bytes)
  return text === undefined ? { kind: 'fault', fault: 'is not valid UTF-8' } : readJson(text)
}

/** Whether JSON has more than so many commas, colons and opening brackets, those in strings as well. */
export function hasMoreSigns(json: Buffer | string, limit: number): boolean {
  if (json.length <= limit) return false
  let count = 0
  for (const sign of ',:[{') {
    for (let at = json.indexOf(sign); at >= 0; at = json.indexOf(sign, at + 1)) if (++count > limit) return true
  }
  return false
}

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
