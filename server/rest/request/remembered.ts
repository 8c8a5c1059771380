// Remembers what the texts of a request mean that decide about its plan: names, select lists, orders, words in the place of
// an operator. Such a word may be the beginning of a value; what is remembered of it is an error without that value.
import { bytesOfText, longestKey, SecondChanceCache } from '../../common/second-chance-cache.ts'
import type { TrailingText } from './parser.ts'

/** The texts of one grammar, and their bytes with what they mean. */
const limits = { entries: 500, bytes: 1024 * 1024 }
/** Estimated bytes of what a text means, for each byte of the text. Long select lists have the largest results. */
const cost = 16

/** Copies a text, so that the longer text it is a slice of, which has values, can be garbage-collected. */
export const copied = (text: string): string => Buffer.from(text).toString()

/**
 * A parser that remembers the results of short texts.
 *
 * @param parse throws for an invalid text, which is not remembered
 */
export function remembering<T extends object>(
  parse: (text: string, trailing: TrailingText) => T,
): (text: string, trailing: TrailingText) => T {
  const known = { rejected: new SecondChanceCache<T>(limits), ignored: new SecondChanceCache<T>(limits) }
  return (text, trailing) => {
    // A longer one would rather fill the cache than be repeated.
    if (text.length > longestKey) return parse(text, trailing)
    const found = known[trailing].get(text)
    if (found) return found
    const own = copied(text)
    const parsed = parse(own, trailing)
    known[trailing].add(own, parsed, cost * bytesOfText(own))
    return parsed
  }
}
