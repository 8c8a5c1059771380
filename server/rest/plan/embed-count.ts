// Limits the number of embeds: time and memory with which PostgreSQL plans their joins grow much faster than their number.
import { errors } from '../errors.ts'

type WithEmbeds = { readonly embeds: readonly WithEmbeds[] }

/** One hundred take about 0.3 s and 100 MB of a connection's process, four hundred would take 5 s and 3.4 GB. */
const mostEmbeds = 100

/** The number of embeds at all levels. */
export const countEmbeds = ({ embeds }: WithEmbeds): number =>
  embeds.reduce((sum, embed) => sum + 1 + countEmbeds(embed), 0)

/** @throws ApiError PGRSTX84 */
export function checkEmbedCount(tree: WithEmbeds): void {
  const count = countEmbeds(tree)
  if (count > mostEmbeds) throw errors.tooManyEmbeds(count, mostEmbeds)
}
