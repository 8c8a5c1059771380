// Lines to a file descriptor, in pieces, without waiting. What `pino.destination` does, but for one thing: its
// `flushSync` tries for ever when the descriptor is dead, as standard output is once its terminal has been closed, and
// so the process would never end.
import { write as writeAsync, writeSync } from 'node:fs'

export type BufferedOutput = {
  /** Takes a line; it is lost when too much is held already, because nobody reads. */
  readonly write: (text: string) => void
  /** Writes what is held, waiting a second at most for a reader that is slow. */
  readonly flushSync: () => void
}

/** Characters from which on a piece is written at once. */
const enough = 4096
/** Milliseconds after which it is written anyway. */
const patience = 250
/** Characters held for a reader that is slow. */
const limit = 16 * 1024 * 1024

/** The descriptor is set not to block, and its reader is behind. */
const isBusy = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && (error.code === 'EAGAIN' || error.code === 'EBUSY')

/** Also writes what is left when the process exits. Where writing fails, the piece is lost and the next one is tried. */
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
