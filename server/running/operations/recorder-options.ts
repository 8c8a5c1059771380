// Where requests are recorded.
import type { Metrics } from './metrics.ts'
import type { Recording } from './request-record.ts'
import type { Tracer } from './tracing/tracer.ts'

export type RecorderOptions = Recording & {
  /** Undefined: requests are not traced. */
  readonly tracer: Tracer | undefined
  /** Whether requests are recorded even if they are not watched. */
  readonly isAlwaysActive: boolean
  readonly metrics: Pick<Metrics, 'requestAnswered'>
}
