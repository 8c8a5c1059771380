// Counts bodies that the server collects, and what they occupy.
import { StreamedField } from '../../server/postgres/protocol/streamed-field.ts'
import type { SpillSpace } from '../../server/postgres/protocol/spill-space.ts'
import { until } from './until.ts'

export type CollectedBodies = {
  readonly bodies: number
  /** Bytes of memory and files that are taken. */
  readonly used: () => number
  /** Waits until nothing is taken; false if that takes too long. */
  readonly isFree: () => Promise<boolean>
}

/** Counts the bodies that this process collects from now on. */
export function countCollectedBodies(): CollectedBodies {
  const counts = { bodies: 0 }
  const spaces = new Set<SpillSpace>()
  // Replaced for the rest of the process.
  const collect = StreamedField.collected.bind(StreamedField)
  StreamedField.collected = (pieces, collection) => {
    counts.bodies++
    spaces.add(collection.space)
    return collect(pieces, collection)
  }
  const used = (): number => [...spaces].reduce((sum, { memory, disk }) => sum + memory.used + disk.used, 0)
  return Object.assign(counts, { used, isFree: () => until(() => used() === 0) })
}
