// Workers of one process: broadcast and presence between them, a worker that is killed, and the end of the program.
import t from 'tap'
import { jwtSecret } from '../../support/application.ts'
import { childProcesses } from '../../support/child-processes.ts'
import { createMigratedDatabase } from '../../support/database.ts'
import { says, startProgram } from '../../support/program.ts'
import { dial } from '../../support/realtime.ts'
import { until } from '../../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

t.test('workers are one server', async (t) => {
  const program = startProgram(t, {
    DATABASE_URL: database.authenticatorUri,
    REALTIME_DATABASE_URL: database.adminUri,
    PGRST_JWT_SECRET: jwtSecret,
    LOAD_SHEDDING_WAIT: '0',
    SERVER_WORKERS: '2',
  })
  await program.line(() => program.logged().filter(says('worker-serving')).length === 2)
  // The system chooses a worker for each connection at random: this many are practically never all at one.
  const names = Array.from({ length: 20 }, (_, index) => `person ${index}.`)
  const clients = await Promise.all(
    names.map(async (key) => {
      const client = await dial(t, program.url())
      await client.opened
      await client.join('room', { presence: { key, enabled: true } })
      client.send('presence', 'realtime:room', { type: 'presence', event: 'track', payload: {} })
      return client
    }),
  )
  const has = (index: number, text: string): boolean =>
    clients[index]?.received.some(({ payload }) => JSON.stringify(payload).includes(text)) === true
  t.ok(await until(() => clients.every((_, index) => names.every((name) => has(index, `"${name}"`)))), 'presence')
  clients[0]?.send('broadcast', 'realtime:room', { type: 'broadcast', event: 'word', payload: { word: 'hello' } })
  t.ok(await until(() => clients.every((_, index) => index === 0 || has(index, 'hello'))), 'broadcast')

  const closed = new Map<number, number>()
  clients.forEach((client, index) => void client.closed.then(({ code }) => closed.set(index, code)))
  const [worker = 0] = await childProcesses(program.pid)
  const killedAt = performance.now()
  process.kill(worker, 'SIGKILL')
  t.ok(await until(() => closed.size > 0))
  // The sockets of the killed worker do not all end in the same moment.
  const left = (): number[] => [...clients.keys()].filter((index) => !closed.has(index))
  const leaves = (index: number, name: string): boolean =>
    clients[index]?.received.some(({ event, payload }) => {
      const { leaves: gone } = payload as { leaves?: Record<string, unknown> }
      return event === 'presence_diff' && gone !== undefined && name in gone
    }) === true
  t.ok(
    await until(() => left().every((index) => [...closed.keys()].every((gone) => leaves(index, names[gone] ?? '')))),
    'the presence of a killed worker ends',
  )
  const took = Math.round(performance.now() - killedAt)
  t.ok(took < 30_000, `after ${took} ms`)
  const others = left()
  t.ok(others.length > 0, `${others.length} of ${clients.length} are at the other worker`)

  program.kill('SIGTERM')
  t.ok(await until(() => closed.size === clients.length))
  t.strictSame(
    others.map((index) => closed.get(index)),
    others.map(() => 1012),
    'the others are asked to come back',
  )
  t.notOk(
    clients.some(({ received }) => received.some(({ event }) => event === 'phx_close')),
    'so that they do not stay away',
  )
  t.equal(await program.ended, 0)
})
