import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import t, { type Test } from 'tap'
import {
  loadSchemaCache,
  SchemaCacheMemory,
  paceAfter,
  startPace,
  type SchemaCacheOptions,
} from '../../server/catalogue/load.ts'
import type { RunQuery } from '../../server/catalogue/introspection.ts'
import { noRest, type Rest } from '../../server/catalogue/steps.ts'
import type { SchemaCache } from '../../server/catalogue/schema-cache.ts'
import { createSchemaCacheDatabase } from '../support/schema-cache.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'

const database = await createSchemaCacheDatabase()
t.teardown(() => database.drop())

const options: SchemaCacheOptions = {
  schemas: ['api'],
  extraSearchPath: ['extra'],
  hoistedSettings: ['statement_timeout'],
}

/** Everything in a schema cache, in its order. Comparisons do not see what is decoded at its first use. */
function contents({ tables, ...rest }: SchemaCache): unknown {
  return {
    ...rest,
    names: undefined,
    tables: [...tables].map(([key, table]) => [key, { ...table }, [...table.columns]]),
  }
}

/** The order of a map's entries is part of it. */
const lists = (cache: SchemaCache): unknown => [[...cache.relationships], [...cache.routines], [...cache.tables.keys()]]

const isSame = (a: SchemaCache, b: SchemaCache): boolean =>
  isDeepStrictEqual(contents(a), contents(b)) && isDeepStrictEqual(lists(a), lists(b))

/** Changes of the catalog, each of which concerns another part of the schema cache. They may be made in any order. */
const changes: readonly [string, ...string[]] = [
  `create table api.added (id int primary key, book_id int references api.books, note text default 'x')`,
  'drop table if exists api.added cascade',
  'alter table api.books add column pages int not null default 5',
  'alter table api.books drop column if exists pages',
  'alter table api.books rename column title to heading',
  'alter table api.books alter column heading type varchar(40)',
  'alter table api.books alter column id set default 7',
  'alter table api.authors rename to writers',
  'alter table api.authors rename column name to full_name',
  'alter table api.writers drop constraint mentor',
  'alter table api.books rename constraint author to written_by',
  'alter table api.books drop constraint written_by',
  'alter table api.isbns drop constraint isbns_book_id_key',
  'alter table api.book_covers drop constraint book_covers_pkey',
  'alter table api.copies add unique (hall, shelf)',
  'alter table api.books set schema internal',
  'alter table internal.books set schema api',
  'create view api.added_view as select id, author_id from api.books',
  'create or replace view api.added_view as select id, author_id, editor_id from api.books',
  'drop view if exists api.added_view',
  `alter type api.genre add value if not exists 'letter'`,
  `alter type api.genre rename to kind`,
  'alter domain api.short_text drop not null',
  `alter domain api.short_text set default 'other'`,
  `comment on table api.books is 'Something else'`,
  `comment on column api.books.id is 'The number'`,
  'grant select (id) on api.tags to public',
  'revoke select (id) on api.tags from public',
  'create function api.added(a int, b text) returns int language sql stable as $$select 1$$',
  'create function api.added(a int) returns setof api.books language sql as $$select * from api.books$$',
  'alter function api.added(int, text) volatile',
  'drop function if exists api.added(int, text)',
  'create function api.related(api.books) returns setof api.tags rows 1 language sql stable as $$select * from api.tags$$',
  'drop function if exists api.related(api.books)',
  'create policy added on api.tags using (random() > 0.5)',
  'drop policy if exists added on api.tags',
  'alter sequence api.column_kinds_by_default_seq rename to renamed_seq',
  'alter view api.authors_view rename column author to writer',
]

/** Each follows the ones before it. */
const hostile = [
  `create table api."__proto__" ("constructor" int primary key, "hasOwnProperty" text default '{1,NULL,"}')`,
  'alter table api."__proto__" add column "a,b(c)""d" int references api.books',
  'create view api."constructor" as select * from api."__proto__"',
  'create function api."toString"("__proto__" int) returns setof api."__proto__" language sql as $$select null::api."__proto__"$$',
  `comment on table api."__proto__" is '😀 "quoted" \\ {1,2,NULL}, \r\n'`,
  `comment on column api."__proto__"."constructor" is ''`,
  'create table api."a.b" ("select" int unique references api."__proto__", " " text)',
  `create type api."valueOf" as enum ('', ',', '"', '\\', '{}', 'NULL', '😀')`,
  'alter table api."a.b" add column "ü\t" api."valueOf"[]',
  'alter table api."__proto__" rename to "hasOwnProperty"',
  'alter table api."a.b" rename to "__proto__"',
  'drop view api."constructor"',
  'alter table api."hasOwnProperty" rename to "constructor"',
  'drop table api."__proto__"',
  'drop type api."valueOf"',
  'drop table api."constructor" cascade',
]

async function connect(t: Test): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.adminUri })
  await client.connect()
  t.teardown(() => client.end())
  await client.query('begin')
  return client
}

const runOn =
  (client: pg.Client): RunQuery =>
  async (text, values) =>
    (await client.query<Record<string, unknown>>(text, values)).rows

/** Makes a change, unless it is not possible at the moment. */
async function change(client: pg.Client, text: string): Promise<boolean> {
  await client.query('savepoint change')
  const isDone = await client.query(text).then(
    () => true,
    () => false,
  )
  if (!isDone) await client.query('rollback to change')
  return isDone
}

t.test('a reload has the same result as a load without a memory', async (t) => {
  const client = await connect(t)
  const { pick, some } = seededRandom(testSeed(3))
  const memory = new SchemaCacheMemory()
  let last = await loadSchemaCache(runOn(client), options, startPace, memory)
  let written = JSON.stringify(contents(last))
  let done = 0
  for (let step = 0; step < 12; step++) {
    const made: string[] = []
    for (const text of some(1, 4, () => pick(changes))) if (await change(client, text)) made.push(text)
    done += made.length
    const reloaded = await loadSchemaCache(
      runOn(client),
      options,
      { slice: 1, batch: pick([5, 40, 5000, Infinity]) },
      memory,
    )
    const fresh = await loadSchemaCache(runOn(client), options, startPace)
    t.ok(isSame(reloaded, fresh), made.join('; '))
    t.equal(JSON.stringify(contents(last)), written, 'requests that still use the previous schema cache see no change')
    last = reloaded
    written = JSON.stringify(contents(last))
  }
  t.ok(done > 15, `${done} changes`)
})

t.test('the pace: size of the schema cache in use, requests -> rests', async (t) => {
  const client = await connect(t)
  const cache = await loadSchemaCache(
    runOn(client),
    options,
    paceAfter(undefined, () => false),
  )
  const sized = (size: number) =>
    ({
      tables: new Map(
        Array.from({ length: size }, (_, index) => [`"${index}"`, [...cache.tables.values()][0]] as const),
      ),
      routines: cache.routines,
    }) as unknown as SchemaCache
  const few = 1000 - cache.routines.size
  for (const [size, isQuiet, rests] of [
    [0, false, false],
    [few, false, false],
    [few + 1, false, true],
    [few + 1, true, false],
  ] as const) {
    const { slice, batch, sliceRest = noRest, batchRest = noRest } = paceAfter(sized(size), () => isQuiet)
    const name = `${size} tables, ${isQuiet ? 'no requests' : 'requests'}`
    t.strictSame([sliceRest(1) > 0, batchRest(1) > 0], [rests, rests], name)
    const taken: number[] = []
    const counted =
      (rest: Rest): Rest =>
      (elapsed) => {
        taken.push(rest(elapsed))
        return taken.at(-1) ?? 0
      }
    const pace = { slice, batch, sliceRest: counted(sliceRest), batchRest: counted(batchRest) }
    t.ok(isSame(cache, await loadSchemaCache(runOn(client), options, pace)), name)
    t.equal(
      taken.some((rest) => rest > 0),
      rests,
      name,
    )
  }
})

t.test('rests: none while there are no requests, at most 0.1 s at once and 30 s in one load', (t) => {
  const large = { tables: new Map(), routines: { size: 1001 } } as unknown as SchemaCache
  let isQuiet = false
  const { sliceRest = noRest, batchRest = noRest } = paceAfter(large, () => isQuiet)
  t.equal(sliceRest(1), 25)
  t.equal(batchRest(1), 10)
  t.equal(batchRest(60_000), 100, 'a statement that waited for a lock')
  isQuiet = true
  t.strictSame([sliceRest(1), batchRest(1)], [0, 0])
  isQuiet = false
  let total = 25 + 10 + 100
  while (total < 30_000) total += sliceRest(30)
  t.equal(total, 30_000)
  t.strictSame([sliceRest(1), batchRest(1)], [0, 0], 'the load ends, however slow the server is')
  t.equal(paceAfter(large, () => false).sliceRest?.(1), 25, 'the next load rests again')
  t.end()
})

t.test('hostile names and comments', async (t) => {
  const client = await connect(t)
  const memory = new SchemaCacheMemory()
  const run = runOn(client)
  const first = await loadSchemaCache(run, options, startPace, memory)
  for (const [index, text] of hostile.entries()) {
    await client.query(text)
    const reloaded = await loadSchemaCache(run, options, { slice: 1, batch: index % 7 || Infinity }, memory)
    t.ok(isSame(reloaded, await loadSchemaCache(run, options, startPace)), text)
    t.equal(isSame(reloaded, first), index === hostile.length - 1, 'the last change removes the last of them')
  }
})

t.test('parts that have not changed are the same objects', async (t) => {
  const client = await connect(t)
  const memory = new SchemaCacheMemory()
  const load = (): Promise<SchemaCache> => loadSchemaCache(runOn(client), options, startPace, memory)
  const [first, second] = [await load(), await load()]
  t.equal(second.tables, first.tables)
  t.equal(second.relationships, first.relationships)
  await client.query('alter table api.books add column pages int')
  const third = await load()
  t.equal(third.relationships, first.relationships)
  const differing = [...third.tables].filter(([key, table]) => table !== first.tables.get(key)).map(([key]) => key)
  t.strictSame(differing, ['api\0books'])
})

t.test('a load that fails, or has other options, leaves nothing wrong in the memory', async (t) => {
  const client = await connect(t)
  const run = runOn(client)
  const memory = new SchemaCacheMemory()
  const wide = { ...options, schemas: ['internal', 'api'], hoistedSettings: ['.*'] }
  for (const failing of [2, 5, 12, 21]) {
    await client.query('savepoint load')
    let count = 0
    const interrupted: RunQuery = (text, values) =>
      ++count === failing ? Promise.reject(new Error('connection lost')) : run(text, values)
    await t.rejects(loadSchemaCache(interrupted, options, { slice: 1, batch: 40 }, memory), {
      message: 'connection lost',
    })
    await client.query('rollback to load')
    await change(client, changes[failing % changes.length] ?? '')
    const asked = failing % 2 === 0 ? wide : options
    const reloaded = await loadSchemaCache(run, asked, startPace, memory)
    t.ok(isSame(reloaded, await loadSchemaCache(run, asked, startPace)), `after statement ${failing}`)
  }
})
