// The admin server: health checks and metrics.
import t from 'tap'
import { createAdmin } from '../../server/running/operations/admin.ts'
import { startApplication } from '../support/application.ts'
import { createFilmDatabase } from '../support/authenticator.ts'
import { caller } from '../support/call.ts'
import { listen } from '../support/listening.ts'

const { database, anonymous, uri } = await createFilmDatabase(t)

const { call, service } = await startApplication(t, uri, {
  REST_BASE_PATH: '/',
  PGRST_DB_ANON_ROLE: anonymous,
  PGRST_ADMIN_SERVER_PORT: '1',
  PGRST_DB_POOL: '7',
  PGRST_JWT_SECRET: 'x'.repeat(44),
})
let listening = true
const { engine, metrics, isReady } = service
const schemaCache = () => engine.snapshot.schemaCache
const admin = caller(await listen(t, createAdmin({ schemaCache, metrics, isReady, isListening: () => listening })))

t.test('/live and /ready report the state of the server', async (t) => {
  t.match(await admin('GET', '/live'), { status: 200, text: '' })
  t.match(await admin('HEAD', '/live'), { status: 200, text: '' })
  t.match(await admin('GET', '/ready'), { status: 200, text: '' })
  t.match(await admin('GET', '/ready?x=1'), { status: 200 })
  listening = false
  t.match(await admin('GET', '/live'), { status: 500, text: '' })
  t.match(await admin('GET', '/ready'), { status: 500, text: '' })
  listening = true
  for (const path of ['/', '/other', '/live/', '/config', '/__proto__'])
    t.match(await admin('GET', path), { status: 404, text: '' })
})

t.test('/schema_cache returns the schema cache as JSON', async (t) => {
  const answer = await admin('GET', '/schema_cache')
  t.equal(answer.status, 200)
  t.equal(answer.headers.get('content-type'), null, 'as PostgREST')
  const cache = JSON.parse(answer.text) as Record<string, unknown>
  t.strictSame(Object.keys(cache).sort(), [
    'dbMediaHandlers',
    'dbRelationships',
    'dbRepresentations',
    'dbRoutines',
    'dbTables',
  ])
  t.match(JSON.stringify(cache.dbTables), /"films"/)
})

t.test('/metrics returns the metrics', async (t) => {
  await call('GET', '/films')
  await call('GET', '/films?id=eq.x')
  await call('GET', `/${'x'.repeat(50)}`)
  await call('POST', '/rpc/unknown_function_name', { body: {} })
  await engine.reload()
  const { status, text, headers } = await admin('GET', '/metrics')
  t.equal(status, 200)
  t.equal(headers.get('content-type'), 'text/plain; charset=utf-8')
  const kinds = new Map(Array.from(text.matchAll(/^# TYPE (\S+) (\S+)$/gm), ([, name, kind]) => [name, kind]))
  t.strictSame(Object.fromEntries(kinds), {
    http_request_duration_seconds: 'histogram',
    image_analysis_decode_seconds: 'histogram',
    image_analysis_inference_seconds: 'histogram',
    image_analysis_kills_total: 'counter',
    image_analysis_queue_length: 'gauge',
    image_analysis_queue_seconds: 'histogram',
    pgrst_db_pool_available: 'gauge',
    pgrst_db_pool_max: 'gauge',
    pgrst_db_pool_timeouts_total: 'counter',
    pgrst_db_pool_waiting: 'gauge',
    pgrst_jwt_cache_evictions_total: 'counter',
    pgrst_jwt_cache_hits_total: 'counter',
    pgrst_jwt_cache_requests_total: 'counter',
    pgrst_schema_cache_loads_total: 'counter',
    pgrst_schema_cache_query_time_seconds: 'gauge',
    functions_calls_total: 'counter',
    functions_errors_total: 'counter',
    functions_running: 'gauge',
    functions_seconds_total: 'counter',
    functions_workers: 'gauge',
    functions_workers_killed_total: 'counter',
    functions_workers_started_total: 'counter',
    realtime_broadcasts_total: 'counter',
    realtime_buffered_bytes: 'gauge',
    realtime_changes_total: 'counter',
    realtime_channels: 'gauge',
    realtime_checked_rows_total: 'counter',
    realtime_checks_total: 'counter',
    realtime_delivered_total: 'counter',
    realtime_drops_total: 'counter',
    realtime_joins_total: 'counter',
    realtime_log_lag_bytes: 'gauge',
    realtime_log_lag_seconds: 'gauge',
    realtime_log_reading: 'gauge',
    realtime_received_total: 'counter',
    realtime_sockets: 'gauge',
    realtime_subscriptions: 'gauge',
    rowhouse_shed_requests_total: 'counter',
    rest_exports_total: 'counter',
    rest_exported_rows_total: 'counter',
    rest_exported_bytes_total: 'counter',
    rowhouse_db_connections: 'gauge',
    rowhouse_db_round_trip_seconds: 'histogram',
    rowhouse_db_shared_running: 'gauge',
    rowhouse_db_shared_total: 'counter',
    rowhouse_plan_cache_hits_total: 'counter',
    rowhouse_plan_cache_requests_total: 'counter',
    rowhouse_trace_spans_total: 'counter',
    schedules_jobs: 'gauge',
    schedules_running: 'gauge',
    schedules_runs_total: 'counter',
    schedules_scheduling: 'gauge',
    schedules_skipped: 'gauge',
    schedules_waiting: 'gauge',
    webhooks_attempt_seconds_total: 'counter',
    webhooks_attempts_total: 'counter',
    webhooks_dead_calls: 'gauge',
    webhooks_dead_total: 'counter',
    webhooks_delivered_total: 'counter',
    webhooks_failed_total: 'counter',
    webhooks_oldest_waiting_seconds: 'gauge',
    webhooks_sender: 'gauge',
    webhooks_sending: 'gauge',
    webhooks_waiting_calls: 'gauge',
  })
  for (const line of [
    'pgrst_db_pool_max 7',
    'pgrst_db_pool_waiting 0',
    'pgrst_schema_cache_loads_total{status="SUCCESS"} 2',
    `http_request_duration_seconds_count{method="GET",route="films",role="${anonymous}",status="200"} 1`,
    `http_request_duration_seconds_count{method="GET",route="films",role="${anonymous}",status="400"} 1`,
    `http_request_duration_seconds_bucket{le="+Inf",method="GET",route="films",role="${anonymous}",status="200"} 1`,
  ]) {
    t.ok(text.split('\n').includes(line), line)
  }
  t.match(text, /^pgrst_db_pool_available [0-7]$/m)
  t.notMatch(text, /xxxx|unknown_function_name/, 'clients cannot add routes to the metrics')
})

t.test('the counters of the JWT cache survive a new secret', async (t) => {
  const count = async (): Promise<number> =>
    Number(/^pgrst_jwt_cache_requests_total (\d+)$/m.exec((await admin('GET', '/metrics')).text)?.[1])
  const before = await count()
  const bad = { headers: { Authorization: 'Bearer a.b.c' } }
  await call('GET', '/films', bad)
  t.equal(await count(), before + 1)
  const [login] = await service.database.query('select current_user as user', [])
  const user = String(login?.user)
  await database.query(`alter role ${user} in database ${database.name} set pgrst.jwt_secret = '${'y'.repeat(44)}'`)
  const verifier = engine.snapshot.loaded.verifier
  await engine.reloadSettings()
  t.not(engine.snapshot.loaded.verifier, verifier)
  await call('GET', '/films', bad)
  t.equal(await count(), before + 2)
})
