// Random rows with extreme values of many types, and random orders over them, for walks through keyset pages.
import type { Random } from './seeded-random.ts'

type Choices = readonly [string | null, string | null, ...(string | null)[]]

/** The columns besides the key, with their types and values. */
const columns: Readonly<Record<string, readonly [type: string, values: Choices]>> = {
  double: ['float8', ['NaN', 'Infinity', '-Infinity', '1.7976931348623157e308', '5e-324', '-0', '0', null]],
  close: ['float8', ['0.3', '0.30000000000000004', '0.30000000000000010', '0.29999999999999999']],
  single: ['real', ['NaN', '16777217', '0.1', '3.4e38', null]],
  amount: ['numeric', ['NaN', 'Infinity', '-Infinity', '1.0', '1.00', '12345678901234567890.123456789', null]],
  day: ['date', ['infinity', '-infinity', '0044-03-15 BC', '2026-02-01', '2026-01-02', null]],
  at: ['timestamptz', ['2026-10-25 00:30:00.000001+00', '2026-10-25 00:30:00.000002+00', '2026-10-25 01:30Z', null]],
  length: ['interval', ['1 mon', '30 days', '-1 sec', '1 mon -30 days', null]],
  kind: ['kind', ['small', 'Large', 'medium', null]],
  uid: ['uuid', ['00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-4fff-bfff-ffffffffffff', null]],
  raw: ['bytea', ['\\x00ff', '\\x', '\\x225c', null]],
  data: ['jsonb', ['{"a": 1, "b": "x"}', '{"a": "1", "b": null}', '[1]', '"s"', 'null', null]],
  span: ['int4range', ['[1,5)', 'empty', '(,3)', null]],
  times: ['tstzrange', ['["2026-10-25 00:30:00.000001+00",)', '["2026-10-25 00:30:00.000002+00",)', null]],
  tags: ['text[]', ['{}', '{a,"b,c"}', '{NULL,"\\""}', '{NULL}', null]],
  spot: ['spot', ['(1,a)', '(1,)', '(,"x,y")', '(,)', null]],
  code: ['char(3)', ['b', 'bc', ' b', null]],
  title: ['text collate anycase', ['x', 'X', 'y', null]],
  text: ['text', ['', 'ü 😀', '"\\,;=%&', 'null', 'a\nb', null]],
  // The schema of these types is not in the search path.
  mail: ['ext.citext', ['a', 'A', 'B', 'b', 'C', null]],
  tree: ['ext.ltree', ['x', 'x.y', 'x.b', null]],
  client_id: ['int references walk_clients', ['1', '2', '3', '4', null]],
}
const names = Object.keys(columns)
const fields: readonly [string, ...string[]] = [
  'id',
  ...names,
  ...['data->a', 'data->>b', 'data->0', 'label', 'client(name)', 'client(mail)', 'client(id)'],
]

/** The statements that create the tables. */
export const walkTables = `
  create schema ext;
  create extension citext schema ext;
  create extension ltree schema ext;
  create table walk_clients (id int primary key, name text, mail ext.citext);
  insert into walk_clients values (1, 'ann', 'A'), (2, null, null), (3, 'zoe', 'b'), (4, 'ann', 'a');
  create table walked (id int primary key, ${names.map((name) => `${name} ${columns[name]?.[0]}`).join(', ')});
  create function label(walked) returns text stable language sql as $$ select nullif(upper($1.text), 'NULL') $$;`

/** Inserts rows with random values, in one statement with one parameter. */
export const insertWalked = 'insert into walked select * from json_populate_recordset(null::walked, $1)'

/** The parameter of `insertWalked`. */
export const rowsOf = (random: Random, ids: readonly number[]): string =>
  JSON.stringify(
    ids.map((id) => ({
      id,
      ...Object.fromEntries(names.map((name) => [name, valueOf(name, random)])),
    })),
  )

function valueOf(name: string, { pick }: Random): unknown {
  const [type, values] = columns[name] ?? ['text', [null, null]]
  const value = pick<string | null>(values)
  return type === 'jsonb' && value !== null ? (JSON.parse(value) as unknown) : value
}

/** Up to three terms. */
export const orderOf = ({ some, pick }: Random): string =>
  some(0, 3, () => pick(fields) + pick(['', '.asc', '.desc']) + pick(['', '', '.nullsfirst', '.nullslast'])).join(',')
