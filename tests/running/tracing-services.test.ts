// Traces of the services besides the REST API, and a collector that is slow, or gone.
import { createServer } from 'node:http'
import t from 'tap'
import { password } from '../support/auth.ts'
import { startCollector, type CollectedSpan } from '../support/collector.ts'
import { listen } from '../support/listening.ts'
import { startMailingService } from '../support/mailing-service.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

process.env.OTEL_BSP_SCHEDULE_DELAY = '20'

const received: (string | undefined)[] = []
const hook = await listen(t, (request, response) => {
  received.push(request.headers.traceparent as string | undefined)
  let body = ''
  request.on('data', (chunk: Buffer) => (body += chunk.toString()))
  request.on('end', () => {
    const { claims } = JSON.parse(body) as { readonly claims: unknown }
    response.setHeader('Content-Type', 'application/json')
    response.end(JSON.stringify({ claims }))
  })
})
const collector = await startCollector(t)
const env = {
  SERVICES: 'rest,auth,storage,profiles,reports',
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED: 'true',
  GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: `${hook}/hooks/secret-path`,
  GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_SECRETS: `v1,whsec_${Buffer.from('s'.repeat(32)).toString('base64')}`,
  PGRST_ADMIN_SERVER_PORT: '1',
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
}
const { ask, call, service, startAnother } = await startMailingService(t, env)

const tracesOf = (collected: readonly CollectedSpan[], trace: string | undefined) =>
  collected.filter(({ traceId }) => traceId === trace)

t.test('a sign-up has its statements and its hook in one trace', async (t) => {
  const { status, text } = await ask('POST', '/signup', { body: { email: 'somebody@example.org', password } })
  t.equal(status, 200, text)
  const [server, ...children] = await collector.trace('POST /auth/v1/signup')
  const outgoing = children.find(({ attributes }) => attributes['server.address'] === '127.0.0.1')
  t.match(outgoing, { name: 'POST', kind: 3, parentSpanId: server.spanId })
  t.equal(outgoing?.attributes['http.response.status_code'], 200)
  t.strictSame(received, [`00-${server.traceId}-${String(outgoing?.spanId)}-01`], 'the hook can continue the trace')
  t.ok(
    children.some(({ attributes }) => String(attributes['db.query.text']).includes('auth.')),
    'statements',
  )
  t.ok(children.every(({ parentSpanId }) => parentSpanId === server.spanId))
  const shown = JSON.stringify(collector.spans(), (_, value: unknown) => (typeof value === 'bigint' ? null : value))
  t.notMatch(shown, new RegExp(`${password}|somebody|whsec|secret-path`))
})

t.test('requests to /auth/v1 have the role of their credentials', async (t) => {
  const rolesOf = async (): Promise<readonly string[]> => {
    const lines = (await service.metrics.text()).split('\n')
    const counted = lines.filter((line) =>
      /^http_request_duration_seconds_count.*route="\/auth\/v1\/(user|settings)"/.test(line),
    )
    return [
      ...new Set(counted.map((line) => line.replace(/.*route="([^"]*)",role="([^"]*)",status="(\d*)".*/, '$1 $2 $3'))),
    ]
  }
  const anonymous = (await bearer('anon')).replace('Bearer ', '')
  await call('GET', '/auth/v1/settings', { headers: { apikey: anonymous } })
  await call('GET', '/auth/v1/settings', {
    headers: { apikey: anonymous, Authorization: await bearer('authenticated') },
  })
  for (let forged = 0; forged < 5; forged++) {
    await call('GET', '/auth/v1/settings', {
      headers: { apikey: `${anonymous}x`, Authorization: `Bearer a.b.c${forged}` },
    })
    await call('GET', '/auth/v1/settings', { headers: { apikey: `sb_secret_${'x'.repeat(22)}_${forged}` } })
    // Signed, but refused: the role is not known to exist.
    await call('GET', '/auth/v1/user', { headers: { Authorization: await bearer(`no_role_${forged}`) } })
  }
  await call('GET', '/auth/v1/user', { headers: { Authorization: await bearer('authenticated') } })
  t.strictSame(
    [...(await rolesOf())].sort(),
    [
      '/auth/v1/settings anon 200',
      '/auth/v1/settings authenticated 200',
      '/auth/v1/settings unknown 200',
      '/auth/v1/user authenticated 403',
      '/auth/v1/user other 403',
    ],
    'forged credentials change no response, and add no roles',
  )
})

t.test('two users at once have separate traces', async (t) => {
  const users = ['ann@example.org', 'bob@example.org']
  const answers = await Promise.all(users.map((email) => ask('POST', '/signup', { body: { email, password } })))
  const traces = answers.map(({ headers }) => headers.get('traceresponse')?.split('-')[1])
  t.not(traces[0], traces[1])
  await until(() => traces.every((trace) => tracesOf(collector.spans(), trace).some(({ kind }) => kind === 2)))
  const [first = [], second = []] = traces.map((trace) => tracesOf(collector.spans(), trace))
  const statements = (spans: readonly CollectedSpan[]) =>
    spans.map(({ attributes }) => attributes['db.query.text']).filter((text) => text !== undefined)
  t.ok(statements(first).length > 1)
  t.strictSame(statements(first).sort(), statements(second).sort(), 'no statement is in the trace of the other')
})

t.test('routes of storage and reports have the names of their parameters', async (t) => {
  await call('GET', '/storage/v1/object/public/a-bucket/a/name.txt')
  const [storage] = await collector.trace('GET /storage/v1')
  t.equal(storage.attributes['http.route'], '/storage/v1/object/public/{bucket}/{*name}')
  await call('GET', '/report/12345')
  await call('GET', `/nothing/${'x'.repeat(100)}`)
  await until(() => collector.spans().some(({ attributes }) => attributes['http.response.status_code'] === 404))
  t.notOk(collector.spans().some(({ name }) => name.includes('12345') || name.includes('xxx')))
})

t.test('a collector that hangs, fails or is gone delays no request, and fails none', async (t) => {
  const hanging = await startCollector(t, () => undefined)
  const failing = await startCollector(t, (_request, response) => response.writeHead(503).end())
  const closed = createServer()
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
  const address = closed.address()
  const port = typeof address === 'object' && address ? address.port : 0
  await new Promise((resolve) => closed.close(resolve))
  const check = async (url: string): Promise<void> => {
    const service = await startAnother({ SERVICES: 'rest,auth', OTEL_EXPORTER_OTLP_ENDPOINT: url })
    const statuses = new Set<number>()
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => service.call('GET', '/auth/v1/settings')))
      for (const { status } of answers) statuses.add(status)
    }
    t.strictSame([...statuses], [200])
    const begun = performance.now()
    await service.service.stop()
    t.ok(performance.now() - begun < 60_000, 'stops')
  }
  await Promise.all([hanging.url, failing.url, `http://127.0.0.1:${port}`].map(check))
})
