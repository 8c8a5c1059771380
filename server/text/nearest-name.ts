// "Did you mean": finds the known name closest to a mistyped one.

const maxLength = 80
const maxDistance = 3

/** The closest of `names` by edit distance. Undefined when none is close. */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  if (name.length > maxLength) return undefined
  const characters = Array.from(name)
  let nearest: string | undefined
  let least = maxDistance + 1
  for (const candidate of names) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const between = editDistance(characters, Array.from(candidate))
    if (between < least) {
      nearest = candidate
      least = between
    }
  }
  return nearest
}

/** Levenshtein distance: the number of insertions, deletions and substitutions that turn one string into the other. */
export function editDistance(from: readonly string[], to: readonly string[]): number {
  const row = Array.from(to, (_, at) => at + 1)
  for (let line = 0; line < from.length; line++) {
    let diagonal = line
    let left = line + 1
    for (let at = 0; at < to.length; at++) {
      const above = row[at] ?? 0
      left = Math.min(above + 1, left + 1, diagonal + (from[line] === to[at] ? 0 : 1))
      row[at] = left
      diagonal = above
    }
  }
  return row[to.length - 1] ?? from.length
}
