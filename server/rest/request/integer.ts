// Integers as Haskell's `readMaybe` reads them: the form in which `limit`, `offset` and `max-affected` are written.
// Haskell 2010 Report, section 11.4 (Read), with the binary literals of base 4.21.
import { isBlank, strip } from '../../text/haskell-characters.ts'

const plain = /^-?\d{1,15}$/
const literal = /^(?:\d+|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)$/

/** What stands inside any number of parentheses and blanks. */
function insideParentheses(text: string): string {
  let start = 0
  let end = text.length
  for (;;) {
    while (start < end && isBlank(text.charCodeAt(start))) start += 1
    while (end > start && isBlank(text.charCodeAt(end - 1))) end -= 1
    if (end - start < 2 || text[start] !== '(' || text[end - 1] !== ')') return text.slice(start, end)
    start += 1
    end -= 1
  }
}

/**
 * Blanks and parentheses around it, a minus sign, and hexadecimal, octal and binary digits are allowed.
 * @returns undefined when the text is no integer
 */
export function readInteger(text: string): bigint | undefined {
  if (plain.test(text)) return BigInt(text)
  const signed = insideParentheses(text)
  const negative = signed.startsWith('-')
  const digits = negative ? strip(signed.slice(1)) : signed
  if (!literal.test(digits)) return undefined
  return negative ? -BigInt(digits) : BigInt(digits)
}

/** A number of rows, of any size: a bigint only where a number would lose digits. */
export type RowNumber = number | bigint

/** The shortest form of an integer. */
export function rowNumber(value: bigint): RowNumber {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** The sum of two numbers of rows, exact. */
export function addRows(a: RowNumber, b: RowNumber): RowNumber {
  const sum = typeof a === 'number' && typeof b === 'number' ? a + b : NaN
  return Number.isSafeInteger(sum) ? sum : rowNumber(BigInt(a) + BigInt(b))
}
