// Prepared statements whose Parse or Close was skipped after an error, behind a pooler that acts on both at once.
import t, { type Test } from 'tap'
import { PipelineClient } from '../../../server/postgres/protocol/pipeline-client.ts'
import { PipelineQuery } from '../../../server/postgres/protocol/pipeline-query.ts'
import { runPipeline } from '../../../server/postgres/protocol/pipeline.ts'
import {
  knownName,
  longestPrepared,
  StatementCache,
  statementName,
} from '../../../server/postgres/protocol/statement-cache.ts'
import { startFakePgBouncer, type FakePgBouncer } from '../../support/fake-pgbouncer.ts'

// A text is prepared when it is sent for the second time.
for (const text of ['a', 'b', 'c', 'd', 'fails', 'raises']) statementName(text)

async function connect(t: Test, maxStatements: number): Promise<readonly [PipelineClient, FakePgBouncer]> {
  const server = await startFakePgBouncer()
  const client = new PipelineClient(
    { host: '127.0.0.1', port: server.port, user: 'a', database: 'a' },
    { statements: maxStatements },
  )
  t.teardown(async () => {
    await client.end()
    await server.close()
  })
  await client.connect()
  return [client, server]
}

/** Runs statements as one transaction, and returns the code of its error. */
const run = (client: PipelineClient, ...texts: string[]): Promise<string | undefined> =>
  runPipeline(client, [texts.map((text) => ({ text, values: [] }))], true).then(
    () => undefined,
    (error: { readonly server?: { readonly code?: string } }) => error.server?.code ?? 'no code',
  )

t.test('no message is added without an error', async (t) => {
  const [client, server] = await connect(t, 10)
  for (let time = 0; time < 3; time++) t.equal(await run(client, 'a', 'b'), undefined)
  t.equal(server.received(), 'PBEPBES DBEBES DBEBES')
})

t.test('a name whose Parse was skipped or rejected is closed before it is prepared again', async (t) => {
  const [client, server] = await connect(t, 10)
  t.equal(await run(client, 'raises', 'a'), '22012')
  t.equal(await run(client, 'a'), undefined)
  t.equal(await run(client, 'a'), undefined)
  t.equal(await run(client, 'a'), undefined)
  t.equal(server.received(), 'PBEPBES CPBES PBES BES', 'closed, unnamed at first, prepared, used')
  for (let time = 0; time < 3; time++) t.equal(await run(client, 'fails'), '22012')
  t.strictSame(client.statements.names('prepared').length, 2)
})

t.test('a name whose Close was skipped is closed again', async (t) => {
  const [client, server] = await connect(t, 2)
  for (const text of ['raises', 'a']) await run(client, text)
  t.equal(await run(client, 'raises', 'b'), '22012', 'the Close of `a` is skipped')
  t.equal(await run(client, 'a'), undefined)
  t.equal(await run(client, 'a', 'b'), undefined)
  t.equal(server.received(), 'PBES PBES BECPBES CCPBES PBECPBES')
})

t.test('an error while other transactions are on their way', async (t) => {
  const [client] = await connect(t, 3)
  const codes: (string | undefined)[] = []
  const all = ['a', 'fails', 'raises', 'b', 'raises', 'a', 'b', 'c', 'fails', 'c', 'd', 'a', 'raises', 'd']
  for (let round = 0; round < 5; round++) {
    await new Promise<void>((resolve, reject) => {
      const query = new PipelineQuery(client.statements, (error) => (error ? reject(error) : resolve()))
      all.forEach((text, at) => {
        const parts = [[text, all[(at + round) % all.length] ?? ''].map((text) => ({ text, values: [] }))]
        query.add({
          parts,
          settle: (error) => codes.push((error as { server?: { code: string } } | undefined)?.server?.code),
        })
      })
      client.query(query)
    })
  }
  t.notOk(codes.includes('08P01'))
  t.equal(codes.length, 5 * all.length)
  t.equal(await run(client, 'a', 'b', 'c', 'd'), undefined)
})

t.test('what could not be sent changes no name', async (t) => {
  const [client] = await connect(t, 2)
  await run(client, 'a')
  await run(client, 'b')
  const values = Array.from({ length: 70_000 }, () => null)
  const parts = [
    [
      { text: 'c', values: [] },
      { text: 'd', values },
    ],
  ]
  await t.rejects(runPipeline(client, parts, true), { name: 'StatementError' })
  for (const text of ['a', 'b', 'c', 'a', 'b', 'c']) t.equal(await run(client, text), undefined)
})

t.test('a text that is sent for the first time is not prepared', async (t) => {
  const [client, server] = await connect(t, 10)
  for (let time = 0; time < 3; time++) t.equal(await run(client, 'new', 'a'), undefined)
  t.equal(server.received(), 'PBEPBES DPBEBES DBEBES', 'unnamed at first, prepared, used')
  t.equal(client.statements.names('prepared').length, 2)
  t.equal(knownName('never sent'), undefined)
})

t.test('long texts are not prepared', async (t) => {
  const [client] = await connect(t, 10)
  for (let time = 0; time < 3; time++) t.equal(await run(client, 'x'.repeat(longestPrepared + 1)), undefined)
  t.strictSame(client.statements.names('prepared'), [])
})

t.test('the texts of the prepared statements have a limit in total', async (t) => {
  const cache = new StatementCache({ statements: 100, characters: 1000 })
  const names = Array.from({ length: 50 }, (_, number) => `s${number}`)
  for (const [number, name] of names.entries()) {
    const { hasRoom, evicted } = cache.reserve(name, 100 + number)
    t.ok(hasRoom)
    cache.prepared(name)
    for (const old of evicted) cache.removed(old)
    t.ok(cache.length <= 1000, `${cache.length} characters`)
  }
  t.equal(cache.use('s49'), 'prepared')
  const { hasRoom, evicted } = cache.reserve('large', 900)
  t.ok(hasRoom && evicted.length > 1, 'several make room for a large one')
  t.equal(cache.reserve('too large', 1001).hasRoom, false)
  cache.skip('large')
  cache.closeSkipped()
  cache.removed('large')
  cache.clear()
  t.equal(cache.length, 0)
})
