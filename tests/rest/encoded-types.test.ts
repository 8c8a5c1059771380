// The server writes values of every type as `to_json` does: whole responses are compared with those of a service that has
// Postgres write the JSON. The test runs on the embedded PostgreSQL; for another one, whose port `.tap/cluster.json` has, run
// it with `tap --before= --after=`.
import pg from 'pg'
import t, { type Test } from 'tap'
import { columnType } from '../../server/rest/encode/column-type.ts'
import { createDatabase, withClient, type TestDatabase } from '../support/database.ts'
import {
  countEncodedResults,
  startRowsComparison,
  untilCached,
  type RowsComparison,
} from '../support/rows-comparison.ts'
import type { SentRequest } from '../support/sent-request.ts'
import { bearer } from '../support/token.ts'
import { ownTypes, typeRows, type TypeRow } from '../tables/encoded-types.ts'

const database = await createDatabase()
t.teardown(() => database.drop())

/** A table of values of a type, or of arrays of them. */
type Values = { readonly table: string; readonly title: string }

const notSupported = '0A000'

async function createTables(database: TestDatabase, { type, values }: TypeRow, number: number): Promise<Values[]> {
  const literals = values.map((value) => `${pg.escapeLiteral(value)}::${type}`)
  const { rows } = await database.query(
    `select typarray <> 0 and typsubscript <> 'array_subscript_handler'::regproc as "hasArray"
    from pg_type where oid = $1::regtype`,
    [type],
  )
  const table = `v${number}`
  await database.query(`
    create domain d${number} as ${type};
    create table ${table} (n int, value ${type}, domained d${number});
    insert into ${table} values ${['null', ...literals].map((value, n) => `(${n}, ${value}, ${value})`).join(', ')}`)
  const found: Values[] = [{ table, title: type }]
  if (rows[0]?.hasArray !== true) return found
  const [one = 'null', other = one] = literals
  const array = (...items: readonly string[]): string => `array[${items.join(', ')}]::${type}[]`
  const arrays = [
    'null',
    `'{}'::${type}[]`,
    array('null'),
    array(...literals, 'null'),
    array(array(one, 'null'), array(other, one)),
    `('[-2:-1][0:0]=' || ${array(array(one), array(other))}::text)::${type}[]`,
  ]
  await database.query(`
    create domain ds${number} as ${type}[];
    create table ${table}_list (n int, list ${type}[], domained ds${number});
    insert into ${table}_list values ${arrays.map((value, n) => `(${n}, ${value}, ${value})`).join(', ')}`)
  return [...found, { table: `${table}_list`, title: `${type}[]` }]
}

const tables: Values[] = []
for (const row of ownTypes) await database.query(row.create)
for (const [number, row] of [...typeRows, ...ownTypes].entries()) {
  const made = await createTables(database, row, number).catch((error: unknown) => {
    // The server was built without XML.
    if ((error as { code?: string }).code !== notSupported)
      throw new Error(`${row.type}: ${String(error)}`, { cause: error })
    return database
      .query(`drop domain if exists d${number} cascade`)
      .then(() => createTables(database, { ...row, values: [] }, number))
  })
  tables.push(...made)
}

/** Roles with settings that affect the texts of values. Only ISO dates can be encoded. */
const profiles: readonly (readonly [settings: string, isIso: boolean])[] = [
  ['extra_float_digits to -5', true],
  ['extra_float_digits to 3', true],
  ["timezone to 'Asia/Kolkata'", true],
  ["timezone to 'Africa/Monrovia'", true],
  ["timezone to '+05:53'", true],
  ["timezone to 'America/St_Johns'", true],
  ['bytea_output to escape', true],
  ['xmloption to document', true],
  ['intervalstyle to sql_standard', true],
  ['intervalstyle to postgres_verbose', true],
  ['intervalstyle to iso_8601', true],
  ["datestyle to 'ISO, DMY'", true],
  ["datestyle to 'SQL, DMY'", false],
  ["datestyle to 'German'", false],
  ["datestyle to 'Postgres, MDY'", false],
]
const roles = ['plain', ...profiles.keys()].map((name) => `${database.name}_${name}`)
for (const role of roles)
  await database.query(`create role ${role}; grant select on all tables in schema public to ${role}`)
for (const [index, [settings]] of profiles.entries())
  await database.query(`alter role ${roles[index + 1] ?? ''} set ${settings}`)
t.teardown(() => database.query(roles.map((role) => `drop owned by ${role}; drop role ${role}`).join('; ')))

/** Names of columns that have to be quoted, or that begin or end where others do. */
const names = [
  ...[
    '"',
    '\\',
    'a "b" \\c',
    "'",
    '{',
    '}',
    ':',
    ',',
    '',
    '\n',
    '\t\u0001',
    '\u007f',
    '\u2028',
    'ünï',
    '😀',
    'pgrst_row',
  ],
  ...['pgrst_total', 'total', 'x'.repeat(63), 'ü'.repeat(31)],
].filter((name) => name !== '')
await database.query(`
  create table named (${names.map((name) => `${pg.escapeIdentifier(name)} text`).join(', ')});
  insert into named default values;
  insert into named values (${names.map((name) => pg.escapeLiteral(name)).join(', ')});
  create table nothing ();
  insert into nothing default values; insert into nothing default values;
  create table wide (${Array.from({ length: 1600 }, (_, number) => `c${number} ${number % 3 === 0 ? 'int' : 'text'}`).join(', ')});
  insert into wide (c0, c1, c1599) values (1, 'one', -1); insert into wide default values;
  grant select on named, nothing, wide to ${roles.join(', ')}`)

const counts = countEncodedResults()
const { difference, ask } = await startRowsComparison(t, database.adminUri, {
  PGRST_DB_ANON_ROLE: roles[0] ?? '',
  PGRST_DB_POOL: '1',
})

const get = (path: string, headers: SentRequest['headers'] = {}): SentRequest => ({ method: 'GET', path, headers })

async function warm(request: SentRequest): Promise<void> {
  for (let time = 0; time < untilCached; time++) await ask(request)
}

/** Compares the responses to a request, and whether its rows were encoded: columns of types that the server does not know are JSON already. */
async function check(t: Test, request: SentRequest, title: string, isEncoded: boolean | undefined): Promise<void> {
  const before = counts.results
  const found = await difference(request)
  if (found !== undefined) t.fail(`${title}: ${found}`)
  if (isEncoded !== undefined && isEncoded !== counts.results > before)
    t.fail(`${title}: ${isEncoded ? 'not ' : ''}encoded`)
}

t.test('every type of the catalogue is known, or an exception of the table', async (t) => {
  const { rows } = await database.query(`
    select oid::int as type, typname as name, typarray::int as array, typdelim as delimiter,
      typsubscript = 'array_subscript_handler'::regproc as "isArray"
    from pg_type where oid < 16384 and typtype in ('b', 'r', 'm') order by oid`)
  const own = { types: new Set<number>(), arrays: new Set<number>() }
  const known = await Promise.all(
    typeRows.map(async ({ type, exception }) => {
      const { rows } = await database.query('select oid::int as oid from pg_type where oid = $1::regtype', [type])
      return [Number(rows[0]?.oid), exception] as const
    }),
  )
  const exceptions = new Map(known)
  for (const { type, name, array, delimiter, isArray } of rows) {
    if (isArray === true && String(name).startsWith('_')) continue
    t.ok(exceptions.has(Number(type)), `${String(name)} is in the table`)
    const exception = exceptions.get(Number(type))
    const found = columnType(Number(type), own)
    t.equal(found === undefined, exception?.of === 'type', String(name))
    if (Number(array) === 0 || found === undefined) continue
    const expected = exception || delimiter !== ',' ? undefined : { form: found.form, isArray: true }
    t.strictSame(columnType(Number(array), own), expected, `${String(name)}[]`)
  }
})

t.test('values, domains and arrays of every type', async (t) => {
  for (const { table, title } of tables) {
    const request = get(`/${table}?order=n`)
    await warm(request)
    await check(t, request, title, true)
    await check(t, request, title, true)
  }
  t.pass(`${tables.length} tables`)
})

t.test('one object, and a counted page', async (t) => {
  for (const { table, title } of tables) {
    const object = get(`/${table}?n=eq.1`, { Accept: 'application/vnd.pgrst.object+json' })
    const page = get(`/${table}?order=n&offset=1&limit=2`, { Prefer: 'count=exact' })
    for (const request of [object, page]) {
      await warm(request)
      await check(t, request, title, true)
    }
  }
})

const exported = ['text/csv', 'application/x-ndjson'] as const

/** Types whose texts depend on a setting of `profiles`. With `EXPORTS=all` all types are exported under each setting, otherwise these. */
const ofSettings =
  process.env.EXPORTS === 'all'
    ? /^/
    : /^(?:real|double|point|lseg|line|box|path|polygon|circle|float|cube|seg|date|time|ts(?:tz)?(?:range|multi)|interval|bytea|xml|pair)/

t.test('CSV and NDJSON', async (t) => {
  for (const { table, title } of tables)
    for (const Accept of exported)
      await check(t, get(`/${table}?order=n`, { Accept }), `${title} as ${Accept}`, undefined)
})

t.test('the time zone of a request', async (t) => {
  for (const zone of ['Asia/Kolkata', 'Africa/Monrovia', 'America/St_Johns', 'Pacific/Kiritimati', 'nowhere']) {
    for (const { table, title } of tables.filter(({ title }) => /^(?:date|time)/.test(title))) {
      const request = get(`/${table}?order=n`, { Prefer: `timezone=${zone}` })
      await warm(request)
      await check(t, request, `${title} in ${zone}`, zone === 'nowhere' ? undefined : true)
    }
  }
})

t.test('names of columns', async (t) => {
  const forms: readonly SentRequest['headers'][] = [
    {},
    { Prefer: 'count=exact', Range: '0-9' },
    { Accept: 'application/vnd.pgrst.object+json', Range: '0-0' },
  ]
  const paths = [
    ...[
      '/named',
      '/nothing',
      '/wide',
      '/wide?select=c0,c1599',
      '/wide?select=*,c0,c1',
      '/named?select=',
      '/nothing?select=',
    ],
    ...['/v0?select=a:n,a:value&order=n', '/v0?select=n,n,"n":value&order=n', '/v0?select="":n,ünï:value&order=n'],
    `/v0?select=${'y'.repeat(70)}:n,value&order=n`,
    // 1,664 columns: as many as a statement can have.
    `/wide?select=*,${Array.from({ length: 64 }, (_, number) => `a${number}:c0`).join(',')}`,
  ]
  for (const path of paths) {
    for (const headers of forms) {
      const request = get(path, headers)
      await warm(request)
      await check(t, request, path, undefined)
    }
    for (const Accept of exported) await check(t, get(path, { Accept }), `${path} as ${Accept}`, undefined)
  }
})

for (const [index, [settings, isIso]] of profiles.entries()) {
  t.test(`a role with ${settings}`, async (t) => {
    const headers = { Authorization: await bearer(roles[index + 1] ?? '') }
    for (const { table, title } of tables) {
      await check(t, get(`/${table}?order=n`, headers), title, isIso ? true : undefined)
      for (const Accept of ofSettings.test(title) ? exported : [])
        await check(t, get(`/${table}?order=n`, { ...headers, Accept }), `${title} as ${Accept}`, undefined)
    }
  })
}

t.test('a type whose values could not be encoded once', async (t) => {
  for (const { table, title } of tables) await check(t, get(`/${table}?order=n`), title, undefined)
})

t.test('another format of dates in the database', async (t) => {
  await database.query(`alter database ${database.name} set datestyle to 'SQL, DMY'`)
  const other: RowsComparison = await startRowsComparison(t, database.adminUri, { PGRST_DB_ANON_ROLE: roles[0] ?? '' })
  for (const { table, title } of tables.filter(({ title }) => /^(?:date|time)/.test(title))) {
    for (let time = 0; time < untilCached + 2; time++) {
      const found = await other.difference(get(`/${table}?order=n`))
      if (found !== undefined) t.fail(`${title}: ${found}`)
    }
  }
  await database.query(`alter database ${database.name} reset datestyle`)
})

t.test('databases of other encodings', async (t) => {
  for (const encoding of ['LATIN1', 'EUC_JP', 'SQL_ASCII']) {
    const name = `${database.name}_${encoding.toLowerCase()}`
    await database.query(`create database ${name} encoding '${encoding}' locale 'C' template template0`)
    const uri = database.adminUri.replace(database.name, name)
    await withClient(uri, (client) =>
      client.query(`
        create table texts (n int, "ü" text, list text[], doc json);
        insert into texts values (1, 'ü', '{"ü","\\\\"}', '{"ü": "ü"}'), (2, null, null, null), (3, '', '{}', '[]');
        grant select on texts to ${roles[0] ?? ''}`),
    )
    const other = await startRowsComparison(t, uri, { PGRST_DB_ANON_ROLE: roles[0] ?? '' })
    const before = counts.results
    for (const path of ['/texts?order=n', '/texts?select=ü&order=n', '/texts?ü=eq.ü']) {
      for (let time = 0; time < untilCached + 2; time++) {
        const found = await other.difference(get(path))
        if (found !== undefined) t.fail(`${encoding}: ${found}`)
      }
      const [{ status, body }] = await other.ask(get(path))
      t.equal(status, 200, `${encoding} ${path} ${body}`)
    }
    t.ok(counts.results > before + 3, encoding)
    t.teardown(() => database.query(`drop database ${name} with (force)`))
  }
})
