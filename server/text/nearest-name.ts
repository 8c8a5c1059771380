// "Did you mean": finds the known name closest to a mistyped one.
import { editDistance } from './edit-distance.ts'

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
