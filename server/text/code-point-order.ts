// Orders strings by code points, which is also the order of their UTF-8 bytes. Postgres sorts names this way, and Haskell
// sorts all text. JavaScript sorts by UTF-16 code units.

/** Surrogates encode the highest code points, so they sort above every other code unit. */
const rank = (unit: number): number => (unit < 0xd800 ? unit : unit < 0xe000 ? unit + 0x2000 : unit - 0x800)

/** Compares by code points: negative when `a` comes first, 0 when both are equal. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const difference = rank(a.charCodeAt(at)) - rank(b.charCodeAt(at))
    if (difference !== 0) return difference
  }
  return a.length - b.length
}

/** The distinct strings, sorted by code points. */
export const sortedTexts = (texts: Iterable<string>): string[] => [...new Set(texts)].sort(compareText)
