// The schema `net`: signatures, defaults and errors of pg_net, over the table of outgoing calls.
import t from 'tap'
import { createMigratedDatabase } from '../support/database.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

t.test('a request becomes a call', async (t) => {
  const { rows } = await database.query(
    `select net.http_post('https://example.com/a', '{"name": "Ada"}', headers := '{"Authorization": "Bearer x"}') as id`,
  )
  const calls = await database.query('select * from rowhouse.calls')
  t.match(calls.rows, [
    {
      request_id: rows[0]?.id,
      number: rows[0]?.id,
      webhook: null,
      key: null,
      method: 'POST',
      url: 'https://example.com/a',
      host: 'example.com',
      headers: { Authorization: 'Bearer x', 'Content-Type': 'application/json' },
      body: '{"name": "Ada"}',
      timeout_ms: 5000,
      depth: 1,
      retries: false,
      state: 'waiting',
      created_by: 'postgres',
    },
  ])
})
