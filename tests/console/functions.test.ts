// Functions and their logs in the console's API.
import t from 'tap'
import type { FunctionLogs, FunctionReport } from '../../server/services/console/function-protocol.ts'
import type { ViewerToken } from '../../server/services/console/protocol.ts'
import { readFunctionLogs } from '../../server/tools/functions/function-logs.ts'
import { signInToConsole, startConsoleServer, type ConsoleServer } from '../support/console.ts'
import { folderWith } from '../support/function-server.ts'

const markup = '<img src=x onerror=alert(1)>'

t.test('functions', async (t) => {
  const folder = await folderWith(t, {
    'hello/index.ts': `Deno.serve((request) => {
      console.log('called with ${markup}', request.method)
      console.error('x'.repeat(9000))
      return new Response('hello')
    })`,
    'throws/index.ts': `Deno.serve(() => { throw new Error('no') })`,
    'broken/index.ts': `import x from 'npm:not-installed-at-all'\nDeno.serve(() => new Response(x))`,
  })
  const server = await startConsoleServer(t, { FUNCTIONS_DIR: folder })
  const client = await signInToConsole(server)
  const report = async (): Promise<FunctionReport> => {
    const { status, body } = await client.call('GET', 'functions')
    t.equal(status, 200)
    return body.details as FunctionReport
  }
  const logs = async (name: string): Promise<FunctionLogs> =>
    (await client.call('GET', `functions/${name}/logs`)).body.details as FunctionLogs

  await t.test('are for those who are signed in', async (t) => {
    for (const path of ['functions', 'functions/hello/logs']) {
      const url = `${server.url}/console/api/${path}`
      t.equal((await fetch(url)).status, 401, path)
      t.equal((await fetch(url, { headers: { cookie: client.cookie } })).status, 403, `${path}, forged`)
    }
  })

  await t.test('say whether they compile', async (t) => {
    const { functions, folder: shown, url, missing, problem } = await report()
    t.strictSame({ shown, url, missing, problem }, { shown: folder, url: null, missing: 0, problem: null })
    t.match(
      functions.map(({ name, entrypoint, verifyJwt, fault }) => [name, entrypoint, verifyJwt, fault]),
      [
        ['broken', 'broken/index.ts', true, { detail: /not-installed-at-all/ }],
        ['hello', 'hello/index.ts', true, null],
        ['throws', 'throws/index.ts', true, null],
      ],
    )
  })

  await t.test('are called as a viewer, and counted and logged with the id of the request', async (t) => {
    const { token } = (await client.call('POST', 'tokens', { role: 'anon' })).body.details as ViewerToken
    const call = (name: string, authorization = `Bearer ${token}`): Promise<Response> =>
      fetch(`${server.url}/functions/v1/${name}`, { method: 'POST', headers: { Authorization: authorization } })
    const response = await call('hello')
    t.equal(await response.text(), 'hello')
    t.equal((await call('throws')).status, 500)
    t.equal((await call('hello', `Bearer ${token}x`)).status, 401, 'forged')
    const id = response.headers.get('x-request-id')
    t.match((await logs('hello')).lines, [
      { level: 'info', requestId: id, message: `called with ${markup} POST`, at: /T/ },
      { level: 'error', requestId: id, message: /^x{4000}…$/ },
    ])
    const { functions, workers } = await report()
    t.match(
      functions.filter(({ name }) => name !== 'broken'),
      [
        { name: 'hello', calls: { answered: 1, failed: 0 }, milliseconds: Number },
        { name: 'throws', calls: Object },
      ],
    )
    t.ok(workers && workers.workers > 0)
    t.notMatch(JSON.stringify([await report(), await logs('hello')]), token)
  })

  await t.test('the command line reads logs by a session of its own, which ends', async (t) => {
    const query = async (text: string, values?: unknown[]): ReturnType<ConsoleServer['database']['query']> =>
      server.database.query(text, values)
    const sessions = async (): Promise<unknown> =>
      (await query('select count(*)::int as n from rowhouse.console_sessions')).rows[0]?.n
    const before = await sessions()
    t.strictSame(await readFunctionLogs(query, server.url, 'hello'), await logs('hello'))
    await t.rejects(readFunctionLogs(query, server.url, '../session'), { message: /does not show logs \(404: / })
    await t.rejects(readFunctionLogs(query, 'http://127.0.0.1:1', 'hello'), { message: /cannot be reached/ })
    const other = await startConsoleServer(t)
    await t.rejects(readFunctionLogs(query, other.url, 'hello'), { message: /has another database/ })
    const closed = await startConsoleServer(t, { CONSOLE: 'off' })
    const onClosed = async (text: string, values?: unknown[]): ReturnType<ConsoleServer['database']['query']> =>
      closed.database.query(text, values)
    await t.rejects(readFunctionLogs(onClosed, closed.url, 'hello'), { message: /the setting CONSOLE/ })
    t.equal(await sessions(), before)
  })

  await t.test('logs of others and of no function', async (t) => {
    t.same((await logs('nothing')).lines, [])
    for (const name of ['..%2Fhello', '_shared', '%00', 'x'.repeat(201)]) {
      t.equal((await client.call('GET', `functions/${name}/logs`)).status, 404, name.slice(0, 20))
    }
  })
})

t.test('a configuration with an error in it', async (t) => {
  const folder = await folderWith(t, { 'functions/hello/index.ts': '', 'config.toml': '[functions.hello\nverify_jwt' })
  const server = await startConsoleServer(t, { FUNCTIONS_DIR: `${folder}/functions` })
  const client = await signInToConsole(server)
  const { status, body } = await client.call('GET', 'functions')
  t.equal(status, 200)
  t.match(body.details, { functions: [], problem: /config\.toml/ })
})

t.test('of a server of one’s own', async (t) => {
  const server = await startConsoleServer(t, { FUNCTIONS_URL: 'http://127.0.0.1:9/', FUNCTIONS_DIR: 'none' })
  const client = await signInToConsole(server)
  const { token } = (await client.call('POST', 'tokens', { role: 'anon' })).body.details as ViewerToken
  await fetch(`${server.url}/functions/v1/remote`, { method: 'POST', headers: { Authorization: `Bearer ${token}` } })
  t.match((await client.call('GET', 'functions')).body.details, {
    url: /^http:\/\/127\.0\.0\.1:9/,
    functions: [{ name: 'remote', entrypoint: null, fault: null }],
  })
})

t.test('without the service', async (t) => {
  const server = await startConsoleServer(t, { SERVICES: 'rest,console' })
  const client = await signInToConsole(server)
  for (const path of ['functions', 'functions/hello/logs']) {
    t.match(await client.call('GET', path), { status: 404, body: { message: /SERVICES/ } }, path)
  }
})
