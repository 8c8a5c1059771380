// The order of names in lists that clients can see.

/** Surrogates stand for the highest code points, so they sort above every other code unit. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

/** Compares by code point, which is also the order of the names' UTF-8 bytes (plain `sort()` goes by UTF-16 units). */
export function compareNames(left: string, right: string): number {
  const length = Math.min(left.length, right.length)
  for (let at = 0; at < length; at++) {
    const difference = rank(left.charCodeAt(at)) - rank(right.charCodeAt(at))
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** The names once each, in order. */
export function sortedNames(names: Iterable<string>): string[] {
  return [...new Set(names)].sort(compareNames)
}
