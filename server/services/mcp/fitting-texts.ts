// As much of a list as fits into a result.

/**
 * The first texts that have no more bytes than the limit together.
 *
 * @returns also whether some were left out
 */
export function fittingTexts(
  texts: readonly string[],
  limit: number,
): { readonly texts: readonly string[]; readonly isCut: boolean } {
  let bytes = 0
  // Each is followed by a comma.
  const end = texts.findIndex((text) => (bytes += Buffer.byteLength(text) + 1) > limit)
  return end < 0 ? { texts, isCut: false } : { texts: texts.slice(0, end), isCut: true }
}
