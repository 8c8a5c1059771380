// Several processes on one port: they share its requests and the connections.
import t from 'tap'
import { poolShare } from '../server/workers.ts'
import { createOwnedDatabase } from './support/authenticator.ts'
import { says, startProgram } from './support/program.ts'

t.test('shares of the pool', async (t) => {
  for (const [pool, workers, share] of [
    [10, 1, 10],
    [10, 2, 5],
    [10, 3, 3],
    [2, 4, 1],
  ] as const) {
    t.equal(poolShare(pool, workers), share, `${pool} among ${workers}`)
  }
})

t.test('two workers serve and end in order', async (t) => {
  const { database, anonymous, uri } = await createOwnedDatabase(t)
  await database.query(`
    create table public.films (id int primary key);
    insert into public.films values (1);
    grant select on public.films to ${anonymous}`)
  const program = startProgram(t, {
    DATABASE_URL: uri,
    PGRST_DB_ANON_ROLE: anonymous,
    SERVER_WORKERS: '2',
    PGRST_DB_POOL: '4',
    REST_BASE_PATH: '/',
  })
  await program.line(says('listening'))
  const ask = async () => t.match(await program.call('GET', '/films'), { status: 200, body: [{ id: 1 }] })
  for (let time = 0; time < 10; time++) await ask()
  program.kill('SIGTERM')
  t.equal(await program.ended, 0)
  t.equal(program.logged().filter(says('starting')).length, 3, 'one that watches, two that serve')
  t.equal(program.logged().filter(says('stopped')).length, 3, 'all ended in order')
})
