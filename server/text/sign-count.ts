// Counts signs, which tell how many values a text has before it is parsed.

/** Whether a text has at least so many of some ASCII characters, all together; one that is named twice counts twice. Reads it no further than that. */
export function hasSigns(text: Buffer | string, signs: string, count: number): boolean {
  if (text.length < count) return false
  return typeof text === 'string' ? hasSignsInText(text, signs, count) : hasSignsInBytes(text, signs, count)
}

function hasSignsInText(text: string, signs: string, count: number): boolean {
  let found = 0
  for (const sign of signs) {
    for (let at = text.indexOf(sign); at >= 0; at = text.indexOf(sign, at + 1)) if (++found >= count) return true
  }
  return false
}

/** A search for each of many signs takes ten times as long, and an iterator twice. */
function hasSignsInBytes(bytes: Buffer, signs: string, count: number): boolean {
  const weights = new Uint8Array(256)
  for (const sign of signs) weights[sign.charCodeAt(0)] = (weights[sign.charCodeAt(0)] ?? 0) + 1
  let found = 0
  const { length } = bytes
  for (let at = 0; at < length; at++) {
    found += weights[bytes[at] ?? 0] ?? 0
    if (found >= count) return true
  }
  return false
}
