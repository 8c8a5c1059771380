// Clients hang up while the database terminates the sessions of their statements: the server goes on, and two users see
// their own rows only. tap fails on a rejection without a handler, which would end the server.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createNapDatabase, napByGet, sendTo } from '../support/abandoned-call.ts'
import { startApplication } from '../support/application.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const { database, settings, naps } = await createNapDatabase(t)
await database.query(`
  create table api.letters (id int primary key, owner text not null);
  insert into api.letters select n, '00000000-0000-4000-8000-00000000000' || mod(n, 2) from generate_series(1, 40) n;
  alter table api.letters enable row level security;
  create policy own on api.letters using (owner = auth.uid()::text);
  grant usage on schema api to authenticated;
  grant select on api.letters to authenticated`)
const { url, call, service } = await startApplication(t, database.authenticatorUri, {
  ...settings,
  PGRST_DB_POOL: '6',
  PGRST_LOG_LEVEL: 'crit',
})
const users = ['00000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000001'] as const

t.test('hang-ups while sessions are terminated', async (t) => {
  let [isOver, left, right, ended] = [false, 0, 0, 0]
  const wrong: string[] = []
  const leave = async (owner: string, first: number): Promise<void> => {
    const authorization = await bearer('authenticated', { sub: owner })
    for (let round = first; !isOver; round++) {
      const socket = sendTo(url, napByGet(5).replace(/\r\n$/, `Authorization: ${authorization}\r\n\r\n`))
      await pause(10 + (round % 20))
      socket.destroy()
      left++
      // The statement is cancelled 25 ms after that: its session is terminated before, after, and at the same time.
      await pause(20 + (round % 15))
    }
  }
  const read = async (owner: string): Promise<void> => {
    const headers = { Authorization: await bearer('authenticated', { sub: owner }) }
    while (!isOver) {
      const { status, body, text } = await call('GET', '/rest/v1/letters?select=owner', { headers })
      const letters = body as readonly { readonly owner: string }[]
      if (status === 200 && letters.length === 20 && letters.every((letter) => letter.owner === owner)) right++
      // While the others use all connections, the server is overloaded.
      else if (status !== 503 && status !== 504) wrong.push(`${status} ${text}`)
    }
  }
  const terminate = async (): Promise<void> => {
    while (!isOver) {
      const { rowCount } = await database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and state = 'active' and wait_event = 'PgSleep'
           and query_start < clock_timestamp() - interval '30 ms' limit 2`,
      )
      ended += rowCount ?? 0
    }
  }
  const running = [
    ...users.flatMap((owner) => [0, 7, 13].map((first) => leave(owner, first))),
    ...users.map(read),
    terminate(),
  ]
  try {
    t.ok(await until(() => left > 300 && right > 50 && ended > 50), `${left} left, ${right} right, ${ended} ended`)
  } finally {
    isOver = true
    await Promise.all(running)
  }
  t.strictSame(wrong.slice(0, 5), [])
})

t.test('afterwards, all connections are free, and every request is right', async (t) => {
  const isIdle = (): boolean => {
    const { idle, total } = service.database.statistics
    return idle === total
  }
  t.ok(await until(isIdle))
  t.ok(await until(async () => (await naps()) === 0), 'no statement is running')
  for (const owner of users) {
    const headers = { Authorization: await bearer('authenticated', { sub: owner }) }
    const { status, body } = await call('GET', '/rest/v1/letters?select=owner&limit=1', { headers })
    t.strictSame([status, body], [200, [{ owner }]])
  }
})
