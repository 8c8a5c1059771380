// The findings of `rowhouse doctor` for given facts: what a test cannot make of a real installation, and the limits of each.
import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import type { Client } from '../../../server/postgres/connection/client.ts'
import { loadConfig } from '../../../server/config/load.ts'
import { type Environment } from '../../../server/config/config-sources.ts'
import { archiveFindings, type ArchiveFacts } from '../../../server/tools/doctor/archive.ts'
import { clockFindings, skewOf } from '../../../server/tools/doctor/clocks.ts'
import { connectionFindings, loginFindings, wantedConnections } from '../../../server/tools/doctor/database-findings.ts'
import type { DatabaseFacts } from '../../../server/tools/doctor/facts.ts'
import { bytes, type DoctorFinding } from '../../../server/tools/doctor/finding.ts'
import { poolerFindings } from '../../../server/tools/doctor/pooler.ts'
import type { Dependencies } from '../../../server/tools/command-line/dependencies.ts'
import { runProgram } from '../../../server/tools/command-line/program.ts'
import { examinePooling } from '../../../server/tools/doctor/probe.ts'
import { readinessFindings, readService } from '../../../server/tools/doctor/service-probe.ts'
import { providerFindings } from '../../../server/tools/doctor/provider-findings.ts'
import { settingsFindings } from '../../../server/tools/doctor/settings-findings.ts'
import { storageFindings } from '../../../server/tools/doctor/storage-findings.ts'
import { certificateFindings, databaseTlsFindings, serviceTlsFindings } from '../../../server/tools/doctor/tls.ts'
import {
  expectedMinor,
  nodeFindings,
  postgresFindings,
  serviceVersionFindings,
} from '../../../server/tools/doctor/versions.ts'
import { listen } from '../../support/listening.ts'

const brief = (findings: readonly DoctorFinding[]): string[] => findings.map(({ level, code }) => `${level} ${code}`)
const on = (date: string): Date => new Date(`${date}T12:00:00Z`)

const healthy: DatabaseFacts = {
  version: 180_004,
  now: 0,
  settings: { autovacuum_freeze_max_age: '200000000', autovacuum_multixact_freeze_max_age: '400000000' },
  login: {
    ...{ name: 'authenticator', isSuperuser: false, bypassesRls: false, createsRoles: false, connectionLimit: -1 },
    members: [{ name: 'anon', timeout: '3s', bypassesRls: false }],
  },
  connections: { max: 100, reserved: 3, used: 20, databaseLimit: -1 },
  ...{ extensions: [], tables: [], indexes: [], slots: [], transactions: [] },
  ...{ xidAge: 1000, multixactAge: 1, statisticsDays: 30 },
}

t.test('the archive of the embedded database', (t) => {
  const config = { backupDir: '/backups', serverHost: '127.0.0.1', serverUnixSocket: null }
  const now = Date.parse('2026-03-01T12:00:00Z')
  const archive = { folder: '/backups', until: now - 4000, backups: 1 }
  const slot = { name: 'rowhouse_backup', isActive: true, retained: 1000, isLost: false }
  const found = (facts: ArchiveFacts | undefined, slots: DatabaseFacts['slots'], isServed = true): DoctorFinding[] =>
    archiveFindings(facts, { slots }, config, isServed, now)
  t.strictSame(found(archive, [slot]), [])
  t.strictSame(brief(found(undefined, [])), ['INFO not_archived'])
  t.strictSame(brief(archiveFindings(undefined, { slots: [] }, { ...config, serverHost: '*' }, true, now)), [
    'WARN not_archived',
  ])
  t.strictSame(brief(found({ ...archive, until: now - 60_000 }, [slot])), ['WARN archive_behind'])
  t.strictSame(brief(found(archive, [{ ...slot, retained: 2 ** 30 }])), ['WARN archive_behind'])
  const [stopped] = found({ ...archive, until: now - 60_000 }, [{ ...slot, isActive: false, retained: 48 * 2 ** 20 }])
  t.match(stopped, { level: 'ERROR', code: 'archive_stopped' })
  t.equal(
    stopped?.what,
    'Nothing is archived since 2026-03-01T11:59:00.000Z; the database keeps 48 MB of the log for it.',
  )
  t.strictSame(brief(found(archive, [])), ['ERROR archive_stopped'])
  t.strictSame(found(archive, [{ ...slot, isActive: false }], false), [], 'the server does not run')
  t.strictSame(brief(found({ ...archive, backups: 0 }, [slot])), ['ERROR no_base_backup'])
  t.strictSame(brief(found({ ...archive, problem: 'EACCES' }, [slot])), ['ERROR backups_unreadable'])
  t.end()
})

t.test('versions', (t) => {
  t.strictSame(brief(nodeFindings('20.20.2', on('2026-04-01'))), ['INFO node_support'])
  t.strictSame(brief(nodeFindings('20.20.2', on('2026-05-01'))), ['WARN node_support'])
  t.strictSame(brief(nodeFindings('23.1.0', on('2025-12-01'))), ['WARN node_support'])
  t.strictSame(brief(nodeFindings('24.1.0', on('2026-11-23'))), [])
  t.equal(expectedMinor(18, on('2025-11-20')), 1)
  t.equal(expectedMinor(18, on('2026-02-11')), 1, 'the day before the second Thursday of February')
  t.equal(expectedMinor(18, on('2026-02-13')), 2)
  t.equal(expectedMinor(18, on('2026-11-23')), 5)
  t.equal(expectedMinor(14, on('2030-01-01')), 24, 'there are none after the end of support')
  t.equal(expectedMinor(99, on('2026-01-01')), undefined)
  t.strictSame(brief(postgresFindings(180_001, on('2026-03-01'))), ['WARN postgres_minor'])
  t.strictSame(brief(postgresFindings(180_001, on('2026-03-01'), true)), ['INFO postgres_minor'])
  t.strictSame(brief(postgresFindings(180_009, on('2026-03-01'))), [])
  t.strictSame(brief(postgresFindings(130_023, on('2026-03-01'))), ['ERROR postgres_support'])
  t.strictSame(brief(postgresFindings(150_030, on('2027-11-01'))), ['INFO postgres_support'])
  t.strictSame(brief(serviceVersionFindings('postgrest/16.2 rowhouse/0.1.0', '0.1.0')), [])
  t.strictSame(brief(serviceVersionFindings('postgrest/16.2 rowhouse/0.0.9', '0.1.0')), ['WARN service_version'])
  t.strictSame(brief(serviceVersionFindings(null, '0.1.0')), ['INFO service_version'])
  t.end()
})

t.test('clocks: the uncertainty of a reading is no skew', (t) => {
  const reading = { name: 'the service', before: 100_000, after: 100_400, unit: 1000 }
  t.equal(skewOf({ ...reading, time: 100_000 }), 0)
  t.equal(skewOf({ ...reading, time: 99_000 }), 0, 'a header of whole seconds is rounded down')
  t.equal(skewOf({ ...reading, time: 105_400 }), 5)
  t.equal(skewOf({ ...reading, time: 60_000 }), -39)
  t.strictSame(brief(clockFindings([{ ...reading, time: 101_000 }])), [])
  t.match(clockFindings([{ ...reading, time: 105_400 }]), [{ level: 'WARN', what: /5\.0 s ahead of/ }])
  t.match(clockFindings([{ ...reading, time: 60_000 }]), [{ level: 'ERROR', what: /39 s behind/ }])
  t.end()
})

t.test('TLS', (t) => {
  const day = 86_400_000
  const encryption = { isLocal: false, isEncrypted: true, isVerified: true, validTo: 90 * day }
  const of = (more: Partial<typeof encryption>): string[] => brief(databaseTlsFindings({ ...encryption, ...more }, 0))
  t.strictSame(of({}), [])
  t.strictSame(of({ isEncrypted: false }), ['ERROR database_not_encrypted'])
  t.strictSame(of({ isEncrypted: false, isLocal: true }), [])
  t.strictSame(of({ isVerified: false, validTo: 10 * day }), ['WARN database_not_verified', 'WARN certificate_expires'])
  t.match(certificateFindings('x', -3 * day, 0), [{ level: 'ERROR', what: /has ended on 1969-12-29, 3 days ago/ }])
  t.match(certificateFindings('x', 3 * day, 0), [{ level: 'ERROR', what: /in 3 days/ }])
  t.strictSame(brief(serviceTlsFindings(new URL('http://api.example.com'))), ['ERROR service_not_encrypted'])
  for (const url of ['https://api.example.com', 'http://127.0.0.1:3000'])
    t.strictSame(serviceTlsFindings(new URL(url)), [])
  t.end()
})

/**
 * Clients of a server or of a pooler that lends server processes for the time of a transaction, the one returned last first.
 */
function clients({ pools, keeps }: { readonly pools: 'none' | 'session' | 'transaction'; readonly keeps: boolean }) {
  const idle = pools === 'transaction' ? [20, 10] : []
  const prepared = new Map<number, Set<string>>()
  const client = (announced: number, own: number): Client => {
    let bound: number | undefined = pools === 'transaction' ? undefined : own
    const isKnown = new Set<string>()
    const query = (given: string | { readonly name: string }): Promise<unknown> => {
      const pid = bound ?? idle.pop() ?? 30
      const statements = prepared.get(pid) ?? new Set<string>()
      prepared.set(pid, statements)
      if (given === 'begin') bound = pid
      else if (pools === 'transaction' && (given === 'rollback' || given === 'commit' || bound === undefined)) {
        bound = undefined
        idle.push(pid)
      }
      if (typeof given === 'object') {
        if (!isKnown.has(given.name) || keeps) statements.add(given.name)
        isKnown.add(given.name)
        if (!statements.has(given.name)) return Promise.reject(Object.assign(new Error('none'), { code: '26000' }))
      }
      return Promise.resolve({ rows: [{ pid }] })
    }
    return { processID: announced, query } as unknown as Client
  }
  return pools === 'none' ? ([client(1, 1), client(2, 2)] as const) : ([client(71, 1), client(72, 2)] as const)
}

t.test('poolers', async (t) => {
  const settings = { dbPreparedStatements: true, dbChannelEnabled: true }
  const of = async (pools: 'none' | 'session' | 'transaction', keeps = false): Promise<string[]> => {
    const [first, second] = clients({ pools, keeps })
    return brief(poolerFindings(await examinePooling(first, second), settings))
  }
  t.strictSame(await of('none'), [])
  t.strictSame(await of('session'), ['INFO pooler_found'])
  t.strictSame(await of('transaction'), [
    'INFO pooler_found',
    'ERROR pooler_prepared_statements',
    'WARN pooler_channel',
  ])
  t.strictSame(await of('transaction', true), ['INFO pooler_found', 'WARN pooler_channel'])
  const pooling = { isPooled: true, sharesSessions: true, keepsPrepared: false }
  const suited = { dbPreparedStatements: false, dbChannelEnabled: false }
  t.strictSame(brief(poolerFindings(pooling, suited)), ['INFO pooler_found'])
})

t.test('connections and the serving role', (t) => {
  const pool = { dbPool: 10, dbPoolReserve: 2, serverWorkers: 1 }
  t.equal(wantedConnections(pool, 1), 14)
  t.equal(wantedConnections({ ...pool, serverWorkers: 4 }, 2), 2 * 4 * (2 + 2 + 2), 'workers share the pool')
  t.strictSame(brief(connectionFindings(healthy, pool, 6)), [])
  t.strictSame(brief(connectionFindings(healthy, pool, 7)), ['ERROR pool_too_large'])
  const limited = { ...healthy, login: { ...healthy.login, connectionLimit: 13 } }
  t.strictSame(brief(connectionFindings(limited, pool, 1)), ['ERROR pool_too_large'])
  const used = { ...healthy, connections: { ...healthy.connections, used: 90 } }
  t.match(connectionFindings(used, pool, 1), [{ code: 'connections_scarce', what: /90 of 97 .* \(93 %\)/ }])
  t.strictSame(loginFindings(healthy, { dbAnonRole: 'anon' }), [])
  const own = [{ name: 'supabase_auth_admin', timeout: null, bypassesRls: false }]
  t.strictSame(
    loginFindings({ ...healthy, login: { ...healthy.login, members: own } }, { dbAnonRole: 'anon' }),
    [],
    "no request has one of the server's own roles",
  )
  const members = [{ name: 'a"b', timeout: '0', bypassesRls: true }]
  const weak = { ...healthy, login: { ...healthy.login, isSuperuser: true, bypassesRls: true, members } }
  t.match(loginFindings(weak, { dbAnonRole: 'a"b' }), [
    { code: 'login_role_powerful', fix: 'alter role "authenticator" nosuperuser nobypassrls;' },
    { code: 'anonymous_bypasses_policies', fix: 'alter role "a""b" nosuperuser nobypassrls;' },
    { code: 'no_statement_timeout', fix: `alter role "a""b" set statement_timeout = '8s';` },
  ])
  t.end()
})

t.test('storage', (t) => {
  const of = (more: Partial<DatabaseFacts>): string[] => brief(storageFindings({ ...healthy, ...more }))
  t.strictSame(of({}), [])
  const table = {
    ...{ name: 'public.films', size: 50_000_000, live: 1000, dead: 100, modified: 10, vacuumsAt: 250 },
    ...{ analyzesAt: 150, expectedSize: 40_000_000 as number | null },
  }
  t.strictSame(of({ tables: [table, { ...table, expectedSize: null }] }), [])
  t.strictSame(of({ tables: [{ ...table, dead: 5000 }] }), ['WARN dead_rows'])
  t.strictSame(of({ tables: [{ ...table, dead: 5000, vacuumsAt: 4000 }] }), [], 'autovacuum is about to begin')
  t.strictSame(of({ tables: [{ ...table, vacuumsAt: null }] }), ['WARN autovacuum_off'])
  t.strictSame(of({ tables: [{ ...table, modified: 5000 }] }), ['WARN statistics_outdated'])
  t.strictSame(of({ tables: [{ ...table, expectedSize: 20_000_000 }] }), ['WARN table_bloat'])
  const index = {
    ...{ name: 'public.i', table: 'public.films', size: 50_000_000, isValid: true, isOptional: true, scans: 1 },
    expectedSize: 40_000_000,
  }
  t.strictSame(of({ indexes: [index] }), [])
  t.strictSame(of({ indexes: [{ ...index, isValid: false }] }), ['ERROR index_invalid'])
  t.strictSame(of({ indexes: [{ ...index, scans: 0 }] }), ['INFO index_unused'])
  t.strictSame(of({ indexes: [{ ...index, scans: 0 }], statisticsDays: 2 }), [], 'the statistics are too young')
  t.strictSame(of({ indexes: [{ ...index, scans: 0, isOptional: false }] }), [])
  t.strictSame(of({ indexes: [{ ...index, expectedSize: 20_000_000 }] }), ['INFO index_bloat'])
  t.strictSame(of({ xidAge: 310_000_000 }), ['WARN wraparound'])
  t.strictSame(of({ xidAge: 1_500_000_000, multixactAge: 700_000_000 }), ['ERROR wraparound', 'WARN wraparound'])
  const slot = { name: "it's", isActive: true, retained: 1000, isLost: false }
  t.strictSame(of({ slots: [slot] }), [])
  t.strictSame(of({ slots: [{ ...slot, retained: 2 ** 31 }] }), ['ERROR replication_slot'])
  t.match(storageFindings({ ...healthy, slots: [{ ...slot, isActive: false }] }), [
    { level: 'WARN', fix: "select pg_drop_replication_slot('it''s');" },
  ])
  const transaction = { pid: 7, user: 'me', application: 'psql', state: 'idle in transaction', age: 400 }
  t.strictSame(of({ transactions: [transaction, { ...transaction, state: 'active' }] }), ['WARN long_transaction'])
  t.end()
})

t.test('the secret of Apple', (t) => {
  const now = Date.UTC(2026, 0, 1)
  const of = (settings: Environment): string[] =>
    brief(
      providerFindings(
        loadConfig({
          env: {
            DATABASE_URL: 'postgres://127.0.0.1/app',
            GOTRUE_EXTERNAL_APPLE_ENABLED: 'true',
            ...Object.fromEntries(
              Object.entries(settings).map(([name, value]) => [`GOTRUE_EXTERNAL_APPLE_${name}`, value]),
            ),
          },
        }).config,
        now,
      ),
    )
  const secret = (exp: unknown): string => `e30.${Buffer.from(JSON.stringify({ exp })).toString('base64url')}.x`
  const days = (count: number): number => now / 1000 + count * 86_400
  t.strictSame(of({ SECRET: secret(days(31)) }), [])
  t.strictSame(of({ SECRET: secret(days(29)) }), ['WARN apple_secret_expires'])
  t.strictSame(of({ SECRET: secret(days(0)) }), ['ERROR apple_secret_expires'])
  t.strictSame(of({ SECRET: secret(days(0)), ENABLED: 'false' }), [])
  for (const text of ['', 'secret', 'a.b.c', secret('soon')]) t.strictSame(of({ SECRET: text }), [], text)
  const keys = { KEY_ID: 'K', TEAM_ID: 'T' }
  const pem = (namedCurve: string): string =>
    generateKeyPairSync('ec', { namedCurve }).privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  t.strictSame(of({ ...keys, SECRET: secret(days(0)), PRIVATE_KEY: pem('P-256') }), [], 'the key makes the secret')
  t.strictSame(of({ ...keys, PRIVATE_KEY: pem('P-384') }), ['ERROR apple_key_invalid'])
  t.strictSame(of({ ...keys, PRIVATE_KEY: 'AuthKey_K.p8' }), ['ERROR apple_key_invalid'])
  t.end()
})

t.test('settings', (t) => {
  const secrets = {
    DATABASE_URL: 'postgres://127.0.0.1/app',
    PGRST_JWT_SECRET: 's'.repeat(32),
    SESSION_SECRETS: 's'.repeat(32),
  }
  const of = (env: Environment): string[] =>
    brief(settingsFindings(loadConfig({ env: { ...secrets, ...env } }).config, false))
  t.strictSame(of({}), [], 'the defaults are safe')
  const table: [Environment, string][] = [
    [{ PGRST_JWT_SECRET: undefined }, 'WARN setting_missing'],
    [{ PGRST_DB_TX_END: 'rollback' }, 'ERROR transactions_roll_back'],
    [{ PGRST_DB_TX_END: 'commit-allow-override' }, 'INFO clients_choose_rollback'],
    [{ PGRST_DB_PLAN_ENABLED: 'true' }, 'WARN plans_are_public'],
    [{ EXPLAIN_ROLES: 'anon' }, 'ERROR anonymous_explains'],
    [{ DOCS_MODE: 'ignore-privileges' }, 'WARN documents_show_everything'],
    [{ GOTRUE_SESSIONS_CHECK_ACCESS_TOKENS: 'false' }, 'WARN tokens_outlive_sessions'],
    [{ PGRST_LOG_QUERY: 'true' }, 'INFO statements_in_log'],
    [{ LOAD_SHEDDING_WAIT: '0' }, 'WARN nothing_is_shed'],
    [{ LOAD_SHEDDING_WAIT: '2000', PGRST_DB_POOL_ACQUISITION_TIMEOUT: '1' }, 'WARN waits_contradict'],
    [{ REST_EXPORT_LIMIT: '8' }, 'WARN long_work_takes_pool'],
    [{ SERVER_WORKERS: '8' }, 'WARN pool_smaller_than_workers'],
  ]
  for (const [env, finding] of table) t.strictSame(of(env), [finding], JSON.stringify(env))
  t.strictSame(of({ HOST: '!4', SECURE_COOKIES: 'false' }), [
    'ERROR cookies_without_secure',
    'INFO listens_without_tls',
  ])
  t.strictSame(
    ['0', '1023', '1024', '15360', '1610612736'].map((it) => bytes(Number(it))),
    ['0 bytes', '1023 bytes', '1.0 kB', '15 kB', '1.5 GB'],
  )
  t.end()
})

t.test('what a service says about itself', async (t) => {
  const of = async (status: number, body: string): Promise<string[]> => {
    const url = new URL(
      await listen(t, (request, response) => {
        t.equal(request.url, '/base/ready')
        response.writeHead(status).end(body)
      }),
    )
    return brief(readinessFindings(url, await readService(new URL('base', url))))
  }
  t.strictSame(await of(200, '{"status":"ready","checks":{}}'), [])
  t.strictSame(await of(200, '{"status":"ready","overload":"pool"}'), ['WARN service_overloaded'])
  t.strictSame(await of(503, '{"status":"not ready","checks":{"database":false}}'), ['ERROR service_not_ready'])
  t.strictSame(await of(502, '<html>'), ['ERROR service_not_ready'])
  t.strictSame(await of(404, 'x'.repeat(1_000_000)), ['ERROR service_not_ready'], 'only the beginning is read')
})

t.test('a service that responds byte by byte is not waited for', async (t) => {
  const url = await listen(t, (_request, response) => {
    const drip = setInterval(() => response.write('x'), 20)
    response.once('close', () => clearInterval(drip))
  })
  await t.rejects(readService(new URL(url), 200), { message: 'no response within 0.2 s' })
})

t.test('options and exit codes', async (t) => {
  const run = async (...args: string[]): Promise<[number, string]> => {
    let printed = ''
    const print = (text: string): void => void (printed += text)
    const dependencies = {
      ...{ version: '0', print, printError: print },
      withDatabaseSettings: () => Promise.reject(new Error('no database')),
    }
    return [await runProgram(['doctor', ...args], dependencies as unknown as Dependencies), printed]
  }
  t.match(await run('--url', 'api.example.com'), [1, /Allowed are http and https URLs/])
  t.match(await run('--url', 'ftp://api.example.com'), [1, /Allowed are http and https URLs/])
  for (const count of ['0', '1001', '-1', 'x'])
    t.match(await run('--processes', count), [1, /Allowed are numbers from 1 to 1000/])
  t.strictSame(await run(), [2, 'no database\n'])
})
