// Known differences between the responses of PostgREST 12.0.2 and of this server, as tables of reasons.
import type { Pair } from './answer-pair.ts'
import { differences, type Aspect, type Difference } from './differences.ts'

export type KnownDifference = {
  /** Of PostgREST, whose changelog mentions the issue; `this server` for what differs from all versions. */
  readonly version: string
  /** Null if the changelog does not mention it, but PostgREST 16.2's source shows it. */
  readonly issue: number | null
  readonly reason: string
  /** The aspects of a response that it explains; all of them, if only one of the responses is an error. */
  readonly aspects: 'all' | readonly [Aspect, ...Aspect[]]
  /** Whether it explains the difference in one of the aspects. */
  readonly explains: (difference: Difference, pair: Pair) => boolean
}

/** The entry of a table that explains a difference, if any. */
export const explanationIn = (
  table: readonly KnownDifference[],
  difference: Difference,
  pair: Pair,
): KnownDifference | undefined =>
  table.find(
    ({ aspects, explains }) => (aspects === 'all' || aspects.includes(difference.aspect)) && explains(difference, pair),
  )

/**
 * The differences of a pair that have no explanation.
 *
 * @param seen gets the explanations of the others
 */
export const unexplained = (
  pair: Pair,
  explanationOf: (difference: Difference, pair: Pair) => KnownDifference | undefined,
  seen: Set<KnownDifference>,
): Difference[] =>
  differences(pair.theirs, pair.ours).filter((difference) => {
    const explanation = explanationOf(difference, pair)
    if (explanation) seen.add(explanation)
    return explanation === undefined
  })
