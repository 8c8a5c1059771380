// Limits the memory for garbage.
import { setFlagsFromString } from 'node:v8'

/**
 * Lets the heap grow by half before garbage is collected. V8's default is several times as much, which saves little time
 * here, because nearly all garbage is young. V8 reads this setting after every collection. The size of the young
 * generation can only be set on Node's command line (see the scripts of `package.json`).
 */
export const keepHeapSmall = (): void => setFlagsFromString('--heap-growing-percent=50')
