// Counts signs, which tell how many values a text has before it is parsed.

/** Whether a text has at least so many of some characters, all together. Reads it no further than that. */
export function hasSigns(text: Buffer | string, signs: string, count: number): boolean {
  if (text.length < count) return false
  let found = 0
  for (const sign of signs) {
    for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) if (++found >= count) return true
  }
  return false
}
