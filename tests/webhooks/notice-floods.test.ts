// Every role may notify: floods of notices of calls and schedules must not become floods of statements.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const notices = 5000
/** Milliseconds after which a server has looked for calls and jobs, and in which it handles the notices. */
const firstLook = 5000
const handling = 3000

const commits = async (): Promise<number> => {
  await database.query('select pg_stat_clear_snapshot()')
  const { rows } = await database.query(
    'select xact_commit::int as commits from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]?.commits)
}

t.test('a flood of notices by the anonymous role', async (t) => {
  const { call } = await startApplication(t, database.authenticatorUri, { SERVICES: 'rest,webhooks,schedules' })
  await database.query("select cron.schedule('nightly', '0 3 * * *', 'select 1')")
  await pause(firstLook)
  const before = await commits()
  await database.query(`set role anon;
    select pg_notify(channel, number::text) from generate_series(1, ${notices}) as number,
      unnest(array['rowhouse_calls', 'rowhouse_schedules']) as channel;
    reset role`)
  await pause(handling)
  const { status } = await call('GET', '/')
  t.equal(status, 200, 'the server goes on')
  // Statistics come a moment late.
  t.ok(await until(async () => (await commits()) > before))
  const caused = (await commits()) - before
  t.ok(caused < notices / 10, `${caused} transactions for ${2 * notices} notices`)
})
