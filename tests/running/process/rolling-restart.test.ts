// Restarts without lost requests; `tests/chaos/rolling-restart.chaos.ts` has more of them.
import t, { type Test } from 'tap'
import { canReusePort } from '../../../server/running/ports.ts'
import { createOwnedDatabase } from '../../support/authenticator.ts'
import { ledgerSql } from '../../support/ledger-load.ts'
import { startProgram } from '../../support/program.ts'
import { restartBesideEachOther, restartWorkers, type RollingRestartOptions } from '../../support/rolling-restart.ts'

// Each process compiles the program.

async function optionsFor(t: Test): Promise<RollingRestartOptions> {
  const { database, anonymous, uri } = await createOwnedDatabase(t)
  await database.query(ledgerSql(anonymous))
  const env = { DATABASE_URL: uri, PGRST_DB_ANON_ROLE: anonymous, REST_BASE_PATH: '/', PGRST_LOG_LEVEL: 'warn' }
  return { database, env, requests: 5000, keptAlive: 8, fresh: 0 }
}

const nothingLost = { lost: [], lostWrites: 0, doubledWrites: 0 }

t.test('workers are restarted one after the other', async (t) => {
  const options = { ...(await optionsFor(t)), fresh: 4 }
  t.match(await restartWorkers(t, options), nothingLost)
})

t.test('a new process replaces the old one on the same port', async (t) => {
  const options = await optionsFor(t)
  if (canReusePort(process.versions.node)) {
    t.match(await restartBesideEachOther(t, options), nothingLost)
    return
  }
  const program = startProgram(t, { ...options.env, PGRST_SERVER_REUSEPORT: 'true' })
  t.equal(await program.ended, 1, 'an older Node.js does not support it')
  t.match(
    program.written(),
    `Error in config\n  PGRST_SERVER_REUSEPORT: needs Node.js 22.12 or later; this is ${process.versions.node}\n`,
  )
})
