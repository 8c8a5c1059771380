// After a reload, statements share connections as they did before.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createFilmDatabase } from '../support/authenticator.ts'
import { trustAllStatements } from '../support/sharing.ts'

trustAllStatements()

const { database, anonymous, uri } = await createFilmDatabase(t, 3)

t.test('statements share connections after a reload, and are planned anew', async (t) => {
  const { service, call } = await startApplication(t, uri, {
    PGRST_DB_ANON_ROLE: anonymous,
    // Statements of other services would be counted, too.
    SERVICES: 'rest',
  })
  const read = async (): Promise<unknown> => (await call('GET', '/rest/v1/films?order=id')).body
  const shared = (): number => service.database.statistics.sharing.runs
  await read()
  t.equal(shared(), 0, 'the shape is not known')
  const rows = await read()
  t.equal(shared(), 1)
  await database.query(`alter table public.films add column added integer default 7`)
  await service.engine.reload()
  const before = shared()
  const after = await read()
  t.strictSame(
    after,
    (rows as object[]).map((row) => ({ ...row, added: 7 })),
  )
  t.equal(shared(), before + 1, 'the first run already')
})
