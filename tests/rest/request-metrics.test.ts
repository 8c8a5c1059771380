// Metrics of requests by route and role, in both formats. Clients cannot add series without bound.
import { connect } from 'node:net'
import t from 'tap'
import { createAdmin } from '../../server/running/operations/admin.ts'
import { createRegistry } from '../../server/running/operations/exposition.ts'
import { requestMetrics } from '../../server/running/operations/request-metrics.ts'
import { startApplication } from '../support/application.ts'
import { createFilmDatabase } from '../support/authenticator.ts'
import { caller } from '../support/call.ts'
import { startCollector } from '../support/collector.ts'
import { listen } from '../support/listening.ts'
import { bearer } from '../support/token.ts'

const { anonymous, uri } = await createFilmDatabase(t, 2)
const collector = await startCollector(t)
const { call, service, url } = await startApplication(t, uri, {
  ...{ SERVICES: 'rest,reports', REST_BASE_PATH: '/rest/v1', PGRST_DB_ANON_ROLE: anonymous },
  ...{ PGRST_ADMIN_SERVER_PORT: '1', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
})
const { engine, metrics, isReady } = service
const adminUrl = await listen(
  t,
  createAdmin({ schemaCache: () => engine.snapshot.schemaCache, metrics, isReady, isListening: () => true }),
)
const admin = caller(adminUrl)
const linesOf = (text: string, name: string) => text.split('\n').filter((line) => line.startsWith(name))

t.test('all services are measured, by route and role', async (t) => {
  await call('GET', '/rest/v1/films')
  await call('GET', '/report/77')
  const { text } = await admin('GET', '/metrics')
  const counts = linesOf(text, 'http_request_duration_seconds_count')
  t.ok(
    counts.some((line) => line.includes(`route="films",role="${anonymous}",status="200"`)),
    counts.join('\n'),
  )
  t.ok(
    counts.some((line) => line.includes('route="/report/{id}"')),
    counts.join('\n'),
  )
  t.match(text, /^rowhouse_db_round_trip_seconds_count [1-9]/m)
  t.match(text, /^rowhouse_db_connections\{state="used"\} \d/m)
})

t.test('OpenMetrics has exemplars of sampled requests; both formats can be read in turn', async (t) => {
  const openMetrics = { Accept: 'application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.2' }
  const { headers } = await call('GET', '/rest/v1/films')
  const [, traceId] = headers.get('traceresponse')?.split('-') ?? []
  const [open, plain] = await Promise.all([
    admin('GET', '/metrics', { headers: openMetrics }),
    admin('GET', '/metrics'),
  ])
  t.equal(open.headers.get('content-type'), 'application/openmetrics-text; version=1.0.0; charset=utf-8')
  t.equal(plain.headers.get('content-type'), 'text/plain; charset=utf-8')
  t.ok(
    linesOf(open.text, 'http_request_duration_seconds_bucket').some((line) =>
      line.includes(`# {trace_id="${traceId}"`),
    ),
  )
  t.match(open.text, /# EOF\n$/)
  t.match(open.text, /^# TYPE rowhouse_db_shared counter$/m)
  t.notMatch(plain.text, /trace_id/)
  t.match(plain.text, /^# TYPE rowhouse_db_shared_total counter$/m)
  t.match(plain.text, /^rowhouse_db_shared_total \d/m)
})

t.test('forged methods, routes and roles add no series', async (t) => {
  const { hostname, port } = new URL(url)
  const seriesOf = async () =>
    new Set(
      linesOf((await admin('GET', '/metrics')).text, 'http_request_duration_seconds_count').map(
        (line) => line.split(' ')[0],
      ),
    )
  const attack = async (round: number): Promise<void> => {
    await new Promise((resolve) => {
      const socket = connect(Number(port), hostname, () => {
        socket.end(`FORGED${round} /rest/v1/films HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
      })
      socket.resume().once('close', resolve)
    })
    await call('GET', `/rest/v1/unknown_${round}`)
    await call('POST', `/rest/v1/rpc/unknown_${round}`, { body: {} })
    await call('GET', `/nothing/${round}`)
    await call('GET', '/rest/v1/films', { headers: { Authorization: await bearer(`no_role_${round}`) } })
    await call('GET', '/rest/v1/films', { headers: { 'X-Request-Id': `id-${round}` } })
  }
  await attack(0)
  const before = await seriesOf()
  for (let round = 1; round < 8; round++) await attack(round)
  t.strictSame(await seriesOf(), before)
  t.notMatch([...before].join(), /unknown_|no_role|nothing|FORGED/)
})

t.test('the number of series has a limit whatever is measured', async (t) => {
  const { registry, expose } = createRegistry()
  const measure = requestMetrics(registry)
  for (let index = 0; index < 7000; index++) {
    measure({ method: `M${index}`, route: `table_${index}`, role: `role_${index}`, status: 200, seconds: 0.001 })
  }
  const { body } = await expose(false)
  const counts = linesOf(body, 'http_request_duration_seconds_count')
  t.ok(counts.length <= 5001, String(counts.length))
  t.match(counts.at(-1), 'route="other",role="other"')
  t.ok(counts.every((line) => line.includes('method="_OTHER"')))
})
