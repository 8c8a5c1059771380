// The schema of `tests/tenants`, which other tests are built on.
import t from 'tap'
import { withClient } from '../support/database.ts'
import { createTenantsDatabase, readTenants, tenantUsers } from '../support/tenants.ts'

const database = await createTenantsDatabase()
t.teardown(() => database.drop())

t.test('it has 20 tables, all with row-level security and policies', async (t) => {
  const { migrations } = await readTenants()
  const tables = [...migrations.join('\n').matchAll(/create table public\.(\w+)/g)].map(([, name]) => name)
  const { rows } = await database.query(
    `select relname from pg_class
     where relnamespace = 'public'::regnamespace and relname = any ($1) and relrowsecurity
       and exists (select from pg_policy where polrelid = pg_class.oid)
     order by array_position($1, relname)`,
    [tables],
  )
  t.equal(tables.length, 20)
  t.strictSame(
    rows.map(({ relname }) => relname),
    tables,
  )
})

const visible: Readonly<Record<string, readonly [table: string, count: number][]>> = {
  anna: [
    ['tasks', 5],
    ['invoices', 2],
    ['settings', 2],
    ['projects', 3],
    ['time_entries', 2],
    ['memberships', 4],
  ],
  ben: [
    ['tasks', 4],
    ['invoices', 2],
    ['settings', 1],
    ['projects', 2],
    ['time_entries', 2],
    ['memberships', 4],
  ],
  cleo: [
    ['tasks', 7],
    ['invoices', 0],
    ['settings', 2],
    ['projects', 4],
    ['time_entries', 1],
    ['memberships', 6],
  ],
  dora: [
    ['tasks', 2],
    ['invoices', 1],
    ['settings', 1],
    ['projects', 2],
    ['time_entries', 1],
    ['memberships', 2],
  ],
  fred: [
    ['tasks', 0],
    ['invoices', 0],
    ['settings', 0],
    ['projects', 1],
    ['time_entries', 0],
    ['invitations', 2],
  ],
}

for (const [name, counts] of Object.entries(visible)) {
  t.test(`rows that ${name} sees`, async (t) => {
    const id = tenantUsers[name as keyof typeof tenantUsers]
    const found = await withClient(database.adminUri, async (client) => {
      await client.query('begin')
      await client.query(
        "select set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1, true)",
        [JSON.stringify({ sub: id, role: 'authenticated', email: `${name}@example.org` })],
      )
      const answers: [string, number][] = []
      for (const [table] of counts) {
        const { rows } = await client.query<{ n: number }>(`select count(*)::int as n from public.${table}`)
        answers.push([table, rows[0]?.n ?? -1])
      }
      await client.query('rollback')
      return answers
    })
    t.strictSame(found, counts)
  })
}
