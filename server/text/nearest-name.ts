// "Did you mean": the known name that a mistyped one is nearest to.
import { editDistance } from './edit-distance.ts'

const maxLength = 80
const maxDistance = 3

/** Undefined when no name is near. */
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
