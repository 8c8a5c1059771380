// The metrics of a server without an admin server, where nothing can read them: nothing is measured.
import type { Metrics } from './metrics.ts'

const ignore = (): void => undefined

export const unreadMetrics: Metrics = {
  text: () => Promise.resolve(''),
  expose: () => Promise.resolve({ type: 'text/plain', body: '' }),
  schemaCacheLoaded: ignore,
  schemaCacheFailed: ignore,
  poolTimedOut: ignore,
  requestAnswered: ignore,
  roundTripEnded: ignore,
  spansExported: ignore,
  exportEnded: ignore,
  analysis: { waited: ignore, decoded: ignore, inferred: ignore, killed: ignore },
  watchRefusals: ignore,
  watchArchive: ignore,
  watchRealtime: ignore,
  watchMcp: ignore,
  watchSchedules: ignore,
  watchFunctions: ignore,
  watchWebhooks: ignore,
  watchAnalysisQueue: ignore,
}
