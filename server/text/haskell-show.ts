// Text as Haskell's `show` prints it. Parse errors quote unexpected input in this form.
// Haskell 2010 Report, section 2.6 (character and string literals).

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
