// How long the event loop is occupied without interruption.
import { closeSync, openSync, readSync } from 'node:fs'

/** Nanoseconds of processor time, then others. Linux only; elsewhere the clock is read, which other programs delay. */
const threadTimes = '/proc/thread-self/schedstat'

/** The longest turn of the event loop while some work runs, in milliseconds of processor time of this thread. */
export async function longestTurnDuring(work: () => Promise<unknown>): Promise<number> {
  const { now, close } = threadClock()
  let last = now()
  let longest = 0
  let isOver = false
  const look = (): void => {
    if (isOver) return
    const time = now()
    longest = Math.max(longest, time - last)
    last = time
    setImmediate(look)
  }
  look()
  try {
    await work()
  } finally {
    isOver = true
    close()
  }
  return longest
}

/** Reads the milliseconds of processor time of this thread, or those of the clock where that is not known. */
export function threadClock(): { readonly now: () => number; readonly close: () => void } {
  try {
    const file = openSync(threadTimes, 'r')
    const bytes = Buffer.alloc(100)
    return {
      now: () => parseInt(bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0)), 10) / 1e6,
      close: () => closeSync(file),
    }
  } catch {
    return { now: () => performance.now(), close: () => undefined }
  }
}
