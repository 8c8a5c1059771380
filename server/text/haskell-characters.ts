// Characters as Haskell classifies them (`Data.Char`).

const letter = /\p{L}/u
const letterOrNumber = /[\p{L}\p{N}]/u
const blank = /\p{Zs}/u

const isAsciiLetter = (codePoint: number): boolean =>
  (codePoint >= 0x61 && codePoint <= 0x7a) || (codePoint >= 0x41 && codePoint <= 0x5a)

/** 0 to 9. Digits of other scripts do not count. */
export const isDigit = (codePoint: number): boolean => codePoint >= 0x30 && codePoint <= 0x39

/** A letter of any script. */
export const isLetter = (codePoint: number): boolean =>
  codePoint < 0x80 ? isAsciiLetter(codePoint) : letter.test(String.fromCodePoint(codePoint))

/** A letter or number of any script. */
export const isLetterOrNumber = (codePoint: number): boolean =>
  codePoint < 0x80
    ? isAsciiLetter(codePoint) || isDigit(codePoint)
    : letterOrNumber.test(String.fromCodePoint(codePoint))

/** White space. Unlike JavaScript's, it does not include U+2028, U+2029 and U+FEFF. */
export const isBlank = (codePoint: number): boolean =>
  codePoint < 0x80
    ? codePoint === 0x20 || (codePoint >= 0x09 && codePoint <= 0x0d)
    : blank.test(String.fromCodePoint(codePoint))

/** Removes white space at both ends. */
export function strip(text: string): string {
  let start = 0
  let end = text.length
  // No character beyond U+FFFF is white space, so comparing UTF-16 code units is enough.
  while (start < end && isBlank(text.charCodeAt(start))) start += 1
  while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1
  return text.slice(start, end)
}
