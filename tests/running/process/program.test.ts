// The program as a process: its sockets, its shutdown, and errors that stop the start.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { rename } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { missingSecrets } from '../../../server/config/missing-secrets.ts'
import { missingSettingText } from '../../../server/config/missing-setting.ts'
import { createFilmDatabase } from '../../support/authenticator.ts'
import { createLatch } from '../../support/latch.ts'
import { says, startProgram } from '../../support/program.ts'
import { until } from '../../support/until.ts'

const { database, anonymous, uri } = await createFilmDatabase(t)
const latch = await createLatch(t, database)
await database.query(
  `create function public.hold() returns text language sql as $$ select ${latch.wait}; select 'let go' $$`,
)
const folder = mkdtempSync(join(tmpdir(), 'rowhouse-program-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const get = (socketPath: string, path: string): Promise<{ status: number; body: string }> =>
  new Promise((resolve, reject) => {
    const asked = request({ socketPath, path, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8').on('data', (chunk: string) => (body += chunk))
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }))
    })
    asked.once('error', reject)
    asked.end()
  })

t.test('unix sockets and a graceful shutdown', async (t) => {
  const api = join(folder, 'api.sock')
  const admin = join(folder, 'admin.sock')
  // A stale socket, as left behind by a killed process.
  writeFileSync(api, '')
  const file = join(folder, 'sockets.conf')
  writeFileSync(
    file,
    `server-unix-socket = "${api}"
server-unix-socket-mode = "600"
admin-server-unix-socket = "${admin}"
admin-server-unix-socket-mode = "666"
db-uri = "${uri}"
db-anon-role = "${anonymous}"
rest-base-path = "/"
`,
  )
  const program = startProgram(t, {}, [file])
  await program.line(says('listening'))
  t.equal(statSync(api).mode & 0o777, 0o600)
  t.equal(statSync(admin).mode & 0o777, 0o666)
  t.strictSame(await get(api, '/films'), { status: 200, body: '[]' })
  t.match(await get(admin, '/live'), { status: 200 })
  t.match(await get(admin, '/ready'), { status: 200 })
  t.match((await get(admin, '/metrics')).body, /pgrst_db_pool_max 10/)
  t.match(await get(admin, '/config'), { status: 404 })
  t.notOk(program.logged().some(says('request')), 'as in PostgREST, requests are not logged by default')

  await rename(api, `${api}.away`)
  t.match(await get(admin, '/live'), { status: 500 }, 'the API is not reachable')
  t.match(await get(admin, '/ready'), { status: 500 })
  await rename(`${api}.away`, api)

  const held = get(api, '/rpc/hold')
  t.ok(await latch.isAwaited())
  program.kill('SIGTERM')
  t.ok(await until(async () => (await get(admin, '/live')).status === 500), 'no longer live')
  await latch.release()
  t.match(await held, { status: 200, body: '"let go"' }, 'requests in flight are completed')
  t.equal(await program.ended, 0)
  await t.rejects(get(api, '/films'))
})

t.test('missing secrets are reported at startup', async (t) => {
  const program = startProgram(t, { DATABASE_URL: uri, PGRST_DB_ANON_ROLE: anonymous })
  await program.line(says('listening'))
  for (const missing of missingSecrets({ sessionSecrets: [], jwtSecret: null, restBasePath: '/rest/v1' })) {
    const text = missingSettingText(missing)
    t.ok(program.written().includes(text), text)
  }
})

t.test('one message lists all invalid settings', async (t) => {
  const program = startProgram(t, {
    PGRST_DB_URI: uri,
    PGRST_DB_POOL: 'many',
    PGRST_LOG_LEVEL: 'loud',
    PGRST_JWT_SECRET: 'hunter2',
    PGRST_OPENAPI_MODE: 'open',
  })
  t.equal(await program.ended, 1)
  for (const name of ['PGRST_DB_POOL', 'PGRST_LOG_LEVEL', 'PGRST_JWT_SECRET', 'PGRST_OPENAPI_MODE']) {
    t.ok(program.written().includes(name), name)
  }
  t.notMatch(program.written(), /hunter2/)
})
