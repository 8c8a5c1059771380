// Writes values as JSON: from the text that the server sends, which is the text of the type's output function, to what
// `to_json` makes of it. The functions write to `target` from `at`, and return where they have stopped; the caller provides
// the room: `mostGrowth` bytes for each byte of the source, and `mostAdded` for each value.
import { isDigit } from '../../text/json-scanner.ts'
import { form, type ValueForm } from './column-type.ts'

/** A control character becomes six characters. */
export const mostGrowth = 6
/** Quotes, and the end of a time zone. */
export const mostAdded = 8

/** A place that no value ends at: the value is not in the format that it should have. */
export const notWritten = -1

export const quote = 0x22
const backslash = 0x5c
const space = 0x20
const minus = 0x2d
const plus = 0x2b
const colon = 0x3a
const [letterC, letterI, smallI, letterN, letterT, smallT] = [0x43, 0x49, 0x69, 0x4e, 0x54, 0x74] as const

const shortEscapes = new Map([
  [0x08, 0x62],
  [0x09, 0x74],
  [0x0a, 0x6e],
  [0x0c, 0x66],
  [0x0d, 0x72],
  [quote, quote],
  [backslash, backslash],
])
const hexadecimal = Buffer.from('0123456789abcdef')

function writeEscape(target: Uint8Array, at: number, byte: number): number {
  let end = at
  target[end++] = backslash
  const short = shortEscapes.get(byte)
  if (short !== undefined) {
    target[end++] = short
    return end
  }
  target[end++] = 0x75
  target[end++] = 0x30
  target[end++] = 0x30
  target[end++] = hexadecimal[byte >> 4] ?? 0
  target[end++] = hexadecimal[byte & 15] ?? 0
  return end
}

/** A string with the bytes of the source, which are UTF-8. */
export function writeText(target: Uint8Array, at: number, source: Uint8Array, start: number, end: number): number {
  let next = at
  target[next++] = quote
  for (let index = start; index < end; index++) {
    const byte = source[index] ?? 0
    if (byte < space || byte === quote || byte === backslash) next = writeEscape(target, next, byte)
    else target[next++] = byte
  }
  target[next++] = quote
  return next
}

/** Bytes of what `writeText` writes between the quotes. */
export function lengthOfText(source: Uint8Array, start: number, end: number): number {
  let length = end - start
  for (let index = start; index < end; index++) {
    const byte = source[index] ?? 0
    if (byte < space) length += shortEscapes.has(byte) ? 1 : mostGrowth - 1
    else if (byte === quote || byte === backslash) length++
  }
  return length
}

/** The bytes of the source as they are. */
function writeRaw(target: Uint8Array, at: number, source: Uint8Array, start: number, end: number): number {
  if (end - start > longCopy) {
    target.set(source.subarray(start, end), at)
    return at + end - start
  }
  let next = at
  for (let index = start; index < end; index++) target[next++] = source[index] ?? 0
  return next
}

/** Bytes above which a copy by the engine is faster than a loop. */
export const longCopy = 64

function writePlain(target: Uint8Array, at: number, source: Uint8Array, start: number, end: number): number {
  target[at] = quote
  const next = writeRaw(target, at + 1, source, start, end)
  target[next] = quote
  return next + 1
}

/** Whether a number is one in JSON, too: infinity and NaN are strings. */
export function isNumber(source: Uint8Array, start: number): boolean {
  const first = source[start] ?? 0
  return first === minus ? source[start + 1] !== letterI : first !== letterI && first !== letterN
}

const literals = { true: Buffer.from('true'), false: Buffer.from('false'), null: Buffer.from('null') }

function writeLiteral(target: Uint8Array, at: number, literal: Buffer): number {
  let next = at
  for (const byte of literal) target[next++] = byte
  return next
}

export const writeNull = (target: Uint8Array, at: number): number => writeLiteral(target, at, literals.null)

/** Whether a time begins with a year, as with `DateStyle` ISO and no other, or is infinite. */
function isIso(source: Uint8Array, start: number, end: number): boolean {
  const first = source[start] ?? 0
  if (first === smallI || first === minus) return true
  if (end - start < 10) return false
  for (let index = start; index < start + 4; index++) if (!isDigit(source[index])) return false
  return true
}

/** Writes a date and time, which PostgreSQL separates by a space, and JSON by a T. */
function writeTime(
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  start: number,
  end: number,
  hasZone: boolean,
): number {
  if (!isIso(source, start, end)) return notWritten
  if (!isDigit(source[start])) return writePlain(target, at, source, start, end)
  // Years have four digits or more, and the era follows the zone.
  const stop = source[end - 1] === letterC ? end - eraLength : end
  const separator = source[start + 10] === space ? start + 10 : source.indexOf(space, start + 10)
  let next = at
  target[next++] = quote
  for (let index = start; index < stop; index++) target[next++] = source[index] ?? 0
  target[at + 1 + separator - start] = letterT
  if (hasZone) next = endZone(target, next)
  for (let index = stop; index < end; index++) target[next++] = source[index] ?? 0
  target[next++] = quote
  return next
}

/** Bytes of ` BC`. */
const eraLength = 3

/** A zone of full hours is `+00` in a text, and `+00:00` in JSON. */
function endZone(target: Uint8Array, at: number): number {
  const sign = target[at - 3]
  if (sign !== plus && sign !== minus) return at
  target[at] = colon
  target[at + 1] = 0x30
  target[at + 2] = 0x30
  return at + 3
}

/** Writes a value that is not an array. @returns where it ends, or `notWritten` */
export function writeValue(
  kind: ValueForm,
  target: Uint8Array,
  at: number,
  source: Uint8Array,
  start: number,
  end: number,
): number {
  switch (kind) {
    case form.text:
      return writeText(target, at, source, start, end)
    case form.plain:
      return writePlain(target, at, source, start, end)
    case form.number:
      return isNumber(source, start)
        ? writeRaw(target, at, source, start, end)
        : writePlain(target, at, source, start, end)
    case form.boolean:
      return writeLiteral(target, at, source[start] === smallT ? literals.true : literals.false)
    case form.json:
      return writeRaw(target, at, source, start, end)
    case form.date:
      return isIso(source, start, end) ? writePlain(target, at, source, start, end) : notWritten
    case form.timestamp:
      return writeTime(target, at, source, start, end, false)
    case form.timestamptz:
      return writeTime(target, at, source, start, end, true)
    default:
      return kind satisfies never
  }
}
