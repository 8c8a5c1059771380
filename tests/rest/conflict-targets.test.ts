// `on_conflict` with the columns of a partial unique index, or of one of expressions, which ON CONFLICT finds only by its
// predicate and expressions.
import t from 'tap'
import { exchangeAll, fault, type Exchange } from '../support/request-table.ts'
import { startWrites } from '../support/writes-service.ts'
import { until } from '../support/until.ts'

const { url, database } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage', PGRST_DB_TX_END: 'commit-allow-override' })
await database.query(`
  create table garage.members (
    id int primary key, email text, team int, role text, left_at date, "Odd ""name""" text, n int, m int
  );
  create unique index on garage.members (lower(email));
  create unique index on garage.members (team, role) where left_at is null;
  create unique index on garage.members ("Odd ""name""") include (id) where "Odd ""name""" <> ')';
  -- Two of the same columns: which one is meant cannot be known.
  create unique index on garage.members (n) where m > 0;
  create unique index on garage.members (n) where m < 0;
  -- The columns are enough to name it.
  create table garage.plain (a int, b int, c int);
  create unique index on garage.plain (a, b);
  create unique index on garage.plain (b, a) where c is null;
  create table garage.teams (id int primary key, name text);
  create table garage.players (id int primary key, team int references garage.teams);
  create unique index on garage.teams (lower(name));
  grant all on garage.members, garage.plain, garage.teams, garage.players to garage_anon;
  insert into garage.members (id, email, team, role, left_at) values (1, 'Ann@x', 1, 'lead', null), (2, 'Ben@x', 1, 'lead', '2020-01-01');
  notify pgrst, 'reload schema';
`)

const merge = 'resolution=merge-duplicates, return=representation, tx=rollback'
const ignore = 'resolution=ignore-duplicates, return=representation, tx=rollback'
const noTarget = fault('42P10', 'there is no unique or exclusion constraint matching the ON CONFLICT specification')

const rows: readonly Exchange[] = [
  {
    name: 'an index of an expression',
    send: ['POST', '/members?on_conflict=email&select=id,email,team', { id: 1, email: 'ANN@x', team: 7 }],
    prefer: merge,
    status: 200,
    body: [{ id: 1, email: 'ANN@x', team: 7 }],
    applied: merge,
  },
  {
    name: 'an index of an expression, ignoring duplicates',
    send: [
      'POST',
      '/members?on_conflict=email&select=id',
      [
        { id: 9, email: 'ben@X' },
        { id: 3, email: 'new@x' },
      ],
    ],
    prefer: ignore,
    status: 201,
    body: [{ id: 3 }],
    applied: ignore,
  },
  {
    name: 'a partial index: only rows of its predicate conflict',
    send: ['POST', '/members?on_conflict=role,team&select=id,email', { id: 1, team: 1, role: 'lead', email: 'c@x' }],
    prefer: merge,
    status: 200,
    body: [{ id: 1, email: 'c@x' }],
    applied: merge,
  },
  {
    name: 'a name that needs quotes, and a column that is only included',
    send: [
      'POST',
      `/members?on_conflict=${encodeURIComponent('"Odd \\"name\\""')}&select=id`,
      { id: 5, 'Odd "name"': 'x' },
    ],
    prefer: merge,
    status: 201,
    body: [{ id: 5 }],
    applied: merge,
  },
  {
    name: 'some of the columns of an index',
    send: ['POST', '/members?on_conflict=team', { id: 1 }],
    prefer: merge,
    status: 400,
    body: noTarget,
  },
  {
    name: 'the column of the predicate',
    send: ['POST', '/members?on_conflict=team,role,left_at', { id: 1 }],
    prefer: merge,
    status: 400,
    body: noTarget,
  },
  {
    name: 'two indexes of the same column',
    send: ['POST', '/members?on_conflict=n', { id: 1 }],
    prefer: merge,
    status: 400,
    body: noTarget,
  },
  {
    name: 'an index without predicate is preferred',
    send: ['POST', '/plain?on_conflict=b,a', { a: 1, b: 2, c: 3 }],
    prefer: merge,
    status: 201,
    body: [{ a: 1, b: 2, c: 3 }],
    applied: merge,
  },
  {
    name: 'the root of nested rows',
    send: ['POST', '/teams?on_conflict=name&select=name', { id: 1, name: 'red', players: [{ id: 1 }] }],
    prefer: merge,
    status: 201,
    body: [{ name: 'red' }],
    applied: merge,
  },
]

t.test('conflict targets', async (t) => {
  t.ok(await until(async () => (await fetch(`${url}/rest/v1/teams`)).status === 200))
  await exchangeAll(t, url, rows)
})
