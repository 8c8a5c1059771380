// Removes expired resumable uploads.
import { repeat } from '../../../common/repeated-task.ts'
import type { StorageContext } from '../storage-context.ts'
import { ResumableUploads } from './resumable-uploads.ts'

/** The longest time between two rounds, in milliseconds; uploads that expire sooner are removed sooner. */
const longestInterval = 600_000

/** @returns stops removing, and resolves when the round in progress, if any, has ended */
export function startExpiring(context: StorageContext): () => Promise<void> {
  const uploads = new ResumableUploads(context)
  const age = (): number => context.settings().storageTusUrlExpiryMs
  return repeat({
    run: () => uploads.removeExpired(age()),
    // Several processes that start together do not do the same at once.
    pause: () => Math.min(longestInterval, age()) * (0.5 + Math.random() / 2),
    onError: context.onError,
  })
}
