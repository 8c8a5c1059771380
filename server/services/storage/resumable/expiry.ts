// Removes expired resumable uploads.
import type { StorageContext } from '../storage-context.ts'
import { ResumableUploads } from './resumable-uploads.ts'

/** The longest time between two rounds, in milliseconds; uploads that expire sooner are removed sooner. */
const longestInterval = 600_000

/** @returns stops removing, and waits for the round that is running */
export function startExpiring(context: StorageContext): () => Promise<void> {
  const uploads = new ResumableUploads(context)
  let timer: NodeJS.Timeout
  let isStopped = false
  let running: Promise<void> = Promise.resolve()
  const wait = (): void => {
    const { storageTusUrlExpiryMs: age } = context.settings()
    // Several processes that start together do not do the same at once.
    const milliseconds = Math.min(longestInterval, age) * (0.5 + Math.random() / 2)
    timer = setTimeout(() => {
      running = uploads
        .removeExpired(age)
        .then(() => undefined, context.onError)
        .finally(() => {
          if (!isStopped) wait()
        })
    }, milliseconds)
    timer.unref()
  }
  wait()
  return () => {
    isStopped = true
    clearTimeout(timer)
    return running
  }
}
