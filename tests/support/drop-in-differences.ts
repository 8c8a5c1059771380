import { explanationOf as explanationOfWrite, type KnownDifference, type Pair } from './known-write-differences.ts'
import type { Difference } from './differences.ts'

export const dropInDifferences: readonly KnownDifference[] = []

/** The row that explains a difference, if any: of this table, or of the one of all writes and calls. */
export const explanationOf = (difference: Difference, pair: Pair): KnownDifference | undefined =>
  dropInDifferences.find(
    ({ aspects, explains }) => (aspects === 'all' || aspects.includes(difference.aspect)) && explains(difference, pair),
  ) ?? explanationOfWrite(difference, pair)
