// "Did you mean": the known name that a mistyped one is nearest to.

const maxLength = 80
const maxDistance = 3

/** Number of characters to insert, remove or replace to turn one into the other (Levenshtein). */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (const [index, sign] of Array.from(one).entries()) {
    const next = [index + 1]
    for (let column = 1; column <= other.length; column++) {
      const replaced = (row[column - 1] ?? 0) + (sign === other[column - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[other.length] ?? 0
}

/** Undefined when no name is near. */
export function nearestName(name: string, names: Iterable<string>): string | undefined {
  if (name.length > maxLength) return undefined
  let nearest: string | undefined
  let least = maxDistance + 1
  for (const candidate of names) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const between = distance(name, candidate)
    if (between < least) {
      nearest = candidate
      least = between
    }
  }
  return nearest
}
