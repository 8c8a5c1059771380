// Thirty people listen to their own rows in two processes of the program, of which one after the other is killed. Their connections
// break again and again. Nobody gets a row of another person, and everyone gets each change once and in order, but those that
// the server says are missing. ISOLATION_SECONDS sets another duration, and SEED other choices.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { jwtSecret } from '../../support/application.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { isolationSql, runIsolation, type Place } from '../../support/isolation-load.ts'
import { startProcesses } from '../../support/processes.ts'
import type { Program } from '../../support/program.ts'
import { dial } from '../../support/realtime.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

const seconds = Number(process.env.ISOLATION_SECONDS ?? 25)
t.setTimeout((seconds + 120) * 1000)
const random = seededRandom(testSeed())

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(isolationSql)

const env = {
  DATABASE_URL: database.authenticatorUri,
  REALTIME_DATABASE_URL: database.adminUri,
  PGRST_JWT_SECRET: jwtSecret,
  PGRST_LOG_LEVEL: 'warn',
  LOAD_SHEDDING_WAIT: '0',
}

/** Starts a process that reads the log until it ends. */
async function start(place: Place): Promise<Program> {
  const [program] = await startProcesses(t, [env])
  if (!program) throw new Error('not started')
  const keeper = await dial(t, program.url())
  await keeper.opened
  await keeper.join('keeper', {
    postgres_changes: [{ event: 'DELETE', schema: 'public', table: 'own', filter: 'id=eq.0' }],
  })
  const beat = setInterval(() => keeper.send('heartbeat', 'phoenix', {}), 20_000)
  keeper.socket.once('close', () => clearInterval(beat))
  place.since = performance.now()
  place.url = program.url()
  return program
}

const places: Place[] = [1, 2].map(() => ({ url: '', since: Infinity }))

t.test('own rows only, each once and in order', async (t) => {
  const programs = await Promise.all(places.map(start))
  const kill = async (index: number): Promise<void> => {
    const [program, place] = [programs[index], places[index]]
    if (!program || !place) return
    place.url = ''
    program.kill('SIGKILL')
    await program.ended
    await pause(500)
    programs[index] = await start(place)
  }
  const figures = await runIsolation({
    database,
    places,
    random,
    people: 30,
    seconds,
    meanwhile: async () => {
      const end = performance.now() + seconds * 1000 - 5000
      for (let index = 0; performance.now() < end; index = 1 - index) {
        await pause(4000 + random.below(2000))
        await kill(index)
      }
    },
  })
  const { problems, ...counts } = figures
  t.comment(counts)
  t.strictSame(problems.slice(0, 20), [])
  t.ok(counts.received > counts.changes / 2)
})
