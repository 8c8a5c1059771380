// How much memory the process lets garbage occupy.
import { setFlagsFromString } from 'node:v8'

/**
 * Lets the heap grow by half of what is in use before garbage is collected. V8 would let it grow to several times that,
 * which saves little time here: nearly all garbage is young. The size of the young generation can be set only when Node
 * is started (see the scripts of `package.json`). V8 reads this setting at the end of every collection.
 */
export const keepHeapSmall = (): void => setFlagsFromString('--heap-growing-percent=50')
