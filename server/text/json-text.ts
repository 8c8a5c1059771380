// Strict JSON. RFC 8259 does not define the meaning of an object with duplicate names, so such objects are rejected.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { JsonTokens } from './json-tokens.ts'
import { hasSigns } from './sign-count.ts'

/** More than the bodies of our own routes need. */
const maxDepth = 32
/** Parsing and checking so many values takes some 10 ms. */
const mostSignsOfBodies = 50_000
/** Of JSON that may have many values: rows, batches, and the names of objects. 1000 rows of 50 columns have as many. */
export const mostSigns = 100_000

export type JsonFault =
  | 'is not valid UTF-8'
  | 'is not valid JSON'
  | 'is nested too deeply'
  | 'has a name twice in one object'
  | 'has too many values'
export type JsonReading =
  | { readonly kind: 'value'; readonly value: unknown; readonly text: string }
  | { readonly kind: 'fault'; readonly fault: JsonFault }

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

/** The same, with other work of the process between its parts: for large texts. */
export async function readLargeJson(bytes: Buffer, mostSigns = mostSignsOfBodies): Promise<JsonReading> {
  if (hasMoreSigns(bytes, mostSigns)) return { kind: 'fault', fault: 'has too many values' }
  await nextTurn()
  const text = utf8Text(bytes)
  if (text === undefined) return { kind: 'fault', fault: 'is not valid UTF-8' }
  const value = parsed(text)
  if (value === undefined) return { kind: 'fault', fault: 'is not valid JSON' }
  await nextTurn()
  return checked(text, value)
}

/** Whether JSON has more than so many commas, colons and opening brackets, those in strings as well. */
export const hasMoreSigns = (json: Buffer | string, limit: number): boolean => hasSigns(json, ',:[{', limit + 1)

/** Parses JSON. `__proto__` is an ordinary property name. */
export function readJson(text: string): JsonReading {
  const value = parsed(text)
  return value === undefined ? { kind: 'fault', fault: 'is not valid JSON' } : checked(text, value)
}

/** Undefined if it is not valid. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function checked(text: string, value: unknown): JsonReading {
  const fault = faultOf(text)
  return fault === undefined ? { kind: 'value', value, text } : { kind: 'fault', fault }
}

/** @param text valid JSON */
function faultOf(text: string): JsonFault | undefined {
  /** The names seen in each open object; undefined for an open array. */
  const open: (Set<string> | undefined)[] = []
  const tokens = new JsonTokens(text)
  for (let kind = tokens.next(); kind; kind = tokens.next()) {
    switch (kind) {
      case '{':
      case '[':
        open.push(kind === '{' ? new Set() : undefined)
        if (open.length > maxDepth) return 'is nested too deeply'
        break
      case '}':
      case ']':
        open.pop()
        break
      case 'string': {
        if (!tokens.isName) break
        // Compares names with escapes resolved: `"a"` and `"\u0061"` are the same name.
        const name = tokens.value
        const names = open.at(-1)
        if (names?.has(name)) return 'has a name twice in one object'
        names?.add(name)
        break
      }
      default:
    }
  }
  return undefined
}

const surrogateEscape = /\\u[dD][89a-fA-F]/
const escapes = /\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u([0-9a-fA-F]{4})|[^u])/g

/** Whether a string in valid JSON has an escaped lone surrogate, which JavaScript accepts but PostgreSQL rejects. */
export function hasLoneSurrogate(text: string): boolean {
  // A plain text search is thirty times faster.
  if (!text.includes('\\u') || !surrogateEscape.test(text)) return false
  for (const [, code] of text.matchAll(escapes)) if (code !== undefined && /^[dD][89a-fA-F]/.test(code)) return true
  return false
}
