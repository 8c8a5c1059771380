// Writes an array as JSON: from the text of PostgreSQL's arrays, `[0:1]={{1,2},{"a b",NULL}}`.
// https://www.postgresql.org/docs/current/arrays.html#ARRAYS-IO
import type { ValueForm } from './column-type.ts'
import { notWritten, writeNull, writeValue } from './value.ts'

const [quote, backslash, comma, opening, closing] = [0x22, 0x5c, 0x2c, 0x7b, 0x7d] as const
const [openingBracket, closingBracket] = [0x5b, 0x5d] as const

const nullText = Buffer.from('NULL')

const isNull = (source: Uint8Array, start: number, end: number): boolean =>
  end - start === nullText.length && nullText.every((byte, index) => source[start + index] === byte)

/** Writes an array of any number of dimensions. @returns where it ends, or `notWritten`; see `value.ts` for the room it needs */
export function writeArray(
  kind: ValueForm,
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  start: number,
  end: number,
): number {
  let next = at
  // Bounds that do not begin at 1 precede the elements, which contain no brace before their own.
  let index = source[start] === openingBracket ? source.indexOf(opening, start) : start
  if (index < 0) return notWritten
  while (index < end) {
    const byte = source[index] ?? 0
    if (byte === opening || byte === closing || byte === comma) {
      target[next++] = byte === opening ? openingBracket : byte === closing ? closingBracket : comma
      index++
      continue
    }
    if (byte === quote) {
      const { value, after } = quotedElement(source, index + 1, end)
      next = writeValue(kind, target, next, value, 0, value.length)
      index = after
    } else {
      const stop = endOfElement(source, index, end)
      next = isNull(source, index, stop) ? writeNull(target, next) : writeValue(kind, target, next, source, index, stop)
      index = stop
    }
    if (next < 0) return notWritten
  }
  return next
}

function endOfElement(source: Uint8Array, start: number, end: number): number {
  let index = start
  while (index < end && source[index] !== comma && source[index] !== closing) index++
  return index
}

/** An element in quotes, without its backslashes, and the place after its second quote. */
function quotedElement(source: Uint8Array, start: number, end: number): { value: Uint8Array; after: number } {
  let index = start
  let hasEscapes = false
  while (index < end && source[index] !== quote) {
    if (source[index] === backslash) {
      hasEscapes = true
      index++
    }
    index++
  }
  const given = source.subarray(start, index)
  return { value: hasEscapes ? withoutBackslashes(given) : given, after: index + 1 }
}

function withoutBackslashes(given: Uint8Array): Uint8Array {
  const value = new Uint8Array(given.length)
  let length = 0
  for (let index = 0; index < given.length; index++) {
    if (given[index] === backslash) index++
    value[length++] = given[index] ?? 0
  }
  return value.subarray(0, length)
}
