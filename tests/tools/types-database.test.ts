// The types of a schema with one of everything, held against the text that Supabase's generator prints for it.
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { readCatalogue, type Catalogue } from '../../server/tools/types/catalogue.ts'
import { databaseTypes } from '../../server/tools/types/database-types.ts'
import { readSchemas } from '../../server/validation/schema-directory.ts'
import { createDatabase, withClient } from '../support/database.ts'

const folder = new URL('../fixtures/types/', import.meta.url)
const files = await readSchemas(fileURLToPath(folder))
const database = await createDatabase()
t.teardown(() => database.drop())
await database.query(await readFile(new URL('schema.sql', folder), 'utf8'))

const catalogueOf = (schemas: readonly string[], uri = database.adminUri): Promise<Catalogue> =>
  withClient(uri, (client) =>
    readCatalogue((text, values) => client.query<Record<string, unknown>>(text, values), {
      schemas,
      extraSearchPath: ['public'],
    }),
  )

/** Lines from the one that begins with `start` to the one that closes its bracket. */
function block(text: string, ...path: readonly string[]): string {
  let lines = text.split('\n')
  for (const start of path) {
    const first = lines.findIndex((line) => line.trimStart().startsWith(start))
    if (first < 0) throw new Error(`there is no ${start}`)
    const indent = /^ */.exec(lines[first] ?? '')?.[0] ?? ''
    const length = lines.slice(first + 1).findIndex((line) => !line.startsWith(`${indent} `) && line !== '')
    lines = lines.slice(first, first + length + 2)
  }
  const margin = /^ */.exec(lines[0] ?? '')?.[0].length ?? 0
  return lines.map((line) => line.slice(margin)).join('\n')
}

t.test('one of everything', async (t) => {
  const expected = await readFile(new URL('database.types.ts', folder), 'utf8')
  const catalogue = await catalogueOf(['shop', 'public', 'shop'])
  t.equal(databaseTypes(catalogue, files), expected)
  t.equal(databaseTypes(await catalogueOf(['public', 'shop']), files), expected, 'the order of schemas does not matter')
  const turned = {
    ...catalogue,
    relations: [...catalogue.relations].reverse(),
    functions: [...catalogue.functions].reverse(),
    namedTypes: [...catalogue.namedTypes].reverse(),
    relationships: [...catalogue.relationships].reverse(),
  }
  t.equal(databaseTypes(turned, files), expected, 'nor does the order of the catalogue')
})

t.test('without JSON Schemas, columns with JSON are Json', async (t) => {
  const types = databaseTypes(await catalogueOf(['public']), [])
  t.match(block(types, 'teams: {', 'Row: {'), /settings: Json \| null\n/)
  t.match(block(types, 'people: {', 'Insert: {'), /settings: Json\n/)
})

t.test('no privileges are needed', async (t) => {
  // Roles belong to the whole cluster.
  const role = `types_reader_${database.name}`
  await database.query(`create role ${role} login password 'secret'`)
  t.teardown(() => database.query(`drop role ${role}`))
  const uri = database.uri(role, 'secret')
  t.equal(
    databaseTypes(await catalogueOf(['public', 'shop'], uri), []),
    databaseTypes(await catalogueOf(['public', 'shop']), []),
  )
})

t.test('a schema that does not exist', async (t) => {
  await t.rejects(catalogueOf(['public', 'nowhere']), { code: '3F000', message: 'schema "nowhere" does not exist' })
})

t.test('other schemas', async (t) => {
  await database.query(`
    create schema empty;
    create schema api;
    create schema private;
    create table private.authors (id integer primary key, name text);
    create table private.books (id integer primary key, author integer references private.authors);
    create view api.authors as select id as author_id, name from private.authors;
    create view api.books as select id, author as writer from private.books;
    create type private.color as enum ('red', 'blue');
    create table api.things (id integer, color private.color, colors private.color[]);
    create table api."constructor" ("__proto__" text, "1st" text, "größe" text, "with ""quotes""" text, "🐘" text);
    create type api."odd type" as enum ('"', '''', '\\', e'\\n');
  `)
  const empty = databaseTypes(await catalogueOf(['empty']), [])
  t.equal(
    block(empty, 'empty: {'),
    [
      'empty: {',
      ...['Tables', 'Views', 'Functions', 'Enums', 'CompositeTypes'].map(
        (name) => `  ${name}: {\n    [_ in never]: never\n  }`,
      ),
      '}',
    ].join('\n'),
  )
  t.match(empty, 'export const Constants = {\n  empty: {\n    Enums: {},\n  },\n} as const\n')
  const api = databaseTypes(await catalogueOf(['api']), [])
  t.equal(
    block(api, 'books: {', 'Relationships: ['),
    [
      'Relationships: [',
      '  {',
      '    foreignKeyName: "books_author_fkey"',
      '    columns: ["writer"]',
      '    isOneToOne: false',
      '    referencedRelation: "authors"',
      '    referencedColumns: ["author_id"]',
      '  },',
      ']',
    ].join('\n'),
    'views of tables in a schema that is not printed are related as in requests',
  )
  t.equal(
    block(api, 'things: {', 'Row: {'),
    'Row: {\n  color: "red" | "blue" | null\n  colors: ("red" | "blue")[] | null\n  id: number | null\n}',
  )
  t.equal(
    block(api, 'constructor: {', 'Row: {'),
    [
      'Row: {',
      '  __proto__: string | null',
      '  "🐘": string | null',
      '  "1st": string | null',
      '  größe: string | null',
      '  \'with "quotes"\': string | null',
      '}',
    ].join('\n'),
  )
  t.match(api, `"odd type": '"' | "'" | "\\\\" | "\\n"\n`)
  t.match(api, `"odd type": ['"', "'", "\\\\", "\\n"],\n`)
})

t.test('the JSON Schemas of the program narrow its own tables', async (t) => {
  const { ownSchemas } = await import('../../server/validation/validator.ts')
  const own = await createDatabase()
  t.teardown(() => own.drop())
  await own.query('create table public.classification_runs (id integer, analysis jsonb)')
  const types = databaseTypes(await catalogueOf(['public'], own.adminUri), await readSchemas(ownSchemas))
  t.match(block(types, 'classification_runs: {', 'Row: {'), 'analysis: { [key: string]: Json | undefined } | null\n')
})

t.test('types of the same name, domains, generated columns, and sets of composite types', async (t) => {
  await database.query(`
    create schema net; create type net.request_status as enum ('PENDING', 'SENT');
    create schema typed; create type typed.request_status as enum ('open', 'closed');
    create domain typed.short as text; create domain typed.shorter as typed.short; create domain typed.tags as text[];
    create domain typed.state as net.request_status;
    create type typed.pair as (a net.request_status, b typed.request_status, c typed.shorter);
    create table typed.requests (id int primary key, ours typed.request_status, theirs net.request_status, all_of net.request_status[],
      doubled int generated always as (id * 2) stored);
    create function typed.by_domain(a typed.short, b typed.shorter, c typed.tags, d typed.state, e typed.short[]) returns typed.shorter language sql return 'x';
    create function typed.pairs(typed.requests) returns setof typed.pair language sql as 'select null::typed.pair';
    create function typed.pair_of(typed.requests) returns typed.pair language sql as 'select null::typed.pair';
  `)
  const types = databaseTypes(await catalogueOf(['typed']), [])
  t.equal(
    block(types, 'requests: {', 'Row: {'),
    `Row: {
  all_of: ("PENDING" | "SENT")[] | null
  doubled: number | null
  id: number
  ours: Database["typed"]["Enums"]["request_status"] | null
  theirs: "PENDING" | "SENT" | null
  pair_of: Database["typed"]["CompositeTypes"]["pair"] | null
}`,
  )
  for (const group of ['Insert: {', 'Update: {'])
    t.match(block(types, 'requests: {', group), /\n {2}doubled\?: never\n/)
  t.equal(
    block(types, 'pair: {'),
    `pair: {
  a: "PENDING" | "SENT" | null
  b: Database["typed"]["Enums"]["request_status"] | null
  c: string | null
}`,
  )
  t.equal(
    block(types, 'by_domain: {'),
    `by_domain: {
  Args: {
    a: string
    b: string
    c: string[]
    d: "PENDING" | "SENT"
    e: string[]
  }
  Returns: string
}`,
  )
})
