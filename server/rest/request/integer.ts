// Integers as Haskell's `readMaybe` reads them: the form in which `limit`, `offset` and `max-affected` are written.
// Haskell 2010 Report, section 11.4 (Read), with the binary literals of base 4.21.
import { isBlank, strip } from './text.ts'

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

const maxBigint = 2n ** 63n - 1n

/**
 * A number of rows. What Postgres's bigint can hold but a JavaScript number cannot becomes the greatest safe integer, which
 * no table reaches; what is beyond bigint stays beyond it, so that Postgres refuses it.
 */
export function rowNumber(value: bigint): number {
  const size = value < 0n ? -value : value
  const number = size <= maxBigint ? Math.min(Number(size), Number.MAX_SAFE_INTEGER) : 1e20
  return value < 0n ? -number : number
}
