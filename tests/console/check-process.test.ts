// Checks run in a process of their own: a server goes on while the lints of many tables are computed.
import t from 'tap'
import { withClient } from '../../server/postgres/connection/client.ts'
import { toPoolConfig } from '../../server/running/connection-setting.ts'
import type { CheckReport } from '../../server/services/console/policy-protocol.ts'
import type { FixTrial } from '../../server/tools/check/fix-trial.ts'
import type { CheckSettings } from '../../server/tools/check/run-check.ts'
import { checkDatabase } from '../../server/tools/console/check-database.ts'
import { CheckProcess } from '../../server/tools/console/check-process.ts'
import { childProcesses } from '../support/child-processes.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { longestTurnDuring } from '../support/longest-turn.ts'
import { until } from '../support/until.ts'

const tables = 200
const database = await createMigratedDatabase()
t.teardown(() => database.drop())
// A transaction holds locks of all objects that it creates.
for (let first = 1; first <= tables; first += 100) {
  await database.query(`
    do $$
    declare n int;
    begin
      for n in select generate_series(${first}, ${first + 99}) loop
        execute format('create table public.t%s (id int primary key, owner uuid, name text)', n);
        execute format('alter table public.t%s enable row level security', n);
        execute format('grant select, insert on public.t%s to authenticated', n);
        execute format('create policy own on public.t%s to authenticated using (owner = auth.uid())', n);
      end loop;
    end $$`)
}

const settings: CheckSettings = {
  dbSchemas: ['public'],
  dbExtraSearchPath: ['public'],
  dbAnonRole: 'anon',
  services: ['rest', 'auth'],
}
const startChecks = (given: CheckSettings = settings, uri = database.authenticatorUri): CheckProcess =>
  new CheckProcess({ uri, env: {}, config: () => given })
const processes = (): Promise<readonly number[]> => childProcesses(process.pid, 'console/check-program.')

t.test('a check of many tables occupies this process for no noticeable time', async (t) => {
  const checks = startChecks()
  let text = ''
  const longest = await longestTurnDuring(async () => (text = await checks.report()))
  t.ok(longest < 50, `the longest turn took ${Math.round(longest)} ms of processor time`)
  const { relations, findings } = JSON.parse(text) as CheckReport
  const own = new Set(relations.map(({ name }) => name).filter((name) => /^t\d+$/.test(name)))
  t.equal(own.size, tables)
  t.equal(findings.filter(({ code, object }) => code === 'auth_rls_initplan' && /t\d+$/.test(object)).length, tables)
  const inside = await longestTurnDuring(() =>
    withClient(toPoolConfig(database.authenticatorUri, {}), (client) =>
      checkDatabase((statement, values) => client.query<Record<string, unknown>>(statement, values), settings),
    ),
  )
  t.ok(inside > 2 * longest, `which are ${Math.round(inside)} ms within the process: the measurement notices`)
  t.strictSame(Object.keys(await checks.findings()), ['findings', 'ignored', 'unseen'])
  const slow = await checks.slowPolicies()
  t.equal(slow.filter(({ code }) => code === 'auth_rls_initplan').length, tables)
})

t.test('fixes of many tables are tried without occupying this process, and nothing remains', async (t) => {
  const checks = startChecks()
  const { findings } = await checks.findings()
  const keys = findings
    .filter(({ code }) => code === 'auth_rls_initplan')
    .slice(0, 2)
    .map(({ key }) => key)
  let trial: FixTrial | undefined
  const longest = await longestTurnDuring(async () => (trial = await checks.tryFixes({ keys }, database.adminUri)))
  t.ok(longest < 50, `the longest turn took ${Math.round(longest)} ms of processor time`)
  t.strictSame(
    trial?.tried.map(({ finding, outcome }) => [finding.key, outcome]),
    keys.map((key) => [key, 'written']),
  )
  t.match(trial?.parts, [{ statements: [/^alter policy/i] }, { statements: [/^alter policy/i] }])
  t.equal((await checks.findings()).findings.length, findings.length, 'nothing is mended yet')
  const refused = startChecks().tryFixes({ keys }, 'postgres://127.0.0.1:1/x')
  await t.rejects(refused, { code: 'ECONNREFUSED' })
})

t.test('errors of a check reach the caller', async (t) => {
  const missing = startChecks({ ...settings, dbSchemas: ['missing'] })
  await t.rejects(missing.report(), { statusCode: 422, message: /"missing" does not exist/ })
  const refused = startChecks(settings, 'postgres://127.0.0.1:1/x')
  await t.rejects(refused.report(), { code: 'ECONNREFUSED' })
})

t.test('another process takes over from one that is killed', async (t) => {
  const before = new Set(await processes())
  const own = async (): Promise<readonly number[]> => (await processes()).filter((pid) => !before.has(pid))
  const checking = startChecks().findings()
  t.ok(await until(async () => (await own()).length === 1))
  for (const pid of await own()) process.kill(pid, 'SIGKILL')
  t.ok((await checking).findings.length >= tables)
})
