// Receives bytes whose number is not known before.

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
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of source) {
    size += chunk.length
    if (size > limit) throw tooMany()
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
