// Requests with a session token run an additional statement at the start of their transaction. On shared connections,
// their writes must still run once and get their own responses.
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { readCluster, uriOf } from '../support/cluster.ts'
import { createDatabase, withClient } from '../support/database.ts'
import { endKeepers, gates } from '../support/locks.ts'
import { trustAllStatements } from '../support/sharing.ts'
import { signToken } from '../support/token.ts'

trustAllStatements()
const database = await createDatabase()
t.teardown(async () => {
  await database.drop()
  const { port } = await readCluster()
  await withClient(uriOf(port, 'postgres'), (client) =>
    client.query('drop role session_server; drop role session_caller'),
  )
})
const live = randomUUID()
await database.query(`
  create role session_server login password 'session' noinherit;
  create role session_caller nologin;
  grant session_caller to session_server;
  create schema auth;
  grant usage on schema auth to session_server;
  create function auth.check_session(session uuid, account uuid, app_role text) returns void language plpgsql stable as $$
    begin
      if session <> '${live}' then
        raise sqlstate 'PGRST' using
          message = '{"code": "PGRST303", "message": "The session has ended", "details": null, "hint": null}',
          detail = '{"status": 401, "headers": {}}';
      end if;
    end $$;
  revoke execute on function auth.check_session from public;
  grant execute on function auth.check_session to session_server;
  create schema api;
  grant usage on schema api to session_caller;
  create table api.counts (id int primary key, times int);
  insert into api.counts select i, 0 from generate_series(1, 50) i;
  create function api.add_one() returns trigger language plpgsql as
    $$ begin new.times := old.times + 1; return new; end $$;
  create trigger add_one before update on api.counts for each row execute function api.add_one();
  grant select, update on api.counts to session_caller`)

const { call } = await startApplication(t, database.uri('session_server', 'session'), {
  PGRST_DB_SCHEMAS: 'api',
  PGRST_DB_EXTRA_SEARCH_PATH: '',
  PGRST_DB_POOL: '8',
})
const tokenOf = (session: string): Promise<string> =>
  signToken({ role: 'session_caller', session_id: session, sub: randomUUID() })
const [token, ended] = await Promise.all([tokenOf(live), tokenOf(randomUUID())])
const patch = (id: number, credential = token) =>
  call('PATCH', `/rest/v1/counts?id=eq.${id}`, {
    body: { times: 0 },
    headers: { Authorization: `Bearer ${credential}` },
  })
const counts = async (): Promise<ReadonlyMap<number, number>> => {
  const { rows } = await database.query('select id, times from api.counts')
  return new Map((rows as { id: number; times: number }[]).map(({ id, times }) => [id, times]))
}

t.test('writes cancelled behind a lock run on another connection, once', async (t) => {
  while ((await database.query(gates)).rowCount === 0) await patch(50)
  const before = await counts()
  await withClient(database.adminUri, async (client) => {
    await client.query('begin')
    await client.query('select from api.counts where id = 1 for update')
    const held = patch(1)
    const others = Array.from({ length: 40 }, (_, index) => patch(2 + index))
    const statuses = (await Promise.all(others)).map(({ status }) => status)
    t.strictSame([...new Set(statuses)], [204])
    await client.query('commit')
    t.match(await held, { status: 204 })
  })
  const after = await counts()
  for (let id = 1; id <= 41; id++) t.equal((after.get(id) ?? 0) - (before.get(id) ?? 0), 1, `row ${id}`)
})

t.test('requests of an ended session are refused among those of active ones', async (t) => {
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, index) => patch(index + 1, index % 2 === 0 ? ended : token)),
  )
  for (const [index, { status }] of answers.entries()) t.equal(status, index % 2 === 0 ? 401 : 204, `request ${index}`)
})

t.test('writes run once on another connection when the cancelling connection is lost', async (t) => {
  const before = await counts()
  const answered = new Map<number, number>()
  const statuses = new Set<number>()
  let isDone = false
  const working = Promise.all(
    Array.from({ length: 8 }, async (_, worker) => {
      while (!isDone) {
        const id = worker + 1
        statuses.add((await patch(id)).status)
        answered.set(id, (answered.get(id) ?? 0) + 1)
      }
    }),
  )
  for (let round = 0; round < 4; round++) {
    while ((await database.query(endKeepers)).rowCount === 0) await pause(20)
    await pause(1100)
  }
  isDone = true
  await working
  t.strictSame([...statuses], [204])
  const after = await counts()
  for (const [id, times] of answered) t.equal((after.get(id) ?? 0) - (before.get(id) ?? 0), times, `row ${id}`)
})
