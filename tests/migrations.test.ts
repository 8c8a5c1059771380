import t from 'tap'
import { createMigratedDatabase } from './support/database.ts'

t.test('x', async (t) => {
  const database = await createMigratedDatabase()
  const { rows } = await database.query('select count(*)::int from rowhouse.migrations')
  t.strictSame(rows, [{ count: 10 }])
  await database.drop()
})
