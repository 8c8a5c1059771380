// Integers in the syntax of Haskell's `readMaybe`, which PostgREST uses for `limit`, `offset` and `max-affected`.
// Haskell 2010 Report, section 11.4 (Read), with the binary literals of base 4.21.
import { isBlank, strip } from '../../text/haskell.ts'

const plain = /^-?\d{1,15}$/
const literal = /^(?:\d+|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)$/

/** Removes any number of parentheses and blanks around a text. */
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
 * Parses an integer. Allows blanks and parentheses around it, a minus sign, and hexadecimal, octal and binary digits.
 * @returns undefined when the text is not an integer
 */
export function readInteger(text: string): bigint | undefined {
  if (plain.test(text)) return BigInt(text)
  const signed = insideParentheses(text)
  const negative = signed.startsWith('-')
  const digits = negative ? strip(signed.slice(1)) : signed
  if (!literal.test(digits)) return undefined
  return negative ? -BigInt(digits) : BigInt(digits)
}

/** A number of rows of any size. A bigint only if a number would lose precision. */
export type RowNumber = number | bigint

/** Converts an integer to a number if that is exact. */
export function rowNumber(value: bigint): RowNumber {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value
}

/** Adds two numbers of rows exactly. */
export function addRows(a: RowNumber, b: RowNumber): RowNumber {
  const sum = typeof a === 'number' && typeof b === 'number' ? a + b : NaN
  return Number.isSafeInteger(sum) ? sum : rowNumber(BigInt(a) + BigInt(b))
}

/** The greatest LIMIT and OFFSET. */
const greatest = 2n ** 63n - 1n

/** Adds two numbers of rows for a LIMIT or OFFSET. The sum is out of range only if the first number is. */
export function limitedSum(a: RowNumber, b: RowNumber): RowNumber {
  const sum = addRows(a, b)
  return sum > greatest && a <= greatest ? greatest : sum
}
