import t from 'tap'
import { createPool } from '../../server/postgres/pool.ts'
import { isNotMigrated, isUnreachable, leavesConnection, sqlState } from '../../server/postgres/database-error.ts'
import { Database } from '../../server/postgres/database.ts'
import { JsonStatement } from '../../server/postgres/json-statement.ts'
import { createMigratedDatabase } from '../support/database.ts'

const database = await createMigratedDatabase()
const settings = { dbPool: 1, dbPoolAcquisitionTimeout: 5, dbPoolMaxIdletime: 30, dbPoolMaxLifetime: 1800 }
const pool = createPool({ connectionString: database.authenticatorUri }, settings)
t.teardown(async () => {
  await pool.end()
  await database.drop()
})
const served = new Database(pool)
const { query } = served
const inTransaction: typeof served.transaction = (...all) => served.transaction(...all)
const user = { role: 'authenticated', claims: { sub: 'x', role: 'service_role', email: 'a@example.org' } }
const state = `select current_user::text as user, current_setting('request.jwt.claims', true) as claims`

t.test('a transaction runs as the identity, and leaves no settings on the connection', async (t) => {
  const [row] = await inTransaction(user, (query) => query(state, []))
  t.equal(row?.user, 'authenticated')
  t.strictSame(JSON.parse(String(row?.claims)), { sub: 'x', role: 'authenticated', email: 'a@example.org' })
  const [after] = await query(state, [])
  t.equal(after?.user, 'authenticator')
  t.notOk(after?.claims, 'no claims')
})

t.test('hostile claims are passed as text', async (t) => {
  const claims = JSON.parse(`{"__proto__": {"sub": "y"}, "it's": "\\"; drop table x; --"}`) as Record<string, unknown>
  const [row] = await inTransaction({ role: 'anon', claims }, (query) => query('select auth.jwt()::text as jwt', []))
  t.equal(row?.jwt, `{"it's": "\\"; drop table x; --", "role": "anon", "__proto__": {"sub": "y"}}`)
})

const backend = async (): Promise<unknown> => (await query('select pg_backend_pid() as pid', []))[0]?.pid

t.test('an error rolls back everything, and the connection is still usable', async (t) => {
  const before = await backend()
  const rows: readonly (readonly [
    string,
    Parameters<typeof inTransaction>[1],
    { code: string } | { message: string | RegExp },
  ])[] = [
    ['of a statement', (query) => query('select 1 / 0', []), { code: '22012' }],
    ['of the code', () => Promise.reject(new Error('no')), { message: 'no' }],
    [
      'that the code keeps to itself',
      async (query) => {
        await query('select 1 / 0', []).catch(() => undefined)
      },
      { message: /rolled back/ },
    ],
  ]
  for (const [label, run, error] of rows) {
    await t.rejects(inTransaction(user, run), error, label)
    t.equal((await query(state, []))[0]?.user, 'authenticator')
    t.equal(await backend(), before)
  }
  await t.rejects(
    inTransaction({ role: 'postgres', claims: {} }, () => Promise.resolve()),
    { code: '42501' },
    'a role that is not granted',
  )
  await t.rejects(query('select 1 / 0', []), { code: '22012' })
  t.equal(await backend(), before)
})

t.test('one statement in one round trip, with rows of any size', async (t) => {
  const sizes = new JsonStatement(
    "select json_build_object('user', current_user, 'claims', auth.jwt(), 'text', repeat('x', $1::int * n)) from generate_series(1, 3) n",
    { access: 'read' },
  )
  // So often that the statement is known to be brief, and shares connections.
  for (const size of [...Array.from({ length: 25 }, () => 1), 20_000]) {
    const rows = await served.ask(sizes, user, [size])
    t.strictSame(
      rows.map((row) => (row as { text: string }).text.length),
      [size, 2 * size, 3 * size],
    )
    t.match(rows[0], { user: 'authenticated', claims: { role: 'authenticated', email: 'a@example.org' } })
  }
  const login = new JsonStatement('select to_json(current_user)', { access: 'read' })
  t.strictSame(await served.ask(login, undefined, []), ['authenticator'], 'nothing is left of the identity')
  const wrote = new JsonStatement('delete from auth.users returning to_json(1)', { access: 'write' })
  const refused: unknown = await served.ask(wrote, user, []).catch((error: unknown) => error)
  t.match(refused, { server: { code: '42501' } }, 'grants are in force')
})

t.test('a broken connection is replaced', async (t) => {
  const before = await backend()
  await t.rejects(
    inTransaction(user, async (run) => {
      await database.query('select pg_terminate_backend($1)', [before])
      await run('select 1', [])
    }),
  )
  t.not(await backend(), before)
})

t.test('errors are classified', async (t) => {
  const sent = (code: string, severity = 'ERROR') => Object.assign(new Error('x'), { code, severity })
  const system = Object.assign(new Error('x'), { code: 'ECONNREFUSED', syscall: 'connect' })
  const rows: readonly (readonly [unknown, string | undefined, boolean, boolean, boolean])[] = [
    // error, SQLSTATE, not migrated, unreachable, leaves the connection
    [sent('42883'), '42883', true, false, true],
    [sent('3F000'), '3F000', true, false, true],
    [sent('42P01'), '42P01', true, false, true],
    [sent('23505'), '23505', false, false, true],
    [sent('57P01', 'FATAL'), '57P01', false, true, false],
    [sent('28P01', 'FATAL'), '28P01', false, true, false],
    [sent('53300', 'FATAL'), '53300', false, true, false],
    [Object.assign(new Error('x'), { server: { code: '42P01', severity: 'ERROR' } }), '42P01', true, false, true],
    [system, undefined, false, true, false],
    [new Error('Connection terminated unexpectedly'), undefined, false, true, false],
    [new Error('Client has encountered a connection error and is not queryable'), undefined, false, true, false],
    [new Error('Client was closed and is not queryable'), undefined, false, true, false],
    [new Error('x'), undefined, false, false, false],
    [undefined, undefined, false, false, false],
    [{ code: '42P01' }, undefined, false, false, false],
  ]
  for (const [error, code, notMigrated, unreachable, leaves] of rows) {
    t.strictSame(
      [sqlState(error), isNotMigrated(error), isUnreachable(error), leavesConnection(error)],
      [code, notMigrated, unreachable, leaves],
      String(code),
    )
  }
  const closed = createPool({ connectionString: 'postgresql://a@127.0.0.1:1/a' }, settings)
  t.teardown(() => closed.end())
  const refused: unknown = await new Database(closed).query('select 1', []).catch((error: unknown) => error)
  t.ok(isUnreachable(refused), 'connection refused')
  const wrong = createPool({ connectionString: database.uri('authenticator', 'wrong') }, settings)
  t.teardown(() => wrong.end())
  t.ok(
    isUnreachable(await new Database(wrong).query('select 1', []).catch((error: unknown) => error)),
    'wrong password',
  )
})
