// Decides which requests are refused because the server is overloaded: before their body, their credentials and their plan,
// so that a refusal costs little.
import type { Access } from '../../postgres/admission.ts'
import { LoopDelay } from './loop-delay.ts'
import { RefusalLines, type Overload } from './refusals.ts'

export type LoadSheddingOptions = {
  /** Milliseconds that requests may wait; 0: none is refused. */
  readonly wait: number
  /** Whether a transaction of this kind would wait too long for a connection. */
  readonly isPoolOverloaded: (access: Access) => boolean
  /** Called when the processor begins to be overloaded, and when it no longer is. */
  readonly onProcessorOverload?: (isOverloaded: boolean) => void
}

/** Milliseconds for which an overload is reported after the last refusal: clients are asked to wait about as long. */
const reportTime = 2000

export class LoadShedding {
  /** Which refusals are logged one by one. */
  readonly refusalLines = new RefusalLines()
  readonly #loop: LoopDelay
  readonly #isPoolOverloaded: LoadSheddingOptions['isPoolOverloaded']
  readonly #isOn: boolean
  readonly #now: () => number
  readonly #refused: Record<Overload, number> = { pool: 0, processor: 0 }
  #lastRefusal = -Infinity
  #lastReason: Overload = 'pool'

  constructor(
    { wait, isPoolOverloaded, onProcessorOverload }: LoadSheddingOptions,
    loop = new LoopDelay(wait, onProcessorOverload),
    now = (): number => performance.now(),
  ) {
    this.#isOn = wait > 0
    this.#isPoolOverloaded = isPoolOverloaded
    this.#loop = loop
    this.#now = now
  }

  /** Begins to watch the event loop. The returned function stops it. */
  start(): () => void {
    return this.#isOn ? this.#loop.start() : () => undefined
  }

  /**
   * Why a request that has arrived is refused; undefined when it may be served. Only requests to the REST API are judged by the pool:
   * others may not need it, and are refused there if they do.
   *
   * @param method HTTP method. GET and HEAD read; other methods may do both, so they are refused only when neither can run.
   */
  reasonFor(method: string | undefined, isRest: boolean): Overload | undefined {
    if (!this.#isOn) return undefined
    this.#loop.countRequest()
    if (isRest && this.#isPoolOverloadedFor(method)) return 'pool'
    return this.#loop.admit() ? undefined : 'processor'
  }

  #isPoolOverloadedFor(method: string | undefined): boolean {
    if (!this.#isPoolOverloaded('read')) return false
    return method === 'GET' || method === 'HEAD' || this.#isPoolOverloaded('write')
  }

  /** Records a refusal. */
  refused(reason: Overload): void {
    this.#refused[reason]++
    this.#lastRefusal = this.#now()
    this.#lastReason = reason
  }

  /** Number of refusals since the start. */
  get refusals(): Readonly<Record<Overload, number>> {
    return this.#refused
  }

  /** Why requests are being refused; undefined when none was lately. */
  get overload(): Overload | undefined {
    return this.#now() - this.#lastRefusal < reportTime ? this.#lastReason : undefined
  }
}

/**
 * Whether a request target belongs to a route that is served however overloaded the server is: those that tell balancers and
 * people about it.
 *
 * @param analysisPath base path of the image analysis, without a slash at its end; undefined without that service
 */
export function exemptFromShedding(analysisPath: string | undefined): (target: string) => boolean {
  const ofAnalysis = analysisPath === undefined ? [] : [`${analysisPath}/health`, `${analysisPath}/ready`]
  const exempt = new Set(['', '/health', '/ready', '/openapi.json', '/docs-json', '/docs', ...ofAnalysis])
  return (target) => {
    const path = target.replace(/[?#].*$/s, '').replace(/\/$/, '')
    return exempt.has(path) || path.startsWith('/docs/')
  }
}
