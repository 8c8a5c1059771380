// A reload of more than a thousand tables that rests for requests, with a pool of one connection: two users, forged tokens,
// callers who hang up, a flood of notifications, and the loss of the connection that loads.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { bearer } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(`
  create table public.letters (id int primary key, owner text not null);
  insert into public.letters select n, '00000000-0000-4000-8000-00000000000' || mod(n, 2) from generate_series(1, 40) n;
  alter table public.letters enable row level security;
  create policy own on public.letters using (owner = auth.uid()::text);
  grant select on public.letters to authenticated;
  create function public.waits() returns void language sql as 'select pg_sleep(0.05)';
  do $$ begin for number in 1..1001 loop execute format('create table public.t%s (id int)', number); end loop; end $$`)
const { url, call, service, logged } = await startApplication(t, database.authenticatorUri, { PGRST_DB_POOL: '1' })
const users = ['00000000-0000-4000-8000-000000000000', '00000000-0000-4000-8000-000000000001'] as const

/** Ends the connection that loads, between two of its statements or in one. @returns whether there was one */
async function loseLoader(): Promise<boolean> {
  const { rows } = await database.query(`
    select count(pg_terminate_backend(pid))::int from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() and query like 'fetch % from introspection'
      and state in ('active', 'idle in transaction')`)
  return rows[0]?.count === 1
}

/** Requests of all kinds until the returned function is called, which returns what was wrong. */
async function startRequests() {
  let isOver = false
  const wrong: string[] = []
  const counts = { right: 0, refused: 0, hungUp: 0 }
  const path = '/rest/v1/letters?select=owner'
  const loops = users.map(async (owner) => {
    const headers = { Authorization: await bearer('authenticated', { sub: owner }) }
    while (!isOver) {
      const { status, body, text } = await call('GET', path, { headers })
      const letters = body as readonly { readonly owner: string }[]
      if (status !== 200 || letters.length !== 20 || letters.some((letter) => letter.owner !== owner)) wrong.push(text)
      else counts.right++
      await pause(5)
    }
  })
  const [owner] = users
  const token = await bearer('authenticated', { sub: owner })
  const forge = async (): Promise<void> => {
    while (!isOver) {
      const { status, text } = await call('GET', path, { headers: { Authorization: `${token.slice(0, -4)}AAAA` } })
      if (status !== 401) wrong.push(text)
      else counts.refused++
      await pause(10)
    }
  }
  const hangUp = async (): Promise<void> => {
    while (!isOver) {
      const signal = AbortSignal.timeout(1 + (counts.hungUp % 5))
      await fetch(`${url}/rest/v1/rpc/waits`, { signal, headers: { Authorization: token } }).catch(() => undefined)
      counts.hungUp++
      await pause(10)
    }
  }
  loops.push(forge(), hangUp())
  return async () => {
    // On a busy machine they are fewer than are worth a test.
    await until(() => counts.right > 50 && counts.refused > 10 && counts.hungUp > 10)
    isOver = true
    await Promise.all(loops)
    return { wrong, counts }
  }
}

const countOf = (event: string): number => logged().filter((line) => line.event === event).length

t.test('a load whose connection is lost costs no request, and the change is seen later', async (t) => {
  const stop = await startRequests()
  await pause(100)
  const before = countOf('database-lost')
  // An event trigger notifies the server.
  await database.query('create table public.late (id int); grant select on public.late to authenticated')
  t.ok(await until(loseLoader))
  t.ok(await until(() => countOf('database-lost') > before))
  const headers = { Authorization: await bearer('authenticated', { sub: users[0] }) }
  t.ok(await until(async () => (await call('GET', '/rest/v1/late', { headers })).status === 200))
  const { wrong, counts } = await stop()
  t.strictSame(wrong.slice(0, 3), [])
  t.ok(counts.right > 50 && counts.refused > 10 && counts.hungUp > 10, JSON.stringify(counts))
})

t.test('a flood of notifications during a load leads to one more', async (t) => {
  const before = countOf('schema-cache-loaded')
  const stop = await startRequests()
  await pause(100)
  const reloaded = service.engine.reload()
  await database.query('create table public.later (id int); grant select on public.later to authenticated')
  for (let time = 0; time < 200; time++) await database.query('notify pgrst')
  const flood = Array.from({ length: 200 }, () => service.engine.reload())
  await Promise.all([reloaded, ...flood])
  const headers = { Authorization: await bearer('authenticated', { sub: users[1] }) }
  t.equal((await call('GET', '/rest/v1/later', { headers })).status, 200)
  const { wrong, counts } = await stop()
  t.strictSame(wrong.slice(0, 3), [])
  t.ok(counts.right > 10, JSON.stringify(counts))
  // On a busy machine, the flood lasts longer than a load.
  t.ok(countOf('schema-cache-loaded') - before <= 20, `${countOf('schema-cache-loaded') - before} loads`)
})
