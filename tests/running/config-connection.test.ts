import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import pg from 'pg'
import t from 'tap'
import { ConfigError } from '../../server/config/config-error.ts'
import { connectionPlan } from '../../server/postgres/connection/connection-plan.ts'
import { parseConnectionString } from '../../server/postgres/connection/connection-string.ts'
import { passwordInFile } from '../../server/postgres/connection/passfile.ts'
import { type PoolConfig } from '../../server/postgres/connection/pool-config.ts'
import { toPoolConfig } from '../../server/running/connection-setting.ts'
import { applicationName } from '../../server/common/version.ts'
import { authority, certificate, privateKey } from '../support/certificate.ts'
import { createDatabase } from '../support/database.ts'
import { fakePostgres, type FakeBehaviour } from '../support/fake-postgres.ts'

const createClient = (config: PoolConfig): pg.Client => new config.Client(config)

const folder = mkdtempSync(join(tmpdir(), 'rowhouse-connection-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const rootCertificate = join(folder, 'root.crt')
writeFileSync(rootCertificate, authority)

const strings: readonly [string, Record<string, string>][] = [
  ['postgresql://', {}],
  ['postgres://user:pass@host:5433/db', { user: 'user', password: 'pass', host: 'host', port: '5433', dbname: 'db' }],
  ['postgres://user@/db', { user: 'user', dbname: 'db' }],
  ['postgres:///db?host=server&port=5432', { dbname: 'db', host: 'server', port: '5432' }],
  ['postgresql://?dbname=a&host=/run/x&user=u', { dbname: 'a', host: '/run/x', user: 'u' }],
  ['postgres://u%40x:p%3A%2F%40%20+@h/d%20b', { user: 'u@x', password: 'p:/@ +', host: 'h', dbname: 'd b' }],
  ['postgres://admin:?pass?special?@localhost:5432/x', {
    user: 'admin', password: '?pass?special?', host: 'localhost', port: '5432', dbname: 'x',
  }],
  ['postgres://u:a:b@h', { user: 'u', password: 'a:b', host: 'h' }],
  ['postgres://:p@h', { password: 'p', host: 'h' }],
  ['postgresql://%2Frun%2Fpostgresql/db', { host: '/run/postgresql', dbname: 'db' }],
  ['postgresql://[::1]:5432/db', { host: '::1', port: '5432', dbname: 'db' }],
  ['postgresql://h1:1,h2:2,h3/db', { host: 'h1,h2,h3', port: '1,2,', dbname: 'db' }],
  ['postgresql://h/db?sslmode=require&options=-c%20a%3Db', {
    host: 'h', dbname: 'db', sslmode: 'require', options: '-c a=b',
  }],
  ['postgresql://h?ssl=true', { host: 'h', sslmode: 'require' }],
  ['postgresql://h?password=a%3D%26b', { host: 'h', password: 'a=&b' }],
  ['', {}],
  ['host=localhost port=5433 user=authenticator password=secret dbname=postgres', {
    host: 'localhost', port: '5433', user: 'authenticator', password: 'secret', dbname: 'postgres',
  }],
  ["  host = 'a b'  password='it\\'s \\\\ here' user=a\\ b ", { host: 'a b', password: "it's \\ here", user: 'a b' }],
  ["host='' user=''", { host: '', user: '' }],
  ['dbname=', { dbname: '' }],
  ['host=a host=b', { host: 'b' }],
] // prettier-ignore

t.test('connection strings', async (t) => {
  for (const [text, expected] of strings) t.strictSame(Object.fromEntries(parseConnectionString(text)), expected, text)
})

const forms = 'postgresql://user:password@host:5432/database, or pairs such as host=localhost dbname=postgres'
const refusedStrings: readonly [string, string][] = [
  ['tmp_db', `missing "=" in the connection string; expected ${forms}`],
  ['host=h password=my secret', `missing "=" in the connection string; expected ${forms}`],
  ['htp://u:secret@h/d', `"htp://" is not the scheme of a connection URI; expected ${forms}`],
  ['POSTGRES://u:secret@h/d', `"POSTGRES://" is not the scheme of a connection URI; expected ${forms}`],
  ['hots=h', 'invalid connection option "hots"'],
  ['__proto__=h', 'invalid connection option "__proto__"'],
  ['toString=h', 'invalid connection option "toString"'],
  ["password='secret", 'unterminated quoted string in the connection string'],
  ['postgres://u:secret%@h', 'invalid percent-encoded token in the connection string'],
  ['postgres://u:secret%00@h', 'invalid percent-encoded token in the connection string'],
  ['postgres://u:sec@ret@h:x:y', 'the connection URI has a malformed host or port'],
  ['postgres://h?sslmode', 'missing key/value separator "=" in URI query parameter'],
  ['postgres://h?password=se=cret', 'extra key/value separator "=" in URI query parameter'],
  ['postgres://h?nonsense=1', 'invalid URI query parameter "nonsense"'],
  ['postgres://h?se%20cret=1', 'invalid URI query parameter'],
  ['postgres://u:secret@h:port/db', 'invalid port number: "port"'],
  ['postgres://h:0', 'invalid port number: "0"'],
  ['postgres://h:65536', 'invalid port number: "65536"'],
  ['host=a,b port=1,2,3', 'could not match 3 port numbers to 2 hosts'],
  ['host=a,b hostaddr=1.1.1.1', 'could not match 2 host names to 1 hostaddr values'],
  ['host=a sslmode=sometimes', 'invalid sslmode: must be one of disable, allow, prefer, require, verify-ca, verify-full'],
  ['host=a connect_timeout=soon', 'invalid integer value for connect_timeout'],
  ['host=a sslmode=prefer sslnegotiation=direct', 'weak sslmode "prefer" may not be used with sslnegotiation=direct'],
  ['host=a sslmode=require sslrootcert=system',
    'weak sslmode "require" may not be used with sslrootcert=system (use "verify-full")'],
  ['host=a sslmode=verify-ca', 'sslmode=verify-ca requires a root certificate: set sslrootcert, or use verify-full'],
  ['host=a sslmode=require sslrootcert=/nowhere',
    "sslrootcert cannot be read: ENOENT: no such file or directory, open '/nowhere'"],
  ['service=mine', 'definition of service "mine" not found'],
  ['require_auth=scram-sha-256', 'require_auth is not supported'],
  ['gssencmode=require', 'gssencmode=require is not supported'],
  ['client_encoding=LATIN1', 'client_encoding must be UTF8'],
] // prettier-ignore

t.test('invalid connection strings are rejected', async (t) => {
  for (const [text, message] of refusedStrings) {
    try {
      toPoolConfig(text, {})
      t.fail(`accepted: ${text}`)
    } catch (error) {
      t.ok(error instanceof ConfigError, text)
      t.equal(error instanceof Error ? error.message : '', `Error in config\n  db-uri: ${message}`, text)
    }
  }
})

t.test('errors name the setting as the user wrote it', async (t) => {
  const rows: readonly (readonly [Record<string, string>, string])[] = [
    [{ DATABASE_URL: 'htp://h' }, 'DATABASE_URL'],
    [{ PGRST_DB_URI: 'htp://h' }, 'PGRST_DB_URI'],
    [{ DATABASE_URL: 'postgres://h', MIGRATION_DATABASE_URL: 'htp://h' }, 'MIGRATION_DATABASE_URL'],
    [{ DATABASE_URL: '@/run/secrets/uri' }, 'DATABASE_URL'],
    [{ PGHOST: 'h' }, 'db-uri'],
  ]
  for (const [env, name] of rows) {
    t.throws(() => toPoolConfig('htp://h', env), { message: `Error in config\n  ${name}: "htp://" is not ` }, name)
  }
})

const login = userInfo().username
const usualHosts = ['/var/run/postgresql', '/tmp', 'localhost'].map((host) => ({ host, address: host, port: 5432 }))
type Plan = Partial<ReturnType<typeof connectionPlan>>

const plans: readonly [string, Record<string, string>, Plan][] = [
  ['postgresql://', {}, {
    targets: usualHosts, user: login, database: login, password: undefined, sslMode: 'prefer', connectTimeout: 0,
    passfile: join(homedir(), '.pgpass'), session: 'any', keepAliveIdle: 0, fallbackApplicationName: applicationName,
    applicationName: undefined, options: undefined,
  }],
  ['postgresql://', {
    PGHOST: 'h', PGPORT: '1', PGUSER: 'u', PGDATABASE: 'd', PGPASSWORD: 'p', PGSSLMODE: 'require', PGAPPNAME: 'a',
    PGCONNECT_TIMEOUT: '7', PGOPTIONS: '-c x=y', PGPASSFILE: '/x', PGTARGETSESSIONATTRS: 'primary',
  }, {
    targets: [{ host: 'h', address: 'h', port: 1 }], user: 'u', database: 'd', password: 'p', sslMode: 'require',
    applicationName: 'a', connectTimeout: 7, options: '-c x=y', passfile: '/x', session: 'primary',
  }],
  ['postgresql://u2@h2:2/d2', { PGHOST: 'h', PGPORT: '1', PGUSER: 'u', PGDATABASE: 'd' },
    { targets: [{ host: 'h2', address: 'h2', port: 2 }], user: 'u2', database: 'd2' }],
  ['user=u', {}, { user: 'u', database: 'u' }],
  ["user=u dbname=''", {}, { database: 'u' }],
  ['host=a,b port=1', {}, { targets: [{ host: 'a', address: 'a', port: 1 }, { host: 'b', address: 'b', port: 1 }] }],
  ['postgresql://a:1,b', {}, { targets: [{ host: 'a', address: 'a', port: 1 }, { host: 'b', address: 'b', port: 5432 }] }],
  ['host=name hostaddr=10.0.0.1', {}, { targets: [{ host: 'name', address: '10.0.0.1', port: 5432 }] }],
  ['hostaddr=10.0.0.1', {}, { targets: [{ host: '10.0.0.1', address: '10.0.0.1', port: 5432 }] }],
  ['connect_timeout=1', {}, { connectTimeout: 2 }],
  ['connect_timeout=-1', {}, { connectTimeout: 0 }],
  ['keepalives=0', {}, { keepAliveIdle: undefined }],
  ['keepalives_idle=60', {}, { keepAliveIdle: 60 }],
  ['options=-cwork_mem=1MB', { PGTZ: 'Europe/New York', PGDATESTYLE: 'ISO' },
    { options: '-c DateStyle=ISO -c TimeZone=Europe/New\\ York -cwork_mem=1MB' }],
  ['requiressl=1', {}, { sslMode: 'require' }],
  ['load_balance_hosts=random', {}, { shuffled: true }],
  ['sslmode=disable', {}, { tls: {} }],
  ['sslmode=require', {}, { tls: { rejectUnauthorized: false, minVersion: 'TLSv1.2' } }],
  ['sslmode=verify-full', {}, { tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' } }],
  [`sslmode=verify-full sslrootcert=${rootCertificate} ssl_min_protocol_version=TLSv1.3 sslsni=0`, {},
    { tls: { rejectUnauthorized: true, ca: Buffer.from(authority), minVersion: 'TLSv1.3' }, sendsServerName: false }],
] // prettier-ignore

t.test('libpq defaults', async (t) => {
  for (const [text, env, expected] of plans) {
    const plan = connectionPlan(text, env)
    for (const key of Object.keys(expected) as (keyof Plan)[]) t.strictSame(plan[key], expected[key], `${text}: ${key}`)
  }
})

t.test('errors do not contain the password', async (t) => {
  const config = toPoolConfig('postgres://u:hidden-word@h', {})
  t.notMatch(inspect(config, { depth: null }), 'hidden-word')
  t.notMatch(inspect(createClient(config), { depth: null }), 'hidden-word')
  t.notMatch(inspect(new pg.Pool(config), { depth: null }), 'hidden-word')
})

t.test('client certificates', async (t) => {
  const [cert, key] = [join(folder, 'client.crt'), join(folder, 'client.key')]
  writeFileSync(cert, certificate)
  writeFileSync(key, privateKey)
  const config = toPoolConfig(`host=localhost sslmode=require sslcert=${cert} sslkey=${key}`, {})
  const pool = new pg.Pool(config)
  const { tls } = config.plan
  t.strictSame({ ...tls }, {
    cert: Buffer.from(certificate), key: Buffer.from(privateKey), minVersion: 'TLSv1.2', rejectUnauthorized: false,
  }) // prettier-ignore
  t.notOk(Object.keys(config.plan).includes('tls'), 'the key is not shown')
  await pool.end()
  const without = toPoolConfig(`host=localhost sslcertmode=disable sslcert=${cert} sslkey=${key}`, {})
  t.strictSame({ ...without.plan.tls }, { minVersion: 'TLSv1.2', rejectUnauthorized: false })
})

type Attempt = readonly [string, FakeBehaviour, string | undefined, readonly string[]]

// The connection string, the server's behaviour, the expected error, and what the server received.
const attempts: readonly Attempt[] = [
  ['', { tls: 'S' }, undefined, ['asked S', 'tls startup']],
  ['', { tls: 'N' }, undefined, ['asked N', 'plain startup']],
  ['', { tls: 'S', refuses: 'tls' }, undefined, ['asked S', 'tls startup', 'plain startup']],
  ['', { tls: 'S', refuses: 'plain' }, undefined, ['asked S', 'tls startup']],
  ['', { tls: 'E' }, 'The server does not support SSL connections', ['asked E']],
  ['', { tls: 'S and more' }, 'The server does not support SSL connections', ['asked S and more']],
  ['', { tls: 'closes' }, 'server closed the connection unexpectedly', ['asked closes']],
  ['sslmode=disable', { tls: 'S' }, undefined, ['plain startup']],
  ['sslmode=disable', { refuses: 'plain' }, 'no pg_hba.conf entry, plain', ['plain startup']],
  ['sslmode=allow', { tls: 'S' }, undefined, ['plain startup']],
  ['sslmode=allow', { tls: 'S', refuses: 'plain' }, undefined, ['plain startup', 'asked S', 'tls startup']],
  ['sslmode=require', { tls: 'S' }, undefined, ['asked S', 'tls startup']],
  ['sslmode=require', { tls: 'N' }, 'The server does not support SSL connections', ['asked N']],
  ['sslmode=require', { tls: 'S', refuses: 'tls' }, 'no pg_hba.conf entry, tls', ['asked S', 'tls startup']],
  ['sslmode=require sslnegotiation=direct', { tls: 'direct' }, undefined, ['direct', 'tls startup']],
  [`sslmode=require sslrootcert=${rootCertificate}`, { tls: 'S' }, undefined, ['asked S', 'tls startup']],
  [`sslmode=verify-ca sslrootcert=${rootCertificate}`, { tls: 'S' }, undefined, ['asked S', 'tls startup']],
  [`sslmode=verify-full sslrootcert=${rootCertificate}`, { tls: 'S' }, undefined, ['asked S', 'tls startup']],
  [`sslmode=verify-full sslrootcert=${rootCertificate} sslsni=0`, { tls: 'S' }, undefined, ['asked S', 'tls startup']],
  [`sslmode=verify-full sslrootcert=${rootCertificate} host=127.0.0.1`, { tls: 'S' },
    "Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ", ['asked S']],
  ['sslmode=verify-full sslrootcert=system', { tls: 'S' }, 'unable to verify the first certificate', ['asked S']],
  ['channel_binding=require', { tls: 'S' }, 'channel binding required but not supported by the server',
    ['asked S', 'tls startup']],
  ['channel_binding=require', { tls: 'S', mechanisms: ['SCRAM-SHA-256'] },
    'channel binding required but not supported by the server', ['asked S', 'tls startup']],
  ['sslmode=disable', { mechanisms: ['SCRAM-SHA-256'] },
    'the server requires a password, but none is configured', ['plain startup']],
  ['sslmode=disable target_session_attrs=read-write', {}, undefined, ['plain startup']],
  ['sslmode=disable target_session_attrs=read-write', { isStandby: true }, 'session is read-only', ['plain startup']],
  ['sslmode=disable target_session_attrs=read-write', { isReadOnly: true }, 'session is read-only', ['plain startup']],
  ['sslmode=disable target_session_attrs=read-write', { reports: { isStandby: true } }, undefined, ['plain startup']],
  ['sslmode=disable target_session_attrs=read-write', { isStandby: true, reports: { isStandby: false } },
    'session is read-only', ['plain startup']],
  ['sslmode=disable target_session_attrs=read-only', {}, 'session is not read-only', ['plain startup']],
  ['sslmode=disable target_session_attrs=primary', { isStandby: true }, 'server is in hot standby mode', ['plain startup']],
  ['sslmode=disable target_session_attrs=standby', {}, 'server is not in hot standby mode', ['plain startup']],
  ['sslmode=disable target_session_attrs=prefer-standby', {}, undefined, ['plain startup', 'plain startup']],
  ['sslmode=disable', { isStarting: true }, 'the database system is starting up', ['plain startup']],
] // prettier-ignore

t.test('TLS and session parameters follow the connection string', async (t) => {
  for (const [text, behaviour, fault, seen] of attempts) {
    const server = await fakePostgres(behaviour)
    const host = text.includes('host=') ? '' : 'host=localhost hostaddr=127.0.0.1'
    const config = toPoolConfig(`${host} port=${server.port} user=u passfile=/none ${text}`, {})
    const client = createClient(config)
    client.on('error', () => undefined)
    const message = await client.connect().then(
      () => undefined,
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    )
    t.equal(message, fault, `${text} ${JSON.stringify(behaviour)}`)
    t.strictSame(server.seen, seen, `${text} ${JSON.stringify(behaviour)}`)
    await server.close()
  }
})

t.test('hosts are tried in order', async (t) => {
  const [standby, starting, primary] = await Promise.all([
    fakePostgres({ isStandby: true }),
    fakePostgres({ isStarting: true }),
    fakePostgres({}),
  ])
  const connected = async (uri: string, session?: 'read-write'): Promise<readonly string[]> => {
    const all = [standby, starting, primary]
    const before = all.map(({ seen }) => seen.length)
    const config = toPoolConfig(uri, {}, session)
    const client = createClient(config)
    await client.connect()
    await client.end()
    const names = ['standby', 'starting', 'primary']
    return names.filter((_, index) => (all[index]?.seen.length ?? 0) > (before[index] ?? 0))
  }
  const hosts = [standby, starting, primary].map(({ port }) => `127.0.0.1:${port}`).join(',')
  const uri = `postgresql://u@%2Fnowhere,127.0.0.1:1,${hosts}/?sslmode=disable`
  t.strictSame(await connected(uri), ['standby'])
  t.strictSame(await connected(uri, 'read-write'), ['standby', 'starting', 'primary'])
  t.strictSame(await connected(`${uri}&target_session_attrs=primary`), ['standby', 'starting', 'primary'])
  const reversed = `postgresql://u@127.0.0.1:${primary.port},127.0.0.1:${standby.port}/?sslmode=disable`
  t.strictSame(await connected(`${reversed}&target_session_attrs=prefer-standby`), ['standby', 'primary'])
  await Promise.all([standby, starting, primary].map(({ close }) => close()))
})

t.test('a server that does not respond times out', async (t) => {
  const server = await fakePostgres({ tls: 'silent' })
  const uri = `host=127.0.0.1 port=${server.port} user=u`
  const timed = toPoolConfig(`${uri} connect_timeout=2`, {})
  const began = Date.now()
  await t.rejects(createClient(timed).connect(), { message: 'timeout expired' })
  t.ok(Date.now() - began >= 1900)

  const config = toPoolConfig(uri, {})
  const pool = new pg.Pool({ ...config, connectionTimeoutMillis: 1000 })
  await t.rejects(pool.connect(), { message: 'Connection terminated due to connection timeout' })
  await pool.end()
  await t.rejects(createClient({ ...config, connectionTimeoutMillis: 1000 }).connect(), {
    message: 'timeout expired',
  })
  t.equal(server.seen.length, 3, 'there are no retries after the timeout')
  await server.close()
})

t.test('a real server accepts the connection', async (t) => {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  const { hostname, port, username, password } = new URL(database.adminUri)
  const passfile = join(folder, 'pgpass')
  writeFileSync(passfile, `# comment\nother:*:*:*:wrong\n${hostname}:${port}:*:${username}:${password}\n`)
  chmodSync(passfile, 0o600)
  const env = {
    PGHOST: hostname,
    PGPORT: port,
    PGDATABASE: database.name,
    PGAPPNAME: 'from the environment',
    PGTZ: 'Asia/Tokyo',
  }
  const pool = new pg.Pool({
    ...toPoolConfig(`user=${username} passfile=${passfile} options='-c work_mem=7MB'`, env),
    max: 1,
  })
  pool.on('error', () => undefined)
  const settings = `select current_database() as database, current_setting('application_name') as name,
    current_setting('TimeZone') as zone, current_setting('work_mem') as memory`
  const expected = { database: database.name, name: 'from the environment', zone: 'Asia/Tokyo', memory: '7MB' }
  t.strictSame((await pool.query(settings)).rows, [expected])

  const client = await pool.connect()
  // The server's error message, then the end of the connection.
  client.on('error', () => undefined)
  const lost = once(client, 'error')
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  await database.query('select pg_terminate_backend($1)', [rows[0]?.pid])
  t.match(await lost, [{ code: '57P01' }], 'a lost connection is detected')
  client.release(true)
  t.strictSame((await pool.query(settings)).rows, [expected], 'and replaced')
  await pool.end()

  const uri = (name: string): string => `postgres://${username}:${password}@${hostname}:${port}/${name}`
  for (const [name, code] of [['none', '3D000']] as const) {
    const config = toPoolConfig(uri(name), {})
    await t.rejects(createClient(config).connect(), { code })
  }
  for (const make of [createClient, (config: PoolConfig) => new pg.Client(config)]) {
    const plain = make(toPoolConfig(uri(database.name), {}))
    await plain.connect()
    t.match((await plain.query(settings)).rows, [{ database: database.name, name: applicationName }])
    await plain.end()
  }
  const wrong = toPoolConfig(uri(database.name).replace(`:${password}@`, ':wrong@'), {})
  await t.rejects(createClient(wrong).connect(), { code: '28P01' })
})

t.test('passwords are read from the password file', async (t) => {
  const path = join(folder, 'passwords')
  writeFileSync(
    path,
    ['# host:1:db:user:comment', 'short:1', 'a\\:b:5432:db:user:p\\:w\\\\d', 'host:5432:*:user:one', '*:*:*:other:rest:of:it', 'localhost:*:*:sock:s'].join('\n'),
  ) // prettier-ignore
  chmodSync(path, 0o600)
  const rows: readonly [[string, number, string, string], string | undefined][] = [
    [['a:b', 5432, 'db', 'user'], 'p:w\\d'],
    [['host', 5432, 'any', 'user'], 'one'],
    [['host', 5433, 'any', 'user'], undefined],
    [['host', 1, 'x', 'other'], 'rest:of:it'],
    [['/var/run/postgresql', 5432, 'x', 'sock'], 's'],
    [['127.0.0.1', 5432, 'x', 'sock'], undefined],
  ]
  for (const [[host, port, name, user], expected] of rows) {
    t.equal(passwordInFile(path, { host, port, database: name, user }), expected, `${host} ${user}`)
  }
  chmodSync(path, 0o644)
  t.equal(
    passwordInFile(path, { host: 'host', port: 5432, database: 'x', user: 'user' }),
    undefined,
    'a file that others can read',
  )
  t.equal(passwordInFile('/nowhere', { host: 'host', port: 5432, database: 'x', user: 'user' }), undefined)
})
