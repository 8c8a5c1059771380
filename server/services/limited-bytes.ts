// Receives bytes whose number is not known before.
import { JoinedPieces } from '../common/joined-pieces.ts'

/**
 * The bytes of all chunks. Stops reading as soon as there are more than `limit`.
 *
 * @throws the result of `tooMany`; the error of the source
 */
export async function limitedBytes(
  source: AsyncIterable<Uint8Array>,
  limit: number,
  tooMany: () => Error,
): Promise<Buffer> {
  const pieces = new JoinedPieces()
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > limit) throw tooMany()
    pieces.add(chunk)
  }
  return pieces.join()
}
