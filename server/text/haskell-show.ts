// Text as Haskell's `show` writes it: the form in which parse errors quote what they met.
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

/** A text in double quotes. */
export function showText(text: string): string {
  let shown = ''
  let last = ''
  for (const character of text) {
    // An empty escape keeps a number from running on into a digit, and `\SO` from being read as `\SOH`.
    const ambiguous = /^\\\d/.test(last) ? /\d/.test(character) : last === '\\SO' && character === 'H'
    last = escape(character.codePointAt(0) ?? 0, '"')
    shown += ambiguous ? `\\&${last}` : last
  }
  return `"${shown}"`
}
