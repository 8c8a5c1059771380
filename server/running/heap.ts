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
 * Lets the heap grow by half before garbage is collected. V8's default is several times as much, which saves little time
 * here, because nearly all garbage is young. V8 reads this setting after every collection.
 *
 * Keeps V8 from creating objects in the old generation because others from the same place in the code lived long: once requests
 * had to wait, V8 created their arrays there for good, and each such array kept what it contained until a collection of the old
 * generation, which took a third of the processor time of an overload.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=50')
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/**
 * Lets the young generation grow to its largest size, or no further. V8 reads this setting whenever it would let it grow.
 * Many requests wait in an overload, and a small young generation is full of their objects: with 8 MB, half of the processor
 * time went into copying them, and only half as many requests were served as with 32 MB.
 */
export function letYoungGenerationGrow(grows: boolean): void {
  if (startsLarge) setFlagsFromString(`--semi-space-growth-factor=${grows ? 2 : 1}`)
}
