// Limits the memory for garbage.
import { performance } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Lets the heap grow by a fifth before garbage is collected, but by no less than 8 MB, which is V8's least step. V8's default is
 * several times as much, which saves little time here, because nearly all garbage is young. V8 reads this setting after every collection.
 *
 * Keeps V8 from creating objects in the old generation because others from the same place in the code lived long: once requests
 * had to wait, V8 created their arrays there for good, and each such array kept what it contained until a collection of the old
 * generation, which took a third of the processor time of an overload.
 */
export function keepHeapSmall(): void {
  setFlagsFromString('--heap-growing-percent=20')
  setFlagsFromString('--no-allocation-site-pretenuring')
}

/**
 * Collects all garbage and moves what is left together, which takes some 50 ms. A start leaves a quarter of the heap as garbage, which
 * V8 would keep until it needs the memory: a process at rest collects nothing.
 */
export function compactHeap(): void {
  setFlagsFromString('--compact-on-every-full-gc')
  setFlagsFromString('--expose-gc')
  // Contexts that are created from now on have the function.
  const collect = runInNewContext('gc') as () => void
  collect()
  setFlagsFromString('--no-expose-gc')
  setFlagsFromString('--no-compact-on-every-full-gc')
}

/**
 * Bytes of the young generation that suffice under a usual load: two halves of 4 MB. V8 starts with halves of 1 MB, and lets them
 * grow up to 16 MB as soon as some objects survive a collection, which those of the modules that a program loads do.
 */
const usualSize = 8 * 2 ** 20
/** Milliseconds between two looks at the load, and the share of them above which a process has something to do. */
const [interval, busyShare] = [250, 0.1]
/** Looks in a row at a process that has something to do after which that is load, not a start or a request or two. */
const looksUnderLoad = 8

const youngSize = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')?.space_size ?? usualSize

/** By how much the young generation may grow. V8 reads this setting whenever it would let it grow. */
function allowGrowth(factor: number): void {
  setFlagsFromString(`--semi-space-growth-factor=${factor}`)
}

/** Keeps the young generation as small as it is: of a process that is being started, nearly all objects stay. */
export const keepYoungGeneration = (): void => allowGrowth(1)

/** Elements of an array, and its bytes at least; below the size from which V8 creates objects outside of the young generation. */
const [elements, arrayBytes] = [4096, 4096 * 8]

/**
 * Makes the young generation grow once, in some milliseconds. V8 only does so in a collection, and only if more objects have survived
 * collections since it last could have than there is room for: requests leave so few that it took seconds or did not happen, and with
 * halves of 1 MB, collections took a fifth of the processor time of a write. So this creates objects that survive.
 */
function growYoungGeneration(factor: number): void {
  const before = youngSize()
  const inUse: number[][] = []
  allowGrowth(factor)
  // What fills it twice has survived one collection at least; the next one then lets it grow.
  for (let bytes = 0; bytes < 4 * before && youngSize() <= before; bytes += arrayBytes) {
    inUse.push(new Array<number>(elements).fill(0))
  }
  keepYoungGeneration()
}

/**
 * The size of the young generation by the load: at rest it stays small, under load it has the usual size, and in an overload it grows
 * without a limit of ours. Many requests wait then, and a small young generation is full of their objects: with 8 MB, half of the
 * processor time went into copying them, and only half as many requests were served as with 32 MB.
 */
export class YoungGeneration {
  #isOverloaded = false
  /** Looks in a row at which the process had something to do. */
  #busyLooks = 0
  #last = performance.eventLoopUtilization()

  /** Call it when an overload of the processor begins, and when it has ended. */
  readonly onOverload = (isOverloaded: boolean): void => {
    this.#isOverloaded = isOverloaded
    this.#adapt()
  }

  /**
   * Looks at the load again and again.
   *
   * @returns stops it
   */
  start(): () => void {
    const timer = setInterval(() => this.#adapt(), interval)
    timer.unref()
    return () => clearInterval(timer)
  }

  #adapt(): void {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.#last)
    this.#last = now
    // As V8 does by default.
    if (this.#isOverloaded) return allowGrowth(2)
    keepYoungGeneration()
    this.#busyLooks = utilization < busyShare ? 0 : this.#busyLooks + 1
    if (this.#busyLooks < looksUnderLoad) return
    const factor = Math.floor(usualSize / youngSize())
    if (factor >= 2) growYoungGeneration(factor)
  }
}
