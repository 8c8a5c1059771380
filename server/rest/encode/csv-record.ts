// Writes rows as CSV: the text form of a row in PostgreSQL without its parentheses, as PostgREST does.
// https://www.postgresql.org/docs/current/rowtypes.html#ROWTYPES-IO-SYNTAX

const [quote, backslash, comma, space] = [0x22, 0x5c, 0x2c, 0x20] as const
const [opening, closing, tab, carriageReturn] = [0x28, 0x29, 0x09, 0x0d] as const

/** Bytes that a row of so many bytes takes at most: each field has a length of four bytes before it. */
export const mostCsvBytes = (length: number): number => 2 * length

/** Whether a field with this byte is quoted. */
const isSpecial = (byte: number): boolean =>
  byte === quote ||
  byte === backslash ||
  byte === opening ||
  byte === closing ||
  byte === comma ||
  byte === space ||
  (byte >= tab && byte <= carriageReturn)

function needsQuotes(source: Uint8Array, start: number, end: number): boolean {
  if (start === end) return true
  for (let index = start; index < end; index++) if (isSpecial(source[index] ?? 0)) return true
  return false
}

/**
 * Writes a row.
 *
 * @param source its fields, from `start` to `end`: each a length of four bytes, which is negative for NULL, and its bytes
 * @returns where it ends
 */
export function writeCsvRecord(target: Uint8Array, at: number, source: Buffer, start: number, end: number): number {
  let next = at
  for (let from = start; from < end;) {
    if (from > start) target[next++] = comma
    const length = source.readInt32BE(from)
    from += 4
    if (length < 0) continue
    const to = from + length
    const isQuoted = needsQuotes(source, from, to)
    if (isQuoted) target[next++] = quote
    for (let index = from; index < to; index++) {
      const byte = source[index] ?? 0
      if (byte === quote || byte === backslash) target[next++] = byte
      target[next++] = byte
    }
    if (isQuoted) target[next++] = quote
    from = to
  }
  return next
}
