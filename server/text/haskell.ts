// Characters, numbers and texts as Haskell classifies and prints them, which clients of PostgREST see in errors and settings.
// Haskell 2010 Report, section 2.6 (character and string literals).

const letter = /\p{L}/u
const blank = /\p{Zs}/u

const isAsciiLetter = (codePoint: number): boolean =>
  (codePoint >= 0x61 && codePoint <= 0x7a) || (codePoint >= 0x41 && codePoint <= 0x5a)

/** 0 to 9. Digits of other scripts do not count. */
export const isDigit = (codePoint: number): boolean => codePoint >= 0x30 && codePoint <= 0x39

/** A letter of any script. */
export const isLetter = (codePoint: number): boolean =>
  codePoint < 0x80 ? isAsciiLetter(codePoint) : letter.test(String.fromCodePoint(codePoint))

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

/** A number as `Scientific` prints it: `80` -> `80.0`, `1e7` -> `1.0e7`, `0.05` -> `5.0e-2`. */
export function haskellNumber(number: number): string {
  const [mantissa = '0', exponent = '0'] = number.toExponential().split('e')
  const withPoint = (digits: string): string => (digits.includes('.') ? digits : `${digits}.0`)
  const power = Number(exponent)
  return power >= -1 && power <= 6 ? withPoint(String(number)) : `${withPoint(mantissa)}e${power}`
}

const controlNames =
  'NUL SOH STX ETX EOT ENQ ACK a b t n v f r SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB ESC FS GS RS US'.split(
    ' ',
  )

function escape(codePoint: number, quote: string): string {
  if (codePoint < 0x20) return `\\${controlNames[codePoint] ?? ''}`
  if (codePoint === 0x7f) return '\\DEL'
  if (codePoint > 0x7f) return `\\${codePoint}`
  const character = String.fromCharCode(codePoint)
  return character === quote || character === '\\' ? `\\${character}` : character
}

/** A character in single quotes. */
export const showCharacter = (character: string): string => `'${escape(character.codePointAt(0) ?? 0, "'")}'`

/** A string in double quotes. */
export function showText(text: string): string {
  let shown = ''
  let last = ''
  for (const character of text) {
    // The empty escape `\&` separates a numeric escape from a following digit, and `\SO` from a following `H`.
    const ambiguous = /^\\\d/.test(last) ? /\d/.test(character) : last === '\\SO' && character === 'H'
    last = escape(character.codePointAt(0) ?? 0, '"')
    shown += ambiguous ? `\\&${last}` : last
  }
  return `"${shown}"`
}
