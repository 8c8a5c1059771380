// What operates the server, in the console's API.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type {
  BackupReport,
  CreatedKey,
  DoctorReport,
  KeyReport,
  LogEntry,
  MigrationReport,
  SettingState,
} from '../../server/services/console/operation-protocol.ts'
import { signInToConsole, startConsoleServer } from '../support/console.ts'
import { withClient } from '../support/database.ts'
import { until } from '../support/until.ts'

t.test('operations', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'console-operations-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  await writeFile(join(folder, '001_first.sql'), 'create table public.first (id int);')
  const server = await startConsoleServer(t, {
    MIGRATIONS_DIR: folder,
    GOTRUE_SMTP_PASS: 'hunter2',
    PGRST_APP_SETTINGS_API_KEY: 'hunter2',
    PGRST_APP_SETTINGS_GREETING: 'hello',
    SESSION_SECRETS: 'hunter2-hunter2-hunter2-hunter2-hunter2',
    PGRST_DB_MAX_ROWS: '500',
    WEBHOOKS_MAX_ATTEMPTS: '7',
  })
  const client = await signInToConsole(server)
  const get = async <T>(path: string): Promise<T> => (await client.call('GET', `operations/${path}`)).body.details as T

  await t.test('are for those who are signed in', async (t) => {
    for (const path of ['migrations', 'settings', 'backups', 'replicas', 'keys', 'log']) {
      t.equal((await fetch(`${server.url}/console/api/operations/${path}`)).status, 401, path)
    }
    t.equal((await fetch(`${server.url}/console/api/operations/doctor`, { method: 'POST' })).status, 401)
    t.equal((await fetch(`${server.url}/console/api/operations/keys`, { method: 'POST' })).status, 401)
  })

  await t.test('migrations', async (t) => {
    const { server: own, folder: shown, files } = await get<MigrationReport>('migrations')
    t.ok(own.applied.includes('000019_console.sql'))
    t.same(own.pending, [])
    t.equal(shown, folder)
    t.match(files, [{ name: '001_first.sql', state: 'pending', needsAttention: false, statements: 1 }])
  })

  await t.test('settings have their origin, and secrets are hidden', async (t) => {
    const { body } = await client.call('GET', 'operations/settings')
    t.notMatch(JSON.stringify(body), /hunter2|a secret for tests/)
    const settings = body.details as readonly SettingState[]
    const find = (name: string): SettingState | undefined => settings.find((it) => it.name.toLowerCase() === name)
    t.match(find('db-max-rows'), { value: '500', origin: 'environment', source: 'PGRST_DB_MAX_ROWS', isWaiting: false })
    t.match(find('jwt-secret'), { value: null, isSecret: true, isSet: true })
    t.match(find('gotrue-smtp-pass'), { value: null, isSecret: true })
    t.match(find('jwt-secret-is-base64'), { value: 'false', isSecret: false })
    t.match(find('webhooks-max-attempts'), { value: '7', isSecret: false })
    t.match(find('db-pool'), { origin: 'default', source: null, isSet: false })
    t.match(find('app.settings.greeting'), { value: '"hello"' })
    t.match(find('app.settings.api_key'), { value: null })
    const { password } = new URL(server.database.authenticatorUri)
    t.notOk(JSON.stringify(body).includes(`:${password}@`))
    t.match(find('db-uri')?.value, /^"postgres/)
  })

  await t.test('a flood of them uses three connections', async (t) => {
    const waiting = `
      select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    const calls = await withClient(server.database.adminUri, async (admin) => {
      await admin.query('begin; lock table rowhouse.migrations in access exclusive mode')
      const sent = Array.from({ length: 8 }, () => client.call('GET', 'operations/migrations'))
      const count = async (): Promise<number> => Number((await server.database.query(waiting)).rows[0]?.n)
      t.ok(await until(async () => (await count()) >= 3))
      for (let time = 0; time < 10; time++) {
        t.equal(await count(), 3)
        await pause(100)
      }
      await admin.query('rollback')
      return sent
    })
    for (const { status } of await Promise.all(calls)) t.equal(status, 200)
  })

  await t.test('the doctor', async (t) => {
    const { status, body } = await client.call('POST', 'operations/doctor')
    t.equal(status, 200)
    const { findings, healthy } = body.details as DoctorReport
    t.ok(Array.isArray(findings))
    t.ok(healthy.length > 0)
    t.notOk(
      findings.some(({ code }) => code === 'service_unreachable'),
      'it reaches this server',
    )
  })

  await t.test('backups and replicas', async (t) => {
    t.match(await get<BackupReport>('backups'), { isEmbedded: true, folder: null, backups: [], archivedUntil: null })
    t.same(await get('replicas'), [])
  })

  await t.test('keys are created, limited and revoked', async (t) => {
    const created = await client.call('POST', 'operations/keys', { role: 'anon', label: '<b>shop</b>', days: 30 })
    t.equal(created.status, 201)
    const { key, state } = created.body.details as CreatedKey
    t.match(key, /^sb_publishable_/)
    const request = (): Promise<Response> => fetch(`${server.url}/rest/v1/`, { headers: { apikey: key } })
    t.equal((await request()).status, 200)
    const limits = { max_rows: 1, max_requests_per_second: 5 }
    t.equal((await client.call('PUT', `operations/keys/${state.id}/limits`, { limits })).status, 200)
    t.equal((await client.call('PUT', `operations/keys/${state.id}/limits`, { limits: { max_cats: 1 } })).status, 422)
    const report = await get<KeyReport>('keys')
    t.match(
      report.keys.find(({ id }) => id === state.id),
      { label: '<b>shop</b>', role: 'anon', limits },
    )
    t.ok(report.limits.some(({ name }) => name === 'max_rows'))
    t.notMatch(JSON.stringify(report), key)
    t.equal((await client.call('DELETE', `operations/keys/${state.id}`)).status, 200)
    t.equal((await client.call('DELETE', `operations/keys/${state.id}`)).status, 404)
    t.equal((await request()).status, 401)
    for (const [body, status] of [
      [{ role: 'no_such_role', label: 'x' }, 422],
      [{ role: 'supabase_auth_admin', label: 'x' }, 422],
      [{ role: 'anon', label: '' }, 400],
      [{ role: 'authenticated', label: 'x', user: '00000000-0000-4000-8000-000000000000' }, 422],
    ] as const) {
      t.equal((await client.call('POST', 'operations/keys', body)).status, status, JSON.stringify(body))
    }
    const log = await get<readonly LogEntry[]>('log')
    t.match(log.slice(0, 3), [
      { action: 'revoke key', details: { id: state.id } },
      { action: 'limit key', details: { id: state.id, limits } },
      { action: 'create key', actor: 'test', details: { role: 'anon' } },
    ])
    t.notMatch(JSON.stringify(log), key)
  })
})
