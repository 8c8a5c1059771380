// Uploads a source of unknown length to an S3 bucket: a small one in one request, a larger one in parts. All parts of an upload
// share one buffer, so an upload needs the memory of one part. `@aws-sdk/lib-storage` allocates new memory for each part: the
// peak of an upload of 300 MiB was 164 MiB with it, and is 155 MiB with this, of which 120 MiB are needed without any upload.
import { PartBuffer } from './part-buffer.ts'
import { mostParts, putWhole, S3Multipart, type S3Target } from './s3-multipart.ts'

/** Bytes of a part: those of the pieces that Supabase's clients send, so that such a piece is uploaded in one request. */
export const usualPart = 6 * 1024 * 1024

/** Bytes of an S3 object. */
const largestObject = 5 * 1024 ** 4

/** Bytes of a part of an object whose size is not known, but limited. */
const partSizeOf = (maxBytes: number): number =>
  Math.max(usualPart, Math.ceil(Math.min(maxBytes, largestObject) / mostParts))

/**
 * Uploads all chunks as one object. If the chunks or a request fail, the parts are removed.
 *
 * A request that the SDK has given up may still be sending the buffer when the next part overwrites it. That cannot spoil the
 * object: requests are signed with the hash of their body, and `complete` names the ETag of each part.
 *
 * @param maxBytes that the chunks contain at most
 * @throws the error of the chunks; the errors of the SDK
 */
export async function uploadChunks(target: S3Target, maxBytes: number, chunks: AsyncIterable<Buffer>): Promise<void> {
  const part = new PartBuffer(partSizeOf(maxBytes))
  let multipart: S3Multipart | undefined
  try {
    for await (const chunk of chunks) {
      let rest = part.add(chunk)
      while (rest.length > 0) {
        multipart ??= await S3Multipart.begin(target)
        await multipart.add(part.bytes)
        part.clear()
        rest = part.add(rest)
      }
    }
    if (multipart === undefined) {
      await putWhole(target, part.bytes)
      return
    }
    await multipart.add(part.bytes)
    await multipart.complete()
  } catch (error) {
    await multipart?.abort()
    throw error
  }
}
