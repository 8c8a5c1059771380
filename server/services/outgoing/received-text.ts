// The body of a response of others: its beginning as text, whatever its length and encoding.
import type { IncomingMessage } from 'node:http'
import { JoinedPieces } from '../../common/joined-pieces.ts'

export type ReceivedText = {
  /** The beginning of the body; null if it is encoded, because it was asked for as it is. */
  readonly text: string | null
  /** Whether that is all of it. */
  readonly isWhole: boolean
  /** Why the rest did not arrive; null if it did, or was not wanted. */
  readonly fault: string | null
}

/** Bytes that are read and dropped after those that are kept, so that the connection can be used again. */
const droppedBytes = 1024 * 1024

/**
 * Reads a body to its end, or until it is too long.
 *
 * @param keptBytes the length of what is returned
 * @param signal ends it. What has arrived is returned then, too
 */
export async function receivedText(
  response: IncomingMessage,
  keptBytes: number,
  signal: AbortSignal,
): Promise<ReceivedText> {
  const pieces = new JoinedPieces()
  let size = 0
  let fault: string | null = null
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      if (size < keptBytes) pieces.add(piece.subarray(0, keptBytes - size))
      size += piece.length
      // Leaving the loop closes the connection.
      if (size > keptBytes + droppedBytes) break
    }
  } catch (error) {
    const reason: unknown = signal.aborted ? signal.reason : error
    fault = `the response broke off after ${size} bytes: ${reason instanceof Error ? reason.message : String(reason)}`
  }
  const isEncoded = (response.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity'
  return {
    // A character that was cut at the end is left out. Postgres stores no zero bytes.
    text: isEncoded ? null : new TextDecoder().decode(pieces.join(), { stream: true }).replaceAll('\0', '\u{fffd}'),
    isWhole: fault === null && size <= keptBytes,
    fault,
  }
}
