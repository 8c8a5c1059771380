// The dashboard for Grafana: what it shows exists in the metrics.
import t from 'tap'
import { readFile } from 'node:fs/promises'
import { startedStatus } from '../../../server/postgres/backup/archive-status.ts'
import { RealtimeStatistics } from '../../../server/services/realtime/statistics.ts'
import { createMetrics } from '../../../server/running/operations/metrics.ts'

type Panel = { readonly title: string; readonly targets?: readonly { readonly expr: string }[] }
type Dashboard = {
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly query: string | { readonly query: string } }[] }
}

const file = new URL('../../../server/running/operations/grafana-dashboard.json', import.meta.url)
const dashboard = JSON.parse(await readFile(file, 'utf8')) as Dashboard

const metrics = createMetrics({
  database: () => ({
    ...{ total: 2, idle: 1, waiting: 0, admitsWrites: true, unplacedBytes: 0 },
    sharing: { connections: 1, running: 0, runs: 5 },
  }),
  poolSize: 10,
  jwtCache: () => ({ requests: 1, hits: 0, evictions: 0 }),
  planCache: () => ({ lookups: 1, hits: 0 }),
  replicas: () => [{ name: 'replica:5432', isUsable: true, lagSeconds: 0, reads: 1, reruns: 0 }],
})
metrics.requestAnswered({ method: 'GET', route: 'films', role: 'anon', status: 200, seconds: 0.01 })
metrics.roundTripEnded(0.01, undefined)
metrics.schemaCacheLoaded(1)
metrics.exportEnded({ rows: 1, bytes: 1, milliseconds: 1, error: undefined })
metrics.spansExported(1, true)
metrics.watchRefusals(() => ({ pool: 1 }))
metrics.watchArchive(() => startedStatus(Date.now()))
const counts = new RealtimeStatistics()
counts.drop('slow client')
metrics.watchRealtime(() => ({ counts, log: undefined }))
const text = await metrics.text()
/** The labels of each metric. */
const labels = new Map<string, Set<string>>()
for (const [, name = '', all = ''] of text.matchAll(/^(\w+)(?:\{([^}]*)\})? /gm)) {
  const known = labels.get(name) ?? new Set(['job'])
  for (const [, label = ''] of all.matchAll(/(\w+)="/g)) known.add(label)
  labels.set(name, known)
}

const functions = new Set(['sum', 'rate', 'by', 'max', 'topk', 'increase', 'histogram_quantile', 'label_values'])

/** Names of metrics, and the labels that are used with any of them. */
function namesIn(expression: string): { readonly metrics: string[]; readonly labels: string[] } {
  const bare = expression.replaceAll(/"[^"]*"|\$\w+/g, '')
  const used = Array.from(
    bare.matchAll(/(?:by \(|\{|, |,)([a-z_]+)(?=[,)=!])|, ([a-z]+)\)/g),
    (found) => found[1] ?? found[2] ?? '',
  )
  const words = bare.replaceAll(/\{[^}]*\}|\[[^\]]*\]|by \([^)]*\)|, \w+\)$/g, ' ')
  const metrics = Array.from(words.matchAll(/[a-z_]+/g), ([word]) => word).filter((word) => !functions.has(word))
  return { metrics, labels: used.filter((label) => !labels.has(label)) }
}

const targets = dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr })))
const variables = dashboard.templating.list.flatMap(({ query }) =>
  typeof query === 'string' ? [] : [{ title: 'a variable', expr: query.query }],
)

t.test('every expression uses metrics and labels that exist', async (t) => {
  t.ok(targets.length > 20)
  for (const { title, expr } of [...targets, ...variables]) {
    const used = namesIn(expr)
    t.ok(used.metrics.length > 0, `${title}: ${expr}`)
    const unknown = used.metrics.filter((name) => !labels.has(name))
    t.strictSame(unknown, [], `${title}: ${expr}`)
    const known = new Set(used.metrics.flatMap((name) => [...(labels.get(name) ?? [])]))
    t.strictSame(
      used.labels.filter((label) => !known.has(label)),
      [],
      `labels of ${title}: ${expr}`,
    )
  }
})

t.test('a metric or a label that does not exist would be noticed', async (t) => {
  t.strictSame(namesIn('sum by (colour) (rate(unknown_total{job=~"$job"}[$__rate_interval]))'), {
    metrics: ['unknown_total'],
    labels: ['colour', 'job'],
  })
})

t.test('every metric of the server is shown', async (t) => {
  const shown = new Set([...targets, ...variables].flatMap(({ expr }) => namesIn(expr).metrics))
  const base = (name: string): string => name.replace(/_(bucket|sum|count)$/, '')
  const shownBases = new Set([...shown].map(base))
  const hidden = [...labels.keys()].map(base).filter((name) => !shownBases.has(name))
  t.strictSame([...new Set(hidden)].sort(), [
    'image_analysis_decode_seconds',
    'image_analysis_queue_seconds',
    'pgrst_db_pool_available',
    'pgrst_jwt_cache_evictions_total',
    'rest_exported_rows_total',
    'rowhouse_replica_usable',
  ])
})
