// `rowhouse sample`: reports for an estimate, some runs, and no duplicates.
import t from 'tap'
import { addSampleData, fillEmptyDatabase } from '../../../server/tools/command-line/sample-data.ts'
import { createValidator } from '../../../server/validation/validator.ts'
import { detailsOf, signUp } from '../../support/account.ts'
import { startApplication } from '../../support/application.ts'
import { createDatabase, createMigratedDatabase, withClient } from '../../support/database.ts'
import { says, startProgram } from '../../support/program.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { call } = await startApplication(t, database.authenticatorUri, { SESSION_SECRETS: 's'.repeat(32) })
const add = (email?: string) => withClient(database.adminUri, (client) => addSampleData(client, email))
const { forTable } = await createValidator()

t.test('without a development user, only reports are added', async (t) => {
  t.strictSame(await add(), { accounts: 5, reports: 60, runs: 0, hasOwner: false })
  await t.rejects(add('nobody@example.org'), { message: 'There is no account with the address nobody@example.org.' })
})

t.test('the development user gets runs, and a second call adds nothing', async (t) => {
  const developer = await signUp(call, 'developer@example.com')
  t.strictSame(await add(), { accounts: 0, reports: 0, runs: 12, hasOwner: true })
  t.strictSame(await add(), { accounts: 0, reports: 0, runs: 0, hasOwner: true })
  t.strictSame(await add('DEVELOPER@example.com'), { accounts: 0, reports: 0, runs: 0, hasOwner: true })
  const { access_token: token } = detailsOf<{ access_token: string }>(await developer.call('POST', '/auth/token'))
  const given = await call('GET', '/rest/v1/classification_runs?order=created_at.desc', {
    headers: { Authorization: `Bearer ${token}` },
  })
  const runs = given.body as Record<string, unknown>[]
  t.equal(runs.length, 12)
  const check = forTable('public', 'classification_runs')?.validateInsert
  for (const { updated_at: updatedAt, ...run } of runs) t.strictSame(check?.(run), [], String(updatedAt))

  const another = await signUp(call, 'another@example.org')
  t.strictSame(await add(another.email), { accounts: 0, reports: 0, runs: 12, hasOwner: true })
})

t.test('a new user gets an estimate', async (t) => {
  const newcomer = await signUp(call, 'newcomer@example.org')
  for (const query of ['manufacturer=Toyota&model=Corolla', 'manufacturer=Fiat&model=Panda']) {
    const given = await newcomer.call('GET', `/report/estimate?${query}&year=2019&mileage=40000&lat=52.52&lng=13.405`)
    const { estimate, confidence, comparables } = detailsOf<Record<string, number>>(given)
    t.ok(Number(estimate) > 3000 && Number(estimate) < 25_000, `${query}: ${String(estimate)}`)
    t.ok(Number(comparables) >= 20 && Number(confidence) > 0.3, `${String(comparables)} ${String(confidence)}`)
  }
})

t.test('sample accounts cannot sign in', async (t) => {
  const given = await call('POST', '/auth/signin', { body: { email: 'sample-1@example.com', password: 'password' } })
  t.equal(given.status, 401)
})

t.test('an existing address does not affect the other accounts', async (t) => {
  const other = await createMigratedDatabase()
  t.teardown(() => other.drop())
  await other.query("select auth.create_user('sample-2@example.com', 'x', 'Taken', null)")
  const counts = await withClient(other.adminUri, (client) => addSampleData(client, undefined))
  t.strictSame(counts, { accounts: 4, reports: 48, runs: 0, hasOwner: false })
})

t.test('serve --sample fills an empty database once', async (t) => {
  const other = await createMigratedDatabase()
  t.teardown(() => other.drop())
  const fill = () => withClient(other.adminUri, fillEmptyDatabase)
  const reports = async () => (await other.query('select from public.reports')).rowCount
  const start = async (): Promise<string> => {
    const program = startProgram(
      t,
      { DATABASE_URL: other.authenticatorUri, MIGRATION_DATABASE_URL: other.adminUri, SESSION_SECRETS: 's'.repeat(32) },
      ['--sample'],
    )
    const { msg } = await program.line(says('sample-data'))
    program.kill('SIGTERM')
    await program.ended
    return String(msg)
  }
  t.equal(await start(), 'Added the sample data')
  t.equal(await reports(), 60)
  t.match(await start(), /^Added no sample data: /)
  t.equal(await reports(), 60)
  await other.query('delete from public.reports')
  t.equal(await fill(), 'not empty', 'deleted rows are not added again')
  t.equal(await reports(), 0)

  const used = await createMigratedDatabase()
  t.teardown(() => used.drop())
  await used.query(`
    with account as (select id from auth.create_user('mine@example.org', 'x', 'Mine', null) as id)
    insert into public.reports (user_id, manufacturer, model, year, mileage, price, lat, lng)
    select id, 'Opel', 'Corsa', 2001, 1, 1, 1, 1 from account`)
  t.equal(await withClient(used.adminUri, fillEmptyDatabase), 'not empty')
  const plain = await createDatabase()
  t.teardown(() => plain.drop())
  t.equal(await withClient(plain.adminUri, fillEmptyDatabase), 'lacks migrations')
})
