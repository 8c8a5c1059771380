// `rowhouse doctor` before real servers that are sick: PgBouncer in front of the database, connections without encryption or
// verification, certificates that end. Run it with `npm run test:doctor`, as root: it installs what is missing, and then runs
// in a network of its own, in which 192.0.2.1 stands for another machine (RFC 5737).
import { execFileSync, spawnSync } from 'node:child_process'
import { appendFileSync, chownSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { until } from '../support/until.ts'
import { rowhouse } from '../support/command.ts'
import { startChecks } from './checks.ts'
import { startDebianCluster, type DebianCluster } from './debian-cluster.ts'
import { createFolder, installPackages } from './debian-packages.ts'
import { startPgBouncer } from './pgbouncer.ts'

/** The address of the database that is not local, in the network of this test. */
const remote = '192.0.2.1'
const isolated = '--isolated'

const { check, end } = startChecks()

type Finding = { readonly area: string; readonly code: string; readonly level: string; readonly what: string }
type Examined = {
  readonly code: number
  readonly found: string
  readonly findings: readonly Finding[]
  readonly err: string
}

/** The findings of some areas, as `LEVEL code`. */
async function examine(
  areas: readonly string[],
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<Examined> {
  const { code, out, err } = await rowhouse(['doctor', '--json', ...args], env)
  const all = out === '' ? [] : (JSON.parse(out) as { readonly findings: readonly Finding[] }).findings
  const findings = all.filter(({ area }) => areas.includes(area))
  return {
    code,
    err,
    findings,
    found: findings
      .map((it) => `${it.level} ${it.code}`)
      .sort()
      .join(', '),
  }
}

async function expectFindings(what: string, expected: string, examined: Promise<Examined>): Promise<Examined> {
  const begun = performance.now()
  const result = await examined
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  check(
    result.found === expected,
    `${what}: ${result.found || 'nothing'} (${seconds} s)${result.err && ` ${result.err}`}`,
  )
  for (const { what: text } of result.findings) console.log(`#   ${text}`)
  return result
}

/** The prepared statements of the sessions that a pooler lends. */
async function connectAndCount(port: number): Promise<number> {
  const client = new pg.Client({ connectionString: `postgres://login@127.0.0.1:${port}/postgres` })
  await client.connect()
  const names = new Set<string>()
  try {
    for (let round = 0; round < 10; round++) {
      const { rows } = await client.query<{ name: string }>('select name from pg_prepared_statements')
      for (const { name } of rows) names.add(name)
    }
  } finally {
    await client.end()
  }
  return names.size
}

async function checkPoolers(folder: string, { primary }: DebianCluster): Promise<void> {
  const owner = `postgres://postgres@127.0.0.1:${primary.port}/postgres`
  const through = (port: number, more: Readonly<Record<string, string>> = {}) =>
    examine(['pooler'], {
      ...{ DATABASE_URL: `postgres://login@127.0.0.1:${port}/postgres`, MIGRATION_DATABASE_URL: owner, ...more },
    })
  await expectFindings('no pooler', '', through(primary.port))
  const suited = { PGRST_DB_PREPARED_STATEMENTS: 'false', PGRST_DB_CHANNEL_ENABLED: 'false' }
  const unsuited = 'ERROR pooler_prepared_statements, INFO pooler_found, WARN pooler_channel'
  for (const size of [20, 2, 1]) {
    const pooler = await startPgBouncer(folder, primary.port, { mode: 'transaction', size })
    try {
      const name = `pgbouncer, transaction mode, ${size} ${size === 1 ? 'session' : 'sessions'}`
      const { findings } = await expectFindings(name, unsuited, through(pooler.port))
      check(
        findings.some((it) => it.what.includes('transaction mode')),
        `${name}: the mode`,
      )
      await expectFindings(`${name}, suitable settings`, 'INFO pooler_found', through(pooler.port, suited))
      const left = await connectAndCount(pooler.port)
      check(left === 0, `${name}: the doctor leaves no prepared statement behind (${left})`)
    } finally {
      await pooler.stop()
    }
  }
  const pooler = await startPgBouncer(folder, primary.port, { mode: 'session' })
  try {
    const { findings } = await expectFindings('pgbouncer, session mode', 'INFO pooler_found', through(pooler.port))
    check(
      findings.some((it) => it.what.includes('session mode')),
      'pgbouncer, session mode: the mode',
    )
  } finally {
    await pooler.stop()
  }
}

const openssl = (folder: string, ...args: string[]): void =>
  void execFileSync('openssl', args, { cwd: folder, stdio: 'ignore' })

function createAuthority(folder: string): void {
  const subject = ['-subj', '/CN=authority', '-addext', 'basicConstraints=critical,CA:TRUE']
  openssl(
    folder,
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    ...subject,
    '-days',
    '3650',
    '-keyout',
    'ca.key',
    '-out',
    'ca.pem',
  )
}

/** Writes `server.key` and `server.pem`: a certificate for the address that ends after a number of days. */
function createCertificate(folder: string, days: number): void {
  openssl(
    folder,
    'req',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:P-256',
    '-nodes',
    '-subj',
    `/CN=${remote}`,
    '-keyout',
    'server.key',
    '-out',
    'server.csr',
  )
  writeFileSync(join(folder, 'server.ext'), `subjectAltName=IP:${remote},IP:127.0.0.1\n`)
  openssl(
    folder,
    'x509',
    '-req',
    '-in',
    'server.csr',
    '-CA',
    'ca.pem',
    '-CAkey',
    'ca.key',
    '-CAcreateserial',
    '-extfile',
    'server.ext',
    '-days',
    String(days),
    '-out',
    'server.pem',
  )
}

async function checkTls(folder: string, { primary }: DebianCluster): Promise<void> {
  const [place] = await primary.query('show data_directory')
  const data = String(place?.data_directory)
  appendFileSync(join(data, 'pg_hba.conf'), `host all all ${remote}/32 trust\n`)
  await primary.query(`alter system set listen_addresses = '127.0.0.1,${remote}'`)
  await primary.kill()
  await primary.start()
  await until(() =>
    primary.query('select').then(
      () => true,
      () => false,
    ),
  )
  const id = (flag: string): number => Number(execFileSync('id', [flag, 'postgres']).toString())
  /** Gives the server a certificate, and waits until it uses it. */
  const certify = async (days: number): Promise<void> => {
    createCertificate(folder, days)
    for (const [from, to] of [
      ['server.key', 'server.key'],
      ['server.pem', 'server.crt'],
    ] as const) {
      writeFileSync(join(data, to), await readFile(join(folder, from)), { mode: 0o600 })
      chownSync(join(data, to), id('-u'), id('-g'))
    }
    await primary.query('alter system set ssl = on')
    const [before] = await primary.query('select pg_conf_load_time() as time')
    await primary.query('select pg_reload_conf()')
    await until(async () => {
      const [{ time, ssl } = {}] = await primary.query(
        `select pg_conf_load_time() as time, current_setting('ssl') as ssl`,
      )
      return ssl === 'on' && String(time) !== String(before?.time)
    })
  }
  const examined = (host: string, query: string) => {
    const uri = `postgres://login@${host}:${primary.port}/postgres?${query}`
    return examine(['tls'], { DATABASE_URL: uri, MIGRATION_DATABASE_URL: uri })
  }
  const verified = `sslmode=verify-full&sslrootcert=${join(folder, 'ca.pem')}`
  await expectFindings(
    'another machine, no encryption',
    'ERROR database_not_encrypted',
    examined(remote, 'sslmode=disable'),
  )
  await expectFindings('the same machine, no encryption', '', examined('127.0.0.1', 'sslmode=disable'))
  await certify(90)
  await expectFindings('encrypted, not verified', 'WARN database_not_verified', examined(remote, 'sslmode=require'))
  await expectFindings('encrypted and verified', '', examined(remote, verified))
  await certify(15)
  await expectFindings('a certificate of 15 days', 'WARN certificate_expires', examined(remote, verified))
  await certify(3)
  await expectFindings('a certificate of 3 days', 'ERROR certificate_expires', examined(remote, verified))
  createAuthority(folder)
  const untrusted = await examined(remote, verified)
  check(
    untrusted.code === 2 && /certificate|signature/i.test(untrusted.err),
    `another authority, exit code 2: ${untrusted.err.trim()}`,
  )
}

/** The TLS of the service itself. */
async function checkService(folder: string, { primary }: DebianCluster): Promise<void> {
  createAuthority(folder)
  createCertificate(folder, 5)
  const [key, cert] = await Promise.all([readFile(join(folder, 'server.key')), readFile(join(folder, 'server.pem'))])
  const server = createServer({ key, cert }, (_request, response) => response.end('{"status":"ready","checks":{}}'))
  await new Promise<void>((resolve) => server.listen(0, remote, resolve))
  const address = server.address()
  const url = `https://${remote}:${typeof address === 'object' && address ? address.port : 0}`
  const env = {
    DATABASE_URL: `postgres://login@127.0.0.1:${primary.port}/postgres?sslmode=disable`,
    MIGRATION_DATABASE_URL: `postgres://postgres@127.0.0.1:${primary.port}/postgres?sslmode=disable`,
  }
  await expectFindings(
    'a service with an unknown authority',
    'ERROR certificate_expires, ERROR certificate_not_trusted',
    examine(['tls'], env, '--url', url),
  )
  const trusting = { ...env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }
  await expectFindings(
    'a service with a known one',
    'ERROR certificate_expires',
    examine(['tls'], trusting, '--url', url),
  )
  await expectFindings(
    'a service without TLS',
    'ERROR service_not_encrypted',
    examine(['tls'], env, '--url', `http://${remote}:1`),
  )
  server.closeAllConnections()
  server.close()
}

/** Installs what is missing, and runs this file in a network of its own. */
function isolate(): number {
  const missing = installPackages()
  if (process.getuid?.() !== 0 || missing.includes('pgbouncer')) {
    console.log(`skipped: needs root${missing.includes('pgbouncer') ? " and Debian's pgbouncer" : ''}`)
    return 0
  }
  const file = fileURLToPath(import.meta.url)
  const command = `ip link set lo up && ip address add ${remote}/32 dev lo && exec "$@"`
  const node = [process.execPath, '--import=tsx', file, isolated]
  const { status } = spawnSync('unshare', ['--net', 'sh', '-c', command, 'sh', ...node], {
    cwd: join(dirname(file), '../..'),
    stdio: 'inherit',
  })
  return status ?? 1
}

if (process.argv.includes(isolated)) {
  const cluster = await startDebianCluster([])
  try {
    await cluster.primary.query('create role login login noinherit')
    const folder = await createFolder()
    await checkPoolers(folder, cluster)
    createAuthority(folder)
    await checkTls(folder, cluster)
    await checkService(folder, cluster)
  } finally {
    await cluster.stop()
  }
  end()
} else process.exitCode = isolate()
