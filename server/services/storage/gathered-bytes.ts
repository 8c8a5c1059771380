// The body of an upload, in pieces that are worth their cost.
import { Readable } from 'node:stream'
import { JoinedPieces } from '../../common/joined-pieces.ts'

/** Bytes that are passed on as soon as there are as many. */
const enough = 16 * 1024
/** Bytes that may wait for the reader before the source is paused. */
const highWaterMark = 64 * 1024

/**
 * Joins what arrives in one turn of the event loop. A client may send chunks of one byte, each of which would pass every stream, iterator and hash by itself.
 * Pieces of usual sizes are passed on as they are.
 *
 * @param source is left open when the result is destroyed, and what it has then is not read
 * @returns fails as the source does, or when it ends early
 */
export function gatheredBytes(source: Readable): Readable {
  let pieces = new JoinedPieces()
  let size = 0
  let due: NodeJS.Immediate | undefined
  const passOn = (): void => {
    clearImmediate(due)
    due = undefined
    if (size === 0) return
    const bytes = pieces.join()
    pieces = new JoinedPieces()
    size = 0
    if (!gathered.push(bytes)) source.pause()
  }
  const onData = (chunk: Buffer): void => {
    pieces.add(chunk)
    size += chunk.length
    if (size >= enough) passOn()
    else due ??= setImmediate(passOn)
  }
  const onEnd = (): void => {
    passOn()
    stop()
    gathered.push(null)
  }
  const onClose = (): void => void gathered.destroy(source.errored ?? new Error('the source ended early'))
  const stop = (): void => {
    clearImmediate(due)
    source.off('data', onData).off('end', onEnd).off('close', onClose)
  }
  const gathered = new Readable({
    highWaterMark,
    read: () => void source.resume(),
    destroy: (error, done) => {
      stop()
      if (!source.readableEnded) source.pause()
      done(error)
    },
  })
  // That of the source is passed on at its end, and a reader that comes later gets that of the result.
  source.on('error', () => undefined)
  gathered.on('error', () => undefined)
  if (source.destroyed) onClose()
  else source.on('data', onData).on('end', onEnd).on('close', onClose).pause()
  return gathered
}
