// Writes lines to a file descriptor, buffered and without blocking. Replaces `pino.destination`, whose `flushSync` retries
// for ever when the descriptor is dead (such as standard output of a closed terminal), so that the process never ends.
import { write as writeAsync, writeSync } from 'node:fs'

export type BufferedOutput = {
  /** Buffers a line. Discards it if the buffer is full because the reader is too slow. */
  readonly write: (text: string) => void
  /** Writes the buffer, waiting at most a second for a slow reader. */
  readonly flushSync: () => void
}

/** Characters above which the buffer is written immediately. */
const enough = 4096
/** Milliseconds after which the buffer is written in any case. */
const patience = 250
/** Maximum characters to buffer for a slow reader. */
const limit = 16 * 1024 * 1024

/** Whether a write failed because the descriptor is non-blocking and its reader is slow. */
const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EBUSY')

/** Also writes the rest when the process exits. A chunk whose write fails is lost; the next one is tried. */
export function bufferedOutput(fd: number): BufferedOutput {
  let held = ''
  let isWriting = false
  let timer: NodeJS.Timeout | undefined

  const settle = (): void => {
    isWriting = false
    if (held.length >= enough) start()
    else if (held !== '') timer ??= setTimeout(start, patience).unref()
  }
  const send = (piece: Buffer): void => {
    writeAsync(fd, piece, (error, written) => {
      if (isBusy(error)) setTimeout(send, 20, piece)
      else if (!error && written < piece.length) send(piece.subarray(written))
      else settle()
    })
  }
  const start = (): void => {
    clearTimeout(timer)
    timer = undefined
    if (isWriting || held === '') return
    isWriting = true
    const piece = Buffer.from(held)
    held = ''
    send(piece)
  }
  const flushSync = (): void => {
    const deadline = Date.now() + 1000
    let piece = Buffer.from(held)
    held = ''
    while (piece.length > 0) {
      try {
        piece = piece.subarray(writeSync(fd, piece))
      } catch (error) {
        if (!isBusy(error) || Date.now() > deadline) return
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      }
    }
  }
  process.on('exit', flushSync)
  return {
    write: (text) => {
      if (held.length > limit) return
      held += text
      if (isWriting) return
      if (held.length >= enough) start()
      else timer ??= setTimeout(start, patience).unref()
    },
    flushSync,
  }
}
