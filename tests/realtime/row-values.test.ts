// Values of all kinds of types are those of `to_jsonb`, but for bytea, which is hexadecimal as in Supabase's realtime.
import t from 'tap'
import { asRole, startRowChanges } from '../support/row-changes.ts'

const values: readonly (readonly [type: string, ...values: string[]])[] = [
  ['int2', '-32768'],
  ['int4', '0', '2147483647'],
  ['int8', '42', '-9223372036854775808'],
  ['float4', '1.1', 'NaN', '-Infinity', '1e20'],
  ['float8', '0.1', '1e-320', 'Infinity', '-0'],
  ['numeric', '1.50', 'NaN', '123456789012345678901234567890.123'],
  ['numeric(5,1)', '1.25'],
  ['bool', 'true', 'false'],
  ['text', '', 'a "quoted" \\ \n\t\r\u0001 ä 😀 </script>'],
  ['varchar(3)', 'abc'],
  ['char(5)', 'ab'],
  ['"char"', 'x'],
  ['name', 'some_name'],
  ['uuid', '00000000-0000-0000-0000-000000000001'],
  ['json', '{"b": 1, "a": [1, 2,  null], "b": 2}', '"text"'],
  ['jsonb', '{"b": 1, "a": [1.0, null]}', 'null'],
  ['date', '2024-02-29', '0044-03-15 BC', 'infinity', '12024-01-01'],
  ['time', '10:11:12.5'],
  ['timetz', '10:11:12+02:30'],
  ['timestamp', '2024-02-29 10:11:12.123456', 'infinity', '0044-03-15 01:02:03 BC'],
  ['timestamptz', '2024-02-29 10:11:12+05:30', '-infinity'],
  ['interval', '1 year 2 days 03:04:05.6', '-1 mon'],
  ['int4[]', '{1,NULL,3}', '{{1,2},{3,4}}', '{}', '[0:1]={5,6}'],
  ['text[]', '{a,"b \\"c\\"","NULL",NULL,"\\\\"}'],
  ['timestamptz[]', '{"2024-02-29 10:11:12+00"}'],
  ['jsonb[]', '{"{\\"a\\": 1}"}'],
  ['bytea[]', '{"\\\\x0102"}'],
  ['int4range', '[1,5)'],
  ['tstzrange', '["2024-01-01 00:00:00+00",)'],
  ['inet', '10.0.0.1/8'],
  ['macaddr', '08:00:2b:01:02:03'],
  ['bit(3)', '101'],
  ['varbit', '10'],
  ['point', '(1,2)'],
  ['box', '(1,1),(0,0)'],
  ['money', '12.34'],
  ['oid', '42'],
  ['regclass', 'pg_class'],
  ['tsvector', "'a':1 'b':2"],
  ['xml', '<a>b</a>'],
  ['pg_lsn', '16/B374D848'],
  ['public.mood', 'happy'],
  ['public.mood[]', '{happy,sad}'],
  ['public.positive', '5'],
  ['public.positive[]', '{5,6}'],
  ['public.labels', 'a'],
  ['public.pair', '(1,"a b")'],
  ['public.pair[]', '{"(1,\\"a b\\")"}'],
  ['public.span', '[1.5,2.5]'],
]

const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`
const most = Math.max(...values.map((row) => row.length)) - 1

const { database, listen, settled, errors } = await startRowChanges(
  t,
  `create type public.mood as enum ('sad', 'happy');
  create domain public.positive as int8 check (value > 0);
  create domain public.labels as text;
  create type public.pair as (number int, label text);
  create type public.span as range (subtype = float8);
  create table public.every (id int primary key, ${values.map(([type], index) => `c${index} ${type}`).join(', ')});
  grant select on public.every to anon;
  alter publication supabase_realtime add table public.every;`,
)

t.test('values', async (t) => {
  const listening = await listen([{ event: '*', schema: 'public', table: 'every' }], asRole('anon'))
  for (let row = 0; row < most; row++) {
    const list = values.map(([, ...given]) => (given[row] === undefined ? 'null' : quoted(given[row] ?? '')))
    await database.query(`insert into every values (${row}, ${list.join()})`)
  }
  await settled()
  const { rows } = await database.query('select to_jsonb(every) as json from every order by id')
  t.equal(rows.length, most)
  for (const [index, { json }] of rows.entries()) {
    const record = listening.data()[index]?.record ?? {}
    for (const [name, value] of Object.entries(json as Record<string, unknown>)) {
      t.strictSame(record[name], value, values[Number(name.slice(1))]?.[0] ?? 'id')
    }
  }
  const { rows: types } = await database.query(
    `select a.attname as name, t.typname as type from pg_attribute a join pg_type t on t.oid = a.atttypid
    where attrelid = 'every'::regclass and attnum > 0 order by attnum`,
  )
  t.strictSame(listening.data()[0]?.columns, types)
})

t.equal(errors.length, 0, String(errors[0]))
