// Attacks on how requests to /auth/v1 get their role in metrics: invented keys, and the credentials of two users.
import t from 'tap'
import { createApiKey, makeApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { bearer, signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { call, service } = await startApplication(t, database.authenticatorUri, {
  PGRST_DB_POOL: '4',
  PGRST_ADMIN_SERVER_PORT: '1',
  PGRST_DB_POOL_ACQUISITION_TIMEOUT: '60',
})
const [ann, bob] = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b']

/** How often each role has asked for /auth/v1/health. */
const counts = async (): Promise<ReadonlyMap<string, number>> => {
  const { body } = await service.metrics.expose(false)
  const lines = body.matchAll(/^http_request_duration_seconds_count\{([^}]*route="\/auth\/v1\/health"[^}]*)\} (\d+)$/gm)
  return new Map(
    Array.from(lines, ([, labels = '', count]) => [/role="([^"]*)"/.exec(labels)?.[1] ?? '', Number(count)]),
  )
}

t.test('a flood of invented keys leaves connections to others', async (t) => {
  await withClient(database.adminUri, async (admin) => {
    // All look-ups of keys wait.
    await admin.query('begin; lock table auth.api_keys in access exclusive mode')
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, number) =>
        call('GET', '/auth/v1/settings', {
          headers:
            number % 2 === 0
              ? { apikey: makeApiKey('secret') }
              : { Authorization: `Bearer ${makeApiKey('publishable')}` },
        }),
      ),
    )
    t.strictSame(new Set(answers.map(({ status }) => status)), new Set([200]))
    const read = await call('GET', '/rest/v1/reports?select=id', {
      headers: { Authorization: await bearer('authenticated', { sub: ann }) },
    })
    t.strictSame([read.status, read.body], [200, []])
    const waiting = await admin.query("select from pg_locks where not granted and relation = 'auth.api_keys'::regclass")
    t.ok(waiting.rowCount, 'the read has not waited for the keys')
    await admin.query('rollback')
    const { key } = await createApiKey(admin, { role: 'service_role', label: 'test' })
    const isCounted = async (): Promise<boolean> => {
      await call('GET', '/auth/v1/health', { headers: { apikey: key } })
      return (await counts()).has('service_role')
    }
    t.ok(await until(isCounted), 'the role of a valid key is found again')
  })
})

t.test('each request is counted with its own role, or none', async (t) => {
  const forged = `${(await signToken({ role: 'service_role', sub: bob })).slice(0, -8)}AAAAAAAA`
  const rows: readonly (readonly [headers: Readonly<Record<string, string>>, role: string])[] = [
    [{ Authorization: await bearer('authenticated', { sub: ann }) }, 'authenticated'],
    [{ Authorization: await bearer('anon', { sub: bob }) }, 'anon'],
    [{ Authorization: `Bearer ${forged}` }, 'unknown'],
    [{ apikey: forged, Authorization: await bearer('authenticated', { sub: bob }) }, 'unknown'],
    [{ Authorization: 'Bearer x.y.z', apikey: "sb_secret_'; drop table x; --" }, 'unknown'],
    [{}, 'unknown'],
  ]
  const repetitions = 20
  const before = await counts()
  const sent = Array.from({ length: repetitions }, () => rows).flat()
  await Promise.all(sent.map(([headers]) => call('GET', '/auth/v1/health', { headers })))
  const wanted = new Map(before)
  for (const [, role] of sent) wanted.set(role, (wanted.get(role) ?? 0) + 1)
  t.strictSame(new Map([...(await counts())].sort()), new Map([...wanted].sort()))
})
