// The program behind poolers and failover managers of Debian: PgBouncer, Pgpool-II, Patroni with etcd and HAProxy. Run it
// with `npm run test:poolers`, which installs what is missing if root runs it. With `-- --quick` it takes about a minute;
// with `-- --only=pgbouncer`, `pgpool` or `patroni` it tests only one of them, with `--without-tables` no request tables,
// and with `--pgbouncer=PATH` only another version of PgBouncer, which must prepare statements in transaction mode.
import { rm } from 'node:fs/promises'
import type { Environment } from '../../server/config/config-sources.ts'
import { startChecks } from './checks.ts'
import { startDebianCluster } from './debian-cluster.ts'
import { createFolder, installPackages } from './debian-packages.ts'
import { startPatroni } from './patroni.ts'
import { requirePasswords } from './password-logins.ts'
import { startPgBouncer } from './pgbouncer.ts'
import { startPgpool } from './pgpool.ts'
import {
  createPooledDatabase,
  findLeaks,
  interrupt,
  measureHangUp,
  measureReload,
  startPooledProgram,
  type Interruption,
  type Query,
} from './pooled-program.ts'
import { trustedUri, type Pooler, type UriOf } from './pooler.ts'
import { loadFixtures, replayTables } from './replayed-tables.ts'

const isQuick = process.argv.includes('--quick')
const option = (name: string): string | undefined =>
  process.argv.find((word) => word.startsWith(`--${name}=`))?.slice(name.length + 3)
const otherPgBouncer = option('pgbouncer')
const only = otherPgBouncer === undefined ? option('only') : 'other pgbouncer'
const withTables = !process.argv.includes('--without-tables')
const requests = isQuick ? 2000 : 20_000

const missing = installPackages()
if (missing.length > 0) {
  console.log(`skipped: needs Debian's ${missing.join(', ')}, which root can install`)
  process.exit(0)
}

const { check, failures, end } = startChecks()

const prepared = { PGRST_DB_PREPARED_STATEMENTS: 'true' }
const unprepared = { PGRST_DB_PREPARED_STATEMENTS: 'false' }
const withoutChannel = { PGRST_DB_CHANNEL_ENABLED: 'false', DB_RELOAD_INTERVAL: '1' }

/** Replays all request tables, and prints the first rows that fail. */
async function checkTables(name: string, admin: number, uriOf: UriOf, env: Environment): Promise<void> {
  if (!withTables || (isQuick && env.PGRST_DB_PREPARED_STATEMENTS === 'true')) return
  const start = performance.now()
  const { rows, failed } = await replayTables(admin, uriOf, env)
  const words = env.PGRST_DB_PREPARED_STATEMENTS === 'true' ? 'with' : 'without'
  const seconds = Math.round((performance.now() - start) / 1000)
  check(
    failed.size === 0,
    `${name}, ${words} prepared statements: ${failed.size} of ${rows} rows failed (${seconds} s)`,
  )
  for (const [title, found] of [...failed].slice(0, 3)) console.log(`#   ${title}\n#   ${found}`)
}

const total = (statuses: ReadonlyMap<number, number>, accept: (status: number) => boolean): number =>
  [...statuses].reduce((sum, [status, number]) => sum + (accept(status) ? number : 0), 0)

function reportInterruption(name: string, { reads, writes, acknowledged, lost, errors, pause }: Interruption): void {
  check(lost === 0, `${name}: ${lost} of ${acknowledged} acknowledged writes were lost`)
  const text = (statuses: ReadonlyMap<number, number>): string =>
    [...statuses].map(([status, number]) => `${number} x ${status}`).join(', ')
  console.log(`#   longest pause between writes ${Math.round(pause)} ms; reads ${text(reads)}; writes ${text(writes)}`)
  for (const error of errors) console.log(`#   ${error}`)
  const isExpected = (status: number): boolean => status < 300 || status === 503
  const others = total(reads, (status) => !isExpected(status)) + total(writes, (status) => !isExpected(status))
  check(others === 0, `${name}: requests that fail get 503 (${others} got something else)`)
}

/** What users of the built program notice. */
async function checkProgram(
  name: string,
  uriOf: UriOf,
  query: Query,
  env: Readonly<Record<string, string>>,
  restart: (() => Promise<void>) | undefined,
): Promise<void> {
  const program = await startPooledProgram(uriOf, env)
  try {
    const leaks = await findLeaks(program.client, requests)
    check(leaks.length === 0, `${name}: ${leaks.length} of ${requests} responses have settings of another user`)
    for (const leak of leaks.slice(0, 3)) console.log(`#   ${leak}`)
    const ended = await measureHangUp(program.url, query)
    check(ended !== undefined, `${name}: a disconnected client's statement ends after ${Math.round(ended ?? NaN)} ms`)
    if (env.DB_RELOAD_INTERVAL !== undefined) {
      const reloaded = await measureReload(program.client, query)
      check(reloaded < 5000, `${name}: a new table is served after ${Math.round(reloaded)} ms`)
    }
    if (restart) reportInterruption(`${name}, restarted under load`, await interrupt(program.client, query, restart))
  } finally {
    await program.stop()
  }
}

/** Shows whether the pooler can prepare statements: PgBouncer can in transaction mode from 1.22 on. */
async function showPrepared({ name, uriOf }: Pooler): Promise<void> {
  const program = await startPooledProgram(uriOf, { ...prepared, ...withoutChannel })
  try {
    const failed = await findLeaks(program.client, 2000)
    const codes = failed.map((text) => /"code":"(\w+)"/.exec(text)?.[1] ?? text)
    console.log(
      `# ${name}, with prepared statements: ${failed.length} of 2000 failed: ${[...new Set(codes)].join(', ')}`,
    )
  } finally {
    await program.stop()
  }
}

const closings: (() => Promise<void>)[] = []
const folder = await createFolder()
let hasEnded = false
try {
  if (only !== 'patroni') {
    const cluster = await startDebianCluster([])
    closings.unshift(cluster.stop)
    const { port, query: admin } = cluster.primary
    await loadFixtures(port)
    const query = await createPooledDatabase(admin, port)
    if (only === undefined || only === 'pgbouncer') {
      for (const mode of ['transaction', 'session'] as const) {
        const pooler = await startPgBouncer(folder, port, { mode })
        closings.unshift(pooler.stop)
        const env = mode === 'transaction' ? { ...unprepared, ...withoutChannel } : prepared
        await checkTables(pooler.name, port, pooler.uriOf, { ...env, ...unprepared })
        if (mode === 'session') await checkTables(pooler.name, port, pooler.uriOf, env)
        await checkProgram(pooler.name, pooler.uriOf, query, env, pooler.restart)
        if (mode === 'transaction') await showPrepared(pooler)
      }
      const passwords = await requirePasswords(admin)
      const secured = await startPgBouncer(folder, port, { mode: 'transaction', passwords })
      closings.unshift(secured.stop)
      await checkTables(secured.name, port, secured.uriOf, { ...unprepared, ...withoutChannel })
      await checkProgram(secured.name, secured.uriOf, query, { ...unprepared, ...withoutChannel }, secured.restart)
      await passwords.undo()
    }
    if (otherPgBouncer !== undefined) {
      const options = { mode: 'transaction', program: otherPgBouncer, preparedStatements: 100 } as const
      const pooler = await startPgBouncer(folder, port, options)
      closings.unshift(pooler.stop)
      const env = { ...prepared, ...withoutChannel }
      await checkTables(pooler.name, port, pooler.uriOf, env)
      await checkProgram(pooler.name, pooler.uriOf, query, env, pooler.restart)
    }
    if (only === undefined || only === 'pgpool') {
      const pooler = await startPgpool(folder, port)
      closings.unshift(pooler.stop)
      for (const env of [prepared, unprepared]) await checkTables(pooler.name, port, pooler.uriOf, env)
      await checkProgram(pooler.name, pooler.uriOf, query, { ...prepared, ...withoutChannel }, pooler.restart)
    }
  }
  if (only === undefined || only === 'patroni') {
    const patroni = await startPatroni(folder)
    closings.unshift(patroni.stop)
    const { port } = patroni
    await loadFixtures(port)
    const query = await createPooledDatabase(patroni.query, port)
    for (const env of [prepared, unprepared]) await checkTables('patroni and haproxy', port, trustedUri(port), env)
    await checkProgram('patroni and haproxy', trustedUri(port), query, prepared, undefined)
    for (const [what, happen] of [
      ['a switchover', patroni.switchOver],
      ['a failover', patroni.killLeader],
    ] as const) {
      // HAProxy forwards connections to a server that Patroni is about to promote.
      const program = await startPooledProgram(trustedUri(port), prepared, '?target_session_attrs=read-write')
      try {
        reportInterruption(`patroni, ${what} under load`, await interrupt(program.client, query, happen))
      } finally {
        await program.stop()
      }
    }
  }
  hasEnded = true
} finally {
  for (const close of closings) await close()
  if (failures() > 0 || !hasEnded) console.log(`# logs: ${folder}`)
  else await rm(folder, { recursive: true, force: true })
}
end()
