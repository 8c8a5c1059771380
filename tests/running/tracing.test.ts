// Traces, as a collector receives them.
import t from 'tap'
import { startApplication, type Application } from '../support/application.ts'
import { createFilmDatabase } from '../support/authenticator.ts'
import { startCollector, type CollectedSpan } from '../support/collector.ts'
import { until } from '../support/until.ts'

// The SDK's own settings: it sends spans after these milliseconds.
process.env.OTEL_BSP_SCHEDULE_DELAY = '20'

const { database, anonymous, uri } = await createFilmDatabase(t, 3)
await database.query(`
  create table public.notes (id int primary key, text text not null);
  grant select, insert, update on public.notes to ${anonymous};
  create function public.slow() returns int language sql stable as 'select 1 from pg_sleep(0.1)';
  create function public.application() returns text language sql stable as $$ select current_setting('application_name') $$;
`)
const settings = { PGRST_DB_ANON_ROLE: anonymous, SERVICES: 'rest', OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }

const traced = async (env: Record<string, string> = {}) => {
  const collector = await startCollector(t)
  const application = await startApplication(t, uri, {
    ...settings,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    ...env,
  })
  return { ...application, collector }
}

const statementsOf = (spans: readonly CollectedSpan[]) =>
  spans.filter(({ attributes }) => attributes['db.system.name'] === 'postgresql')

const main = await traced({
  OTEL_SERVICE_NAME: 'films-api',
  OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=a%20test,service.name=ignored',
})

t.test('a read is a span of the server with one span for each statement', async (t) => {
  const { headers } = await main.call('GET', '/rest/v1/films?id=eq.2&select=id')
  const [server, ...children] = await main.collector.trace('GET /rest/v1/films')
  t.match(server, {
    parentSpanId: undefined,
    isError: false,
    attributes: {
      'http.request.method': 'GET',
      'http.route': '/rest/v1/films',
      'http.response.status_code': 200,
      'url.path': '/rest/v1/films',
      'url.scheme': 'http',
      'rowhouse.role': anonymous,
    },
    resource: { 'service.name': 'films-api', 'deployment.environment.name': 'a test' },
  })
  t.equal(headers.get('traceresponse'), `00-${server.traceId}-${server.spanId}-01`)
  const statements = statementsOf(children)
  t.strictSame(
    statements.map(({ name, kind, parentSpanId }) => ({ name, kind, parentSpanId })),
    ['request settings', 'SELECT'].map((name) => ({ name, kind: 3, parentSpanId: server.spanId })),
  )
  for (const { start, end } of children) t.ok(start >= server.start && start <= end && end <= server.end)
  const [first, second] = statements
  t.ok(first && second && second.start >= first.end, 'each statement is timed separately')
  t.match(second?.attributes['db.query.text'], /"id" = \$1/)
})

t.test('spans have no values of requests', async (t) => {
  await main.call('POST', '/rest/v1/notes', { body: { id: 1, text: 'the secret of a body' } })
  await main.call('GET', '/rest/v1/notes?text=eq.a-secret-parameter', { headers: { 'X-Secret': 'a secret header' } })
  await main.call('GET', '/rest/v1/films?id=eq.invalid-secret-value')
  t.match(await main.collector.trace('GET /rest/v1/notes'), [{ attributes: { 'http.response.status_code': 200 } }])
  const text = JSON.stringify(main.collector.spans(), (_key, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
  t.match(text, /INSERT INTO/)
  t.notMatch(text, /secret/)
})

t.test('a write that fails has the SQLSTATE at its statement', async (t) => {
  await main.call('PATCH', '/rest/v1/notes?id=eq.1', { body: { text: null } })
  const [server, ...children] = await main.collector.trace('PATCH /rest/v1/notes')
  t.match(server, { isError: false, attributes: { 'http.response.status_code': 400 } })
  const failed = statementsOf(children).filter(({ isError }) => isError)
  t.match(failed, [{ name: 'UPDATE', attributes: { 'error.type': '23502', 'db.response.status_code': '23502' } }])
  t.equal(failed[0]?.message, undefined, 'messages of the database may have values')
})

t.test('the statements of a batch are in one trace, each once', async (t) => {
  const requests = [1, 2, 3].map((id) => ({ id: `r${id}`, method: 'GET', url: `/films?id=eq.${id}` }))
  const { status, text } = await main.call('POST', '/rest/v1/$batch', { body: { requests } })
  t.equal(status, 200, text)
  const [server, ...children] = await main.collector.trace('POST /rest/v1/$batch')
  const names = statementsOf(children).map(({ name }) => name)
  t.strictSame(
    names.filter((name) => name === 'SELECT' || name === 'request settings'),
    Array.from({ length: 3 }, () => ['request settings', 'SELECT']).flat(),
  )
  t.ok(names.includes('BEGIN') && names.includes('COMMIT'), names.join())
  t.ok(children.every(({ parentSpanId }) => parentSpanId === server.spanId))
})

t.test('a trace goes on with the header traceparent, unless that is invalid', async (t) => {
  const [traceId, spanId] = ['1234567890abcdef1234567890abcdef', '1234567890abcdef']
  const traceOf = async (traceparent: string, tracestate?: string) => {
    const headers = { traceparent, ...(tracestate === undefined ? {} : { tracestate }) }
    const answer = await main.call('GET', '/rest/v1/films?select=id', { headers })
    t.equal(answer.status, 200)
    return answer.headers.get('traceresponse')?.split('-')
  }
  t.equal((await traceOf(`00-${traceId}-${spanId}-01`))?.[1], traceId)
  t.equal(await traceOf(`00-${traceId}-${spanId}-00`), undefined, 'the client decides that it is not sampled')
  for (const forged of [
    `00-${'0'.repeat(32)}-${spanId}-01`,
    `00-${traceId}-${'0'.repeat(16)}-01`,
    `ff-${traceId}-${spanId}-01`,
    `00-${traceId}'; drop table films; --${spanId}-01`,
    `00-${traceId}-${spanId}-01, 00-${traceId}-${spanId}-01`,
    'x'.repeat(4000),
    '',
  ]) {
    const given = await traceOf(forged, 'a=b,'.repeat(1000))
    t.ok(given && given[1] !== traceId && /^[0-9a-f]{32}$/.test(given[1] ?? ''), `not ${forged.slice(0, 80)}`)
  }
  t.equal((await main.call('GET', '/rest/v1/films')).status, 200)
})

t.test('samplers and propagators', async (t) => {
  const parent = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01` }
  const answerOf = async ({ call }: Application, headers: Record<string, string> = {}) =>
    (await call('GET', '/rest/v1/films', { headers })).headers.get('traceresponse')
  const never = await traced({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' })
  t.equal(await answerOf(never, parent), null, 'the client cannot decide')
  const alone = await traced({ OTEL_PROPAGATORS: 'none' })
  t.notMatch(await answerOf(alone, parent), 'aaaaaaaa')
  const off = await traced({ OTEL_SDK_DISABLED: 'true' })
  t.equal(await answerOf(off, parent), null)
})

t.test('protobuf is the default', async (t) => {
  const { call, collector } = await traced({ OTEL_EXPORTER_OTLP_PROTOCOL: '' })
  await call('GET', '/rest/v1/films')
  await until(() => collector.types.length > 0)
  t.equal(collector.types[0], 'application/x-protobuf')
})

t.test('the database learns of the trace, if the settings say so', async (t) => {
  const seen = async (env: Record<string, string>) => {
    const { call } = await traced(env)
    const { headers, body, text } = await call('GET', '/rest/v1/rpc/application')
    return { traceparent: headers.get('traceresponse'), body, text }
  }
  const named = await seen({ DATABASE_TRACE_CONTEXT: 'application-name' })
  t.equal(named.body, named.traceparent)
  const silent = await seen({})
  t.notMatch(silent.text, silent.traceparent?.split('-')[1])
  const commented = await traced({ DATABASE_TRACE_CONTEXT: 'comment' })
  const { headers } = await commented.call('GET', '/rest/v1/films?id=eq.1')
  const [, ...children] = await commented.collector.trace('GET /rest/v1/films')
  t.ok(
    statementsOf(children).some(({ attributes }) =>
      String(attributes['db.query.text']).endsWith(` /*traceparent='${headers.get('traceresponse')}'*/`),
    ),
  )
  const unsampled = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` }
  t.equal((await commented.call('GET', '/rest/v1/films?id=eq.1', { headers: unsampled })).status, 200)
})
