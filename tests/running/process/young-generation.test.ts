// The size of the young generation in the real program: before an overload, and in one with fifty callers, some of whom hang up.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createDatabase } from '../../support/database.ts'
import { nodeOptions } from '../../support/node-options.ts'
import { main, startProgram } from '../../support/program.ts'

/** Signals make the event loop of the program late until the next one, or print the size once many new objects were in use. */
const probe = `
import { getHeapSpaceStatistics } from 'node:v8'
let late = false
const block = () => {
  const start = performance.now()
  while (performance.now() - start < 300);
  if (late) setTimeout(block, 10)
}
process.on('SIGWINCH', () => {
  late = !late
  if (late) block()
})
process.on('SIGURG', () => {
  const waiting = []
  for (let count = 0; count < 2e6; count++) waiting[count % 50_000] = { headers: { host: String(count) }, body: [count] }
  const { space_size } = getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')
  console.log(JSON.stringify({ event: 'young', size: space_size }))
})
`

/** Bytes of both halves of a young generation that has not grown. */
const small = 2 * 4 * 2 ** 20

t.test('the young generation grows in an overload of the processor, not before', async (t) => {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  const program = startProgram(
    t,
    { DATABASE_URL: database.adminUri, SERVICES: 'rest' },
    [],
    [process.execPath, ...nodeOptions, `--import=data:text/javascript,${encodeURIComponent(probe)}`, main],
  )
  await program.line(({ event }) => event === 'listening')
  await program.line(({ event }) => event === 'schema-cache-loaded')
  const size = async (): Promise<number> => {
    const after = program.logged().length
    program.kill('SIGURG')
    return Number((await program.line(({ event }) => event === 'young', after)).size)
  }
  const kept = await size()
  t.ok(kept <= small, `${kept} bytes`)

  program.kill('SIGWINCH')
  const statuses = new Map<number | string, number>()
  // Until one is refused: a busy machine needs longer for enough requests between two samples.
  const end = performance.now() + 300_000
  const call = async (number: number): Promise<void> => {
    while (!statuses.has(503) && performance.now() < end) {
      // Every fifth caller soon hangs up.
      const signal = AbortSignal.timeout(number % 5 === 0 ? 20 : 30_000)
      const status = await fetch(`${program.url()}/rest/v1/`, { signal, headers: { apikey: `forged ${number}` } }).then(
        async (response) => (await response.arrayBuffer(), response.status),
        (error: Error) => error.name,
      )
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      await pause(1)
    }
  }
  await Promise.all(Array.from({ length: 50 }, (_, number) => call(number)))
  program.kill('SIGWINCH')
  t.ok(statuses.get(503), `some were refused: ${JSON.stringify([...statuses])}`)
  const grown = await size()
  t.ok(grown > small, `${grown} bytes`)
})
