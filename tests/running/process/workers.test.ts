// Several processes on one port share its requests and the connections.
import t, { type Test } from 'tap'
import { pauseAfter, poolShare } from '../../../server/running/workers.ts'
import { createFilmDatabase } from '../../support/authenticator.ts'
import { childProcesses } from '../../support/child-processes.ts'
import { says, startProgram, type Program } from '../../support/program.ts'

// Each process compiles the program.

t.test('the pool is divided among workers', async (t) => {
  for (const [pool, workers, share] of [
    [10, 1, 10],
    [10, 2, 5],
    [10, 3, 3],
    [2, 4, 1],
  ] as const) {
    t.equal(poolShare(pool, workers), share, `${pool} among ${workers}`)
  }
})

t.test('restarts of a failing worker are delayed', async (t) => {
  const pauses = Array.from({ length: 12 }, (_, failures) => pauseAfter(failures))
  t.strictSame(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000, 30_000])
})

async function start(t: Test, more: Record<string, string> = {}): Promise<Program> {
  const { anonymous, uri } = await createFilmDatabase(t, 1)
  return startProgram(t, {
    DATABASE_URL: uri,
    PGRST_DB_ANON_ROLE: anonymous,
    SERVER_WORKERS: '2',
    PGRST_DB_POOL: '4',
    REST_BASE_PATH: '/',
    ...more,
  })
}

const times = (program: Program, event: string): number => program.logged().filter(says(event)).length

async function serving(program: Program, count: number): Promise<void> {
  await program.line(() => times(program, 'worker-serving') >= count)
}

const ask = async (t: Test, program: Program): Promise<void> => {
  for (let time = 0; time < 10; time++) {
    t.match(await program.call('GET', '/films'), { status: 200, body: [{ id: 1 }] })
  }
}

t.test('two workers serve and end gracefully', async (t) => {
  const program = await start(t)
  await program.line(says('listening'))
  await ask(t, program)
  program.kill('SIGTERM')
  t.equal(await program.ended, 0)
  t.equal(times(program, 'starting'), 3, 'one primary process and two workers')
  t.equal(times(program, 'stopped'), 3, 'all ended gracefully')
})

t.test('problems of sign-in are reported once, and only where it is served', async (t) => {
  for (const [services, wanted] of [
    ['rest,auth', 1],
    ['rest', 0],
  ] as const) {
    const program = await start(t, { SERVICES: services, SERVER_HOST: '127.0.0.1' })
    await serving(program, 2)
    program.kill('SIGTERM')
    t.equal(await program.ended, 0)
    const reports = program.logged().filter(({ msg }) => String(msg).includes('there is no mail server'))
    t.equal(reports.length, wanted, services)
  }
})

t.test('killed workers are replaced, while the others serve', async (t) => {
  const program = await start(t)
  await serving(program, 2)
  const [first = 0, second = 0] = await childProcesses(program.pid)
  process.kill(first, 'SIGKILL')
  await ask(t, program)
  await program.line(says('worker-ended'))

  // The replacement is killed before it serves, as by the OOM killer.
  const replacement = async (): Promise<number | undefined> =>
    (await childProcesses(program.pid)).find((pid) => pid !== first && pid !== second)
  let young = await replacement()
  while (young === undefined) young = await replacement()
  process.kill(young, 'SIGKILL')
  await program.line(() => times(program, 'worker-ended') === 2)
  await ask(t, program)
  await serving(program, 3)
  t.equal((await childProcesses(program.pid)).length, 2, 'there are two workers again')
  const pauses = program.logged().filter(says('worker-ended'))
  t.match(pauses, [
    { msg: /^Worker \d ended \(SIGKILL\); starting another in 0\.\d s$/ },
    { msg: /^Worker \d ended \(SIGKILL\); starting another in 0\.\d s$/ },
  ])
  program.kill('SIGTERM')
  t.equal(await program.ended, 0)
})

t.test('the start fails if the first worker fails', async (t) => {
  const program = await start(t, { PGRST_DB_CONFIG: 'false', DATABASE_URL: 'host=127.0.0.1 port=1 sslmode=wrong' })
  t.equal(await program.ended, 1)
  t.match(program.written(), /worker \d ended \(exit code 1\) before it could serve/)
  t.match(program.written(), /DATABASE_URL: invalid sslmode: must be one of /)
})
