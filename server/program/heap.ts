// Limits the memory for garbage.
import { setFlagsFromString } from 'node:v8'

/** Node's options of this process. */
const options = [...process.execArgv, ...(process.env.NODE_OPTIONS ?? '').split(' ')]

/**
 * Whether the young generation starts with a size that suffices normally. V8 starts with 1 MB otherwise, and must let it grow.
 * Both sizes can only be set on Node's command line: see the scripts of `package.json`.
 */
const startsLarge = options.some((option) => option.startsWith('--min-semi-space-size='))

/**
 * Lets the heap grow by half before garbage is collected, and keeps the young generation as it is. V8's defaults are several
 * times as much, which saves little time here, because nearly all garbage is young. V8 reads these settings after every
 * collection.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=50')
  letYoungGenerationGrow(false)
}

/**
 * Lets the young generation grow to its largest size, or no further. Many requests wait in an overload, and a small young
 * generation is full of their objects: with 8 MB, half of the processor time went into copying them, and only half as many
 * requests were served as with 32 MB.
 */
export function letYoungGenerationGrow(grows: boolean): void {
  if (startsLarge) setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`)
}
