import { get, createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { LogLevel } from '../../server/config/config.ts'
import { createLog, type Log } from '../../server/running/operations/log.ts'
import type { LogEvent } from '../../server/running/operations/log-event.ts'
import { scrub } from '../../server/running/operations/log-line.ts'
import { cpuTime } from '../support/cpu-time.ts'
import { logRequests, noteRole, pathOf, requestIdFor, requestIdOf } from '../../server/http/request-log.ts'

type Line = Record<string, unknown>

function capture(level: LogLevel): { readonly log: Log; readonly lines: Line[] } {
  const lines: Line[] = []
  const log = createLog({ level, destination: { write: (text) => void lines.push(JSON.parse(text) as Line) } })
  return { log, lines }
}

const requestWith = (status: number): LogEvent => ({
  kind: 'request',
  method: 'GET',
  path: '/rest/v1/films',
  status,
  duration: 1.5,
  role: 'anon',
  requestId: 'r1',
  aborted: false,
})

t.test('the level decides which responses are logged', async (t) => {
  const statuses = [200, 204, 302, 400, 401, 404, 500, 503]
  const table: [LogLevel, number[]][] = [
    ['crit', []],
    ['error', [500, 503]],
    ['warn', [400, 401, 404, 500, 503]],
    ['info', statuses],
    ['debug', statuses],
  ]
  for (const [level, expected] of table) {
    const { log, lines } = capture(level)
    for (const status of statuses) log.write(requestWith(status))
    t.strictSame(
      lines.map(({ status }) => status),
      expected,
      level,
    )
    t.strictSame(
      statuses.filter((status) => log.wants(status)),
      expected,
    )
  }
  const { log, lines } = capture('crit')
  log.setLevel('info')
  log.write(requestWith(200))
  t.equal(lines.length, 1, 'the level can change')
})

t.test('the line of a request', async (t) => {
  const { log, lines } = capture('info')
  for (const status of [200, 404, 500]) log.write(requestWith(status))
  const line = {
    event: 'request',
    method: 'GET',
    path: '/rest/v1/films',
    duration: 1.5,
    role: 'anon',
    requestId: 'r1',
  }
  t.strictSame(
    lines.map(({ time, ...rest }) => (t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/), rest)),
    [
      { level: 'info', ...line, status: 200 },
      { level: 'warn', ...line, status: 404 },
      { level: 'error', ...line, status: 500 },
    ],
  )
})

t.test('other events', async (t) => {
  const refused = Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' })
  const table: [LogEvent, LogLevel, Line][] = [
    [{ kind: 'starting', version: '1.2.3' }, 'crit', { level: 'info', msg: 'Starting rowhouse 1.2.3' }],
    [
      { kind: 'listening', address: 'http://[::1]:3000' },
      'crit',
      { level: 'info', msg: 'Listening on http://[::1]:3000' },
    ],
    [{ kind: 'stopping', signal: 'SIGTERM' }, 'crit', { msg: 'Received termination unix signal SIGTERM' }],
    [{ kind: 'stopped' }, 'crit', { msg: 'Stopped' }],
    [{ kind: 'embedded-database', message: 'Creating a new database' }, 'crit', { msg: 'Creating a new database' }],
    [{ kind: 'migrated', applied: ['1_roles.sql'] }, 'crit', { migrations: ['1_roles.sql'] }],
    [
      { kind: 'database-connected', version: 'PostgreSQL 18.4' },
      'crit',
      { msg: 'Successfully connected to PostgreSQL 18.4' },
    ],
    [
      { kind: 'database-lost', error: refused, retryInSeconds: 4 },
      'crit',
      {
        level: 'error',
        msg: 'No connection to the database; retrying in 4 s',
        error: { name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:5432', code: 'ECONNREFUSED' },
      },
    ],
    [
      { kind: 'database-lost', error: new AggregateError([new Error('a'), new Error('b')]), retryInSeconds: null },
      'crit',
      { msg: 'No connection to the database', error: { name: 'AggregateError', message: 'Error: a; Error: b' } },
    ],
    [
      { kind: 'pool-created', size: 10 },
      'crit',
      { msg: 'Connection Pool initialized with a maximum size of 10 connections' },
    ],
    [
      { kind: 'pool-timeout' },
      'error',
      { level: 'error', msg: 'Timed out acquiring connection from connection pool.' },
    ],
    [{ kind: 'pool-activity', message: 'lent' }, 'debug', { level: 'debug', msg: 'lent' }],
    [{ kind: 'jwt-cache', message: 'evicted' }, 'debug', { level: 'debug', msg: 'evicted' }],
    [
      { kind: 'schema-cache-loaded', duration: 12.5, summary: '15 relations' },
      'crit',
      { duration: 12.5, msg: 'Schema cache loaded 15 relations' },
    ],
    [{ kind: 'schema-cache-failed', error: 'odd' }, 'crit', { level: 'error', error: { message: 'odd' } }],
    [{ kind: 'config-reloaded' }, 'crit', { level: 'info' }],
    [
      { kind: 'config-invalid', error: new Error('db-pool') },
      'crit',
      { level: 'error', error: { message: 'db-pool' } },
    ],
    [{ kind: 'channel-listening', channel: 'pgrst' }, 'crit', { level: 'info' }],
    [{ kind: 'channel-lost', channel: 'pgrst', error: refused, retryInSeconds: 1 }, 'crit', { level: 'error' }],
    [
      { kind: 'channel-message', channel: 'pgrst', reload: 'schema' },
      'crit',
      { msg: 'Received a schema cache reload message on the "pgrst" channel' },
    ],
    [
      { kind: 'query', status: 404, requestId: 'r', text: 'select $1' },
      'warn',
      { level: 'warn', query: 'select $1', requestId: 'r' },
    ],
    [{ kind: 'query', status: 200, requestId: 'r', text: 'select $1' }, 'info', { level: 'info' }],
    [{ kind: 'warning', message: 'old syntax' }, 'crit', { level: 'warn', msg: 'old syntax' }],
    [
      { kind: 'failure', error: refused, requestId: 'r' },
      'error',
      { level: 'error', requestId: 'r', error: { stack: /ECONNREFUSED[^]*log\.test/ } },
    ],
  ]
  const levels: LogLevel[] = ['crit', 'error', 'warn', 'info', 'debug']
  for (const [event, from, expected] of table) {
    for (const level of levels) {
      const { log, lines } = capture(level)
      log.write(event)
      const isWritten = levels.indexOf(level) >= levels.indexOf(from)
      if (isWritten) t.match(lines, [{ event: event.kind, ...expected }], `${event.kind} at ${level}`)
      else t.strictSame(lines, [], `no ${event.kind} at ${level}`)
    }
  }
})

t.test('secrets and control characters are removed from lines', async (t) => {
  const table: [string, string][] = [
    ['postgresql://authenticator:s3cret@db:5432/app', 'postgresql://authenticator:***@db:5432/app'],
    ['cannot reach postgres://u:p%40@h and postgres://v:w@i', 'cannot reach postgres://u:***@h and postgres://v:***@i'],
    ['postgresql://localhost:5432/app', 'postgresql://localhost:5432/app'],
    ['https://example.com:8080/a@b', 'https://example.com:8080/a@b'],
    ['key sb_secret_aB-_9 or sb_publishable_x', 'key sb_secret_*** or sb_publishable_***'],
    ['Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln-_', 'Bearer ***'],
    ['plain words: 12:30 @ noon', 'plain words: 12:30 @ noon'],
  ]
  for (const [text, expected] of table) t.equal(scrub(text), expected, text)

  for (const text of ['a://'.repeat(20_000), 'a'.repeat(100_000), `a://${':'.repeat(100_000)}`, 'eyJ'.repeat(50_000)])
    t.ok(cpuTime(() => void scrub(text)) < 5_000, 'scrubbing a long text takes linear time')

  const { log, lines } = capture('info')
  const secret = 'postgresql://u:s3cret@h/d'
  const error = new Error(`bad address ${secret}`)
  log.write({ kind: 'failure', error, requestId: null })
  log.write({ kind: 'database-lost', error, retryInSeconds: null })
  log.write({ kind: 'warning', message: secret })
  t.notMatch(JSON.stringify(lines), /s3cret/)
})

async function serve(t: Test, log: Log, handle: (response: ServerResponse) => void): Promise<number> {
  const handler = logRequests(log)
  const server = createServer((request, response) => {
    handler(request, response, () => handle(response))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  return (server.address() as AddressInfo).port
}

const fetchFrom = async (port: number, path: string, init?: RequestInit): Promise<void> => {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, init)
  await response.text()
}

t.test('requests are logged', async (t) => {
  const { log, lines } = capture('info')
  const ids: (string | null)[] = []
  const port = await serve(t, log, (response) => {
    ids.push(requestIdFor(response))
    noteRole(response, 'authenticated')
    response.statusCode = 201
    response.end('{"password":"hunter2"}')
  })
  await fetchFrom(port, '/rest/v1/films?apikey=sb_secret_x&name=eq.hunter2', {
    method: 'POST',
    headers: {
      Authorization: 'Bearer hunter2',
      Cookie: 'session=hunter2',
      apikey: 'hunter2',
      'X-Request-Id': 'trace-1',
    },
    body: 'hunter2',
  })
  await fetchFrom(port, `/${'x'.repeat(5000)}`)
  while (lines.length < 2) await new Promise((resolve) => setTimeout(resolve, 5))
  t.match(lines[0], {
    level: 'info',
    event: 'request',
    method: 'POST',
    path: '/rest/v1/films',
    status: 201,
    role: 'authenticated',
    requestId: 'trace-1',
  })
  t.strictSame(Object.keys(lines[0] ?? {}).sort(), [
    ...['duration', 'event', 'level', 'method', 'path', 'requestId', 'role', 'status', 'time'],
  ])
  t.type(lines[0]?.duration, 'number')
  t.notMatch(JSON.stringify(lines), /hunter2|sb_secret/)
  t.equal(ids[0], 'trace-1')
  t.match(ids[1], /^[\da-f-]{36}$/)
  t.equal(lines[1]?.requestId, ids[1])
  t.equal(String(lines[1]?.path).length, 1001)
})

t.test('a disconnected client is logged', async (t) => {
  const { log, lines } = capture('info')
  const port = await serve(t, log, (response) => void response.write('half'))
  await new Promise<void>((resolve) => {
    const asked = get({ port, host: '127.0.0.1', path: '/slow' }, (response) => {
      response.once('data', () => asked.destroy())
      response.once('error', () => resolve())
      response.resume()
    })
  })
  while (lines.length < 1) await new Promise((resolve) => setTimeout(resolve, 5))
  t.match(lines, [{ path: '/slow', aborted: true, role: null }])
})

t.test('paths and ids', async (t) => {
  const paths: [string, string][] = [
    ['/films', '/films'],
    ['/films?select=*', '/films'],
    ['/?', '/'],
    ['/a%3Fb?c', '/a%3Fb'],
    ['', ''],
  ]
  for (const [target, expected] of paths) t.equal(pathOf(target), expected, target)

  const kept = ['a', 'trace-1', '0af7651916cd43dd8448eb211c80319c', 'svc.a:1_2', 'x'.repeat(64)]
  for (const id of kept) t.equal(requestIdOf(id), id, id)
  const refused = ['', 'x'.repeat(65), 'a b', 'a\nb', '{"a":1}', 'é', 'a,b', undefined, ['a']]
  for (const id of refused) t.match(requestIdOf(id), /^[\da-f]{8}-[\da-f-]{27}$/, String(id))
})
