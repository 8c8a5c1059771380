// Rolling restarts under load, 100,000 requests in each test, on this release of Node.js and on one that supports
// `reusePort`. CHAOS_REQUESTS sets another number of requests.
//
// If net.ipv4.tcp_migrate_req is 0, the kernel resets connections in the accept queue of a socket that is closed.
// Clients that open a connection per request can then lose some. To run the file with the other value without changing
// the machine, as root: `unshare --net sh -c 'ip link set lo up; sysctl -w net.ipv4.tcp_migrate_req=1; …'`.
import t, { type Test } from 'tap'
import { canReusePort, migratesConnections } from '../../server/running/ports.ts'
import { createOwnedDatabase } from '../support/authenticator.ts'
import { ledgerSql } from '../support/ledger-load.ts'
import { nodeWithReusePort } from '../support/other-node.ts'
import { command } from '../support/program.ts'
import {
  restartBesideEachOther,
  restartWorkers,
  type RollingRestartFigures,
  type RollingRestartOptions,
} from '../support/rolling-restart.ts'

t.setTimeout(3_600_000)

const requests = Number(process.env.CHAOS_REQUESTS ?? 100_000)
const other = await nodeWithReusePort()
const current = canReusePort(process.versions.node) ? process.execPath : other

async function optionsFor(test: Test, node: string, clients: { keptAlive: number; fresh: number }) {
  const { database, anonymous, uri } = await createOwnedDatabase(test)
  await database.query(ledgerSql(anonymous))
  const env = { DATABASE_URL: uri, PGRST_DB_ANON_ROLE: anonymous, REST_BASE_PATH: '/', PGRST_LOG_LEVEL: 'warn' }
  return { database, env, command: command(node), requests, ...clients } satisfies RollingRestartOptions
}

function show(test: Test, { lost, ending, ...figures }: RollingRestartFigures): void {
  const longest = Math.round(Math.max(...ending))
  test.comment(JSON.stringify({ ...figures, lost: lost.length, longestEnding: `${longest} ms` }), lost.slice(0, 5))
}

/** @param tolerated requests that may be lost per restart */
function check(test: Test, figures: RollingRestartFigures, tolerated = 0): void {
  show(test, figures)
  if (tolerated === 0) test.strictSame(figures.lost, [], 'no request is lost')
  else test.ok(figures.lost.length <= tolerated * figures.restarts, 'no more than the accept queue contained')
  test.match(figures, { lostWrites: 0, doubledWrites: 0 }, 'every acknowledged write is stored once')
  test.ok(figures.restarts > 0)
}

// Clients with persistent connections open new ones when the old process ends: those, the kernel may reset, too.
t.test('two processes on one port, clients with persistent connections', async (t) => {
  const clients = { keptAlive: 24, fresh: 0 }
  const figures = await restartBesideEachOther(t, await optionsFor(t, current, clients))
  check(t, figures, (await migratesConnections()) === false ? clients.keptAlive : 0)
})

t.test('two processes on one port, a connection per request', async (t) => {
  const clients = { keptAlive: 0, fresh: 16 }
  const figures = await restartBesideEachOther(t, await optionsFor(t, current, clients))
  check(t, figures, (await migratesConnections()) === false ? clients.fresh : 0)
})

for (const [name, node] of [
  ['this Node.js', process.execPath],
  ['Node.js 22', other],
] as const) {
  t.test(`workers, ${name}, clients with persistent connections`, async (t) => {
    check(t, await restartWorkers(t, await optionsFor(t, node, { keptAlive: 24, fresh: 0 })))
  })
  t.test(`workers, ${name}, a connection per request`, async (t) => {
    check(t, await restartWorkers(t, await optionsFor(t, node, { keptAlive: 0, fresh: 16 })))
  })
}
