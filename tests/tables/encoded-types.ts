// Types of PostgreSQL with their extreme values.

export type TypeRow = {
  /** As in SQL. */
  readonly type: string
  /** Texts of values, for the input function of the type. */
  readonly values: readonly string[]
  /** Why the server does not encode values of the type, or arrays of them; Postgres does. */
  readonly exception?: { readonly of: 'type' | 'array'; readonly because: string }
}

const controls = Array.from({ length: 31 }, (_, index) => String.fromCharCode(index + 1))

const texts: readonly string[] = [
  ...['', ' ', 'plain', 'NULL', 'null', '"', '\\', '\\"', "'", '{', '}', ',', '{a,"b"}', '/', '</script>', 'a b '],
  ...controls,
  controls.join(''),
  ...[
    '\u007f',
    '\u0080',
    '\u00a0',
    '\u2028',
    '\u2029',
    '\ufeff',
    '\uffff',
    'ünï',
    '日本',
    '😀',
    '👩‍👩‍👧',
    '\u{10ffff}',
    '\\u0000',
    '\\x41',
  ],
  'long "text" \n'.repeat(4000),
]

const floats: readonly string[] = [
  ...['0', '-0', '1', '-1', '0.1', '-0.5', '1.5', '100', '123456', '1234567', '1e15', '1e16', '1e20', '1e21', '1e-4'],
  ...['1e-5', '1e-6', '1e-7', '3.4028235e38', '1.1754944e-38', '1e-45', 'NaN', 'Infinity', '-Infinity', '0.30000001'],
]

const days: readonly string[] = [
  ...['2024-02-29', '0001-01-01', '9999-12-31', '12020-06-01', '4714-11-24 BC', '0044-03-15 BC', '0001-12-31 BC'],
  ...['1582-10-15', '1899-12-31', '1919-03-08', '1970-01-01', '2000-01-01', 'infinity', '-infinity', 'epoch'],
]

const hours: readonly string[] = ['00:00:00', '23:59:59.999999', '12:00:00.5', '03:04:05.000001', '10:20:30.12']

const moments: readonly string[] = days.flatMap((day) => {
  if (/^[a-z-]+$/.test(day)) return [day]
  const [date, era = ''] = day.split(' ')
  return hours.map((hour) => `${date} ${hour} ${era}`.trim())
})

const addresses: readonly string[] = [
  ...['127.0.0.1', '10.1.2.3/8', '0.0.0.0/0', '255.255.255.255', '::', '::1/128', 'fe80::1/64', '::ffff:1.2.3.4'],
  '2001:db8:0:0:1:0:0:1',
]

const ranges = (low: string, high: string): readonly string[] => [
  ...['empty', '(,)', `[${low},${high})`, `(${low},${high}]`, `[${low},${low}]`, `(,${high})`, `[${low},)`],
]

const multiranges = (low: string, middle: string, high: string): readonly string[] => [
  ...['{}', '{(,)}', `{[${low},${middle})}`, `{[${low},${low}],(${middle},${high}]}`, `{(,${low}),[${high},)}`],
]

const isInternal = { of: 'type', because: 'values that only the server itself creates' } as const
const isVector = { of: 'type', because: 'an array in JSON whose text is not that of an array' } as const

/** Each type of `pg_catalog`, some of them with a modifier. */
export const typeRows: readonly TypeRow[] = [
  { type: 'boolean', values: ['true', 'false'] },
  { type: 'smallint', values: ['0', '1', '-1', '32767', '-32768'] },
  { type: 'integer', values: ['0', '1', '-1', '2147483647', '-2147483648'] },
  { type: 'bigint', values: ['0', '1', '-1', '9007199254740993', '9223372036854775807', '-9223372036854775808'] },
  {
    type: 'numeric',
    values: [
      ...['0', '-0', '0.0', '1.000', '-1.50', '100', '1e5', '1e-10', '1.10e-3', '1e400', '-1e400', '1e-400', '-1e-400'],
      ...['NaN', 'Infinity', '-Infinity', '123456789012345678901234567890.123456789', '0.00000000000000000000'],
    ],
  },
  { type: 'numeric(20,5)', values: ['0', '-0.00001', '123456789012345.12345', 'NaN'] },
  { type: 'real', values: floats },
  {
    type: 'double precision',
    values: [...floats, '1.7976931348623157e308', '2.2250738585072014e-308', '5e-324', '0.1234567890123456789', '1e23'],
  },
  { type: 'money', values: ['0', '-0.01', '1234567.89', '92233720368547758.07', '-92233720368547758.08'] },
  { type: 'text', values: texts },
  { type: 'varchar', values: texts },
  { type: 'varchar(5)', values: ['', 'a', 'abcde', 'ab   ', '"\\😀'] },
  { type: 'bpchar', values: texts.filter((text) => text.length < 100) },
  { type: 'char(6)', values: ['', 'a', 'abcdef', ' b', '"\\\n', 'ü'] },
  { type: 'name', values: texts.filter((text) => text.length < 60) },
  { type: '"char"', values: ['', 'a', '"', '\\', ' ', '\n', '\u0001', '\u007f', '{', ',', '\\377', '\\200'] },
  { type: 'bytea', values: ['', '\\x', '\\x00', '\\x00ff5c22', '\\xdeadbeef', 'plain', 'a\\\\b', '\\x0a0d09277f80'] },
  { type: 'uuid', values: ['00000000-0000-0000-0000-000000000000', 'FFFFFFFF-ffff-4fff-bfff-ffffffffffff'] },
  { type: 'date', values: [...days, '5874897-12-31'] },
  { type: 'timestamp', values: [...moments, '294276-12-31 23:59:59.999999'] },
  { type: 'timestamp(3)', values: ['2024-01-01 00:00:00.123456', '2024-01-01', 'infinity'] },
  {
    type: 'timestamptz',
    values: [
      ...moments,
      ...['1900-01-01 00:00:00+00:19:32', '2024-07-01 00:00:00+05:30', '1890-01-01 00:00:00-00:43:08'],
      ...[
        '1971-12-31 12:00:00+00',
        '1972-01-07 12:00:00+00',
        '0044-03-15 12:00:00+05:53:28 BC',
        '2024-03-31 01:00:00+00',
      ],
    ],
  },
  { type: 'time', values: [...hours, '24:00:00'] },
  { type: 'timetz', values: ['00:00:00+00', '24:00:00-15:59', '12:30:00.5+05:30', '01:02:03.000001+05:53:28'] },
  {
    type: 'interval',
    values: [
      ...['0', '1 year', '-1 year -2 mons +3 days -04:05:06.789', '1 mon', '100 days', '00:00:00.000001', '-00:00:01'],
      ...['178000000 years', '-178000000 years', '1 year 2 months 3 days 4 hours 5 minutes 6.7 seconds'],
    ],
  },
  {
    type: 'json',
    values: [
      ...[
        'null',
        'true',
        '1',
        '1.0e5',
        '""',
        '"a"',
        '[]',
        '{}',
        ' { "a" : 1 , "a" : 2 }\n',
        '\n[1,\t2,\r\n 3]',
        ' "x" ',
      ],
      ...['{"\\u0041":"\\u2028\\n\\\\"}', '"\u2028"', '{"b":1,"a":{"c":[{},[]]}}', '-0', '1e400', '"\\ud83d\\ude00"'],
    ],
  },
  {
    type: 'jsonb',
    values: [
      ...['null', 'true', '1', '1.00', '1e5', '-0', '0.10', '1e-10', '""', '[]', '{}', '{"b":1,"a":{"c":[{},[]]}}'],
      ...['"\\u2028\\n\\\\\\""', '{"a":1,"a":2}', '[1, 2.50, "x", null, {"y": [true]}]', '{"":""}', '"😀"'],
    ],
  },
  { type: 'jsonpath', values: ['$', '$.a[*] ? (@.b == "x\\"y")', 'strict $.**{2}.c', '$.\u0022a b\u0022'] },
  {
    type: 'xml',
    values: ['<a/>', '<a b="c">d &amp; e</a>', 'text "only"', '<?xml version="1.0" encoding="UTF-8"?><r>ü</r>'],
  },
  { type: 'inet', values: addresses },
  { type: 'cidr', values: ['10.0.0.0/8', '127.0.0.1/32', '::/0', 'fe80::/64'] },
  { type: 'macaddr', values: ['08:00:2b:01:02:03', 'ff-ff-ff-ff-ff-ff'] },
  { type: 'macaddr8', values: ['08:00:2b:01:02:03:04:05', 'ffffffffffffffff'] },
  { type: 'bit', values: ['0', '1'] },
  { type: 'bit(9)', values: ['000000000', '101010101'] },
  { type: 'varbit', values: ['', '1', '0101010101010101010101010101010101'] },
  { type: 'tsvector', values: ['', 'a', "a:1A,2B 'b c':3 'it''s' '\\\\'", '"x"'] },
  { type: 'tsquery', values: ['', 'a', "a & !b | ('c d':*A <-> e)", "'it''s' <2> '\"'"] },
  { type: 'point', values: ['(0,0)', '(-0,1e300)', '(NaN,Infinity)', '(0.1,1e-7)'] },
  { type: 'lseg', values: ['[(0,0),(1,1.5)]'] },
  { type: 'line', values: ['{1,-1,0}', '{0.5,1e10,-3}'] },
  {
    type: 'box',
    values: ['(1,1),(0,0)', '(1e10,2),(-3,-0.5)'],
    exception: { of: 'array', because: 'its elements are separated by semicolons' },
  },
  { type: 'path', values: ['((0,0),(1,1))', '[(0,0),(1,1),(2,0)]'] },
  { type: 'polygon', values: ['((0,0),(1,1),(2,0))'] },
  { type: 'circle', values: ['<(0,0),1>', '<(1.5,-2),0>'] },
  { type: 'int4range', values: ranges('-1', '2147483646') },
  { type: 'int8range', values: ranges('-1', '9223372036854775806') },
  { type: 'numrange', values: ranges('-1.50', '2.00') },
  { type: 'daterange', values: [...ranges('2024-01-01', '12020-01-01'), '[0044-03-15 BC,infinity]'] },
  { type: 'tsrange', values: ranges('"2024-01-01 00:00:00"', '"2024-06-01 12:00:00.5"') },
  { type: 'tstzrange', values: ranges('"2024-01-01 00:00:00+00"', '"2024-06-01 12:00:00.5+02"') },
  { type: 'int4multirange', values: multiranges('1', '5', '10') },
  { type: 'int8multirange', values: multiranges('1', '5', '10') },
  { type: 'nummultirange', values: multiranges('1.0', '5.50', '10') },
  { type: 'datemultirange', values: multiranges('2024-01-01', '2024-02-01', '2024-03-01') },
  { type: 'tsmultirange', values: multiranges('"2024-01-01 00:00"', '"2024-02-01 00:00"', '"2024-03-01 00:00"') },
  { type: 'tstzmultirange', values: multiranges('"2024-01-01 00:00Z"', '"2024-02-01 00:00Z"', '"2024-03-01 00:00Z"') },
  { type: 'oid', values: ['0', '1', '4294967295'] },
  { type: 'xid', values: ['0', '4294967295'] },
  { type: 'xid8', values: ['0', '18446744073709551615'] },
  { type: 'cid', values: ['0', '4294967295'] },
  { type: 'tid', values: ['(0,0)', '(4294967295,65535)'] },
  { type: 'pg_lsn', values: ['0/0', 'FFFFFFFF/FFFFFFFF'] },
  { type: 'pg_snapshot', values: ['1:1:', '10:20:10,14,15'] },
  { type: 'txid_snapshot', values: ['1:1:', '10:20:10,14,15'] },
  { type: 'refcursor', values: ['', 'a "cursor"', 'NULL'] },
  { type: 'regclass', values: ['pg_class', '0', '4294967295'] },
  { type: 'regtype', values: ['integer', 'text[]', '"char"', '0'] },
  { type: 'regproc', values: ['now', '0'] },
  { type: 'regprocedure', values: ['abs(integer)', '0'] },
  { type: 'regoper', values: ['||/', '0'] },
  { type: 'regoperator', values: ['+(integer,integer)', '0'] },
  { type: 'regconfig', values: ['english', '0'] },
  { type: 'regdictionary', values: ['simple', '0'] },
  { type: 'regnamespace', values: ['public', '0'] },
  { type: 'regrole', values: ['postgres', '0'] },
  { type: 'regcollation', values: ['"C"', '0'] },
  { type: 'int2vector', values: ['', '1', '1 2 -3'], exception: isVector },
  { type: 'oidvector', values: ['', '1 2 3'], exception: isVector },
  { type: 'aclitem', values: ['postgres=arwdDxt/postgres', '=r/postgres'], exception: isInternal },
  { type: 'gtsvector', values: [], exception: isInternal },
  { type: 'pg_node_tree', values: [], exception: isInternal },
  { type: 'pg_ndistinct', values: [], exception: isInternal },
  { type: 'pg_dependencies', values: [], exception: isInternal },
  { type: 'pg_mcv_list', values: [], exception: isInternal },
  { type: 'pg_brin_bloom_summary', values: [], exception: isInternal },
  { type: 'pg_brin_minmax_multi_summary', values: [], exception: isInternal },
]

/** Types that the test creates, with the SQL that does. Their arrays are encoded, too, unless they are exceptions. */
export const ownTypes: readonly (TypeRow & { readonly create: string })[] = [
  {
    type: 'mood',
    create: `create type mood as enum ('fine', 'it''s "so" so', 'ünï 😀', '', 'NULL', 'a,b', '{c}', E'line\\nfeed \\\\')`,
    values: ['fine', 'it\'s "so" so', 'ünï 😀', '', 'NULL', 'a,b', '{c}', 'line\nfeed \\'],
  },
  {
    type: 'floatrange',
    create: 'create type floatrange as range (subtype = float8)',
    values: ranges('-0.5', '1e300'),
  },
  { type: 'floatmultirange', create: 'select', values: multiranges('-0.5', '2', '1e300') },
  { type: 'textrange', create: 'create type textrange as range (subtype = text)', values: ranges('"a ""b"""', 'z') },
  {
    type: 'pair',
    create: 'create type pair as (x int, "y ""z" text, w timestamptz[])',
    values: ['(1,"a ""b"" \\\\c",)', '(,,)', '(2,"",{"2024-01-01 00:00:00+00"})'],
    exception: { of: 'type', because: 'an object in JSON' },
  },
  {
    type: 'spoken',
    create: `create type spoken as enum ('yes', 'no');
      create function spoken_json(spoken) returns json immutable language sql as $$ select json_build_object('said', $1::text) $$;
      create cast (spoken as json) with function spoken_json(spoken)`,
    values: ['yes', 'no'],
    exception: { of: 'type', because: 'it has a cast to JSON' },
  },
  {
    type: 'hstore',
    create: 'create extension hstore',
    values: ['', 'a=>1', '"a \\"b"=>NULL, "ü"=>"\\\\"'],
    exception: { of: 'type', because: 'it has a cast to JSON' },
  },
  { type: 'citext', create: 'create extension citext', values: ['', 'Abc', '"\\', 'NULL', '\n'] },
  { type: 'ltree', create: 'create extension ltree', values: ['', 'a.b.c', 'Top.Sub_1'] },
  { type: 'lquery', create: 'select', values: ['*.a.*{1,2}', '!b|c'] },
  { type: 'isbn', create: 'create extension isn', values: ['978-0-11-000533-1'] },
  { type: 'ean13', create: 'select', values: ['4006381333931'] },
  { type: 'cube', create: 'create extension cube', values: ['(1,2),(3,4)', '(0)', '(1.5,-2,1e10)'] },
  { type: 'seg', create: 'create extension seg', values: ['1', '1 .. 2.50', '~3.5', '5 .. '] },
]
