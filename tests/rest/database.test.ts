import t from 'tap'
import { createDatabase } from '../support/database.ts'

t.test('a test file gets its own database', async (t) => {
  const database = await createDatabase()
  const { rows } = await database.query('select current_database() as name')
  t.strictSame(rows, [{ name: database.name }])
  await database.drop()
})
