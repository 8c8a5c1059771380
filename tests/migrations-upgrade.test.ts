// Data folders from before names, whole mileages and checked sessions: what becomes of their rows.
import { cp, mkdir, readdir } from 'node:fs/promises'
import t from 'tap'
import { migrate } from '../server/postgres/migrate.ts'
import { detailsOf } from './support/account.ts'
import { hashPassword } from '../server/services/accounts/password.ts'
import { createDatabase, withClient } from './support/database.ts'
import { startService } from './support/service.ts'

const migrations = new URL('../sql/migrations/', import.meta.url)

t.test('a database of the first fourteen migrations', async (t) => {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  const directory = t.testdir({})
  await mkdir(directory, { recursive: true })
  for (const name of await readdir(migrations)) {
    if (Number.parseInt(name) <= 14) await cp(new URL(name, migrations), `${directory}/${name}`)
  }
  await withClient(database.adminUri, (client) => migrate(client, { directory }))
  const password = 'correct horse'
  const id = 'dddddddd-0000-4000-8000-000000000001'
  await database.query('insert into auth.users (id, email, password_hash) values ($1, $2, $3)', [
    id,
    'Old.Timer@example.org',
    await hashPassword(password),
  ])
  await database.query("update public.profiles set display_name = 'Old Timer' where id = $1", [id])
  await database.query(
    `insert into public.reports (user_id, manufacturer, model, year, mileage, price, lat, lng)
     values ($1, 'Opel', 'Corsa', 2001, 12345.6, 1, 1, 1), ($1, 'Opel', 'Corsa', 2001, 5, 1, 1, 1)`,
    [id],
  )

  const { applied } = await withClient(database.adminUri, (client) => migrate(client))
  t.match(applied[0], /^15_/)
  t.strictSame((await database.query('select full_name from public.profiles')).rows, [{ full_name: 'Old Timer' }])
  t.strictSame(
    (await database.query('select mileage::text from public.reports order by reports.mileage')).rows,
    ['5', '12346'].map((mileage) => ({ mileage })),
  )
  const { call } = await startService(t, database.uri('authenticator', 'authenticator'))
  const signedIn = await call('POST', '/auth/signin', { body: { email: 'old.timer@example.org', password } })
  t.strictSame(detailsOf(signedIn), { id, email: 'Old.Timer@example.org', firstName: 'Old.Timer' })
})
