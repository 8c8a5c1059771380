// When the transactions of a pipeline are sent.
import t from 'tap'
import { PipelineClient } from '../../../server/postgres/protocol/pipeline-client.ts'
import { PipelineQuery } from '../../../server/postgres/protocol/pipeline-query.ts'
import { startFakePgBouncer } from '../../support/fake-pgbouncer.ts'

t.test('transactions are sent and answered in a round of the event loop that does not end', async (t) => {
  const server = await startFakePgBouncer()
  const client = new PipelineClient(
    { host: '127.0.0.1', port: server.port, user: 'a', database: 'a' },
    { statements: 10 },
  )
  await client.connect()
  t.teardown(async () => {
    await client.end()
    await server.close()
  })
  const ends: Promise<unknown>[] = []
  const end = new Promise<void>((resolve, reject) => {
    const query = new PipelineQuery(client.statements, (error) => (error ? reject(error) : resolve()))
    const add = (text: string, onSettled?: () => void): void => {
      const settled = new Promise<unknown>((resolve) => {
        const settle = (error: Error | undefined): void => {
          onSettled?.()
          resolve(error)
        }
        query.add({ parts: [[{ text, values: [] }]], settle })
      })
      ends.push(settled)
    }
    add('a')
    client.query(query)
    t.intercept(globalThis, 'setImmediate', { value: () => undefined })
    add('b', () => {
      add('d')
      add('e')
    })
    add('c')
  })
  await end
  t.strictSame(await Promise.all(ends), [undefined, undefined, undefined, undefined, undefined])
  t.equal(server.received(), 'PBES PBES PBES PBES PBES')
})
