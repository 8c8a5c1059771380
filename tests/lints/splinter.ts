// Compares the lints with splinter's SQL, by hand: runs the statements of splinter's own tests, and wherever one of them
// reads a lint, all of splinter's lints and all of ours look at that state of the database.
//
//   SPLINTER_DIR=…/splinter npx tsx tests/lints/splinter.ts
//
// SPLINTER_DIR is a checkout of https://github.com/supabase/splinter. ORACLE_DATABASE_URL names a superuser's database in
// which databases and roles may be created; without it, the bundled PostgreSQL starts. Exit code 1: there are differences.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { readCheckCatalogue } from '../../server/tools/check/catalogue.ts'
import { isAtLeast } from '../../server/tools/findings.ts'
import { factsOf, splinterLints } from '../../server/tools/check/lint-facts.ts'
import { runLints } from '../../server/tools/check/lints.ts'
import { runCheck } from '../../server/tools/check/run-check.ts'
import { splitStatements } from '../../server/text/sql-statements.ts'
import { readCluster, startCluster, stopCluster, uriOf } from '../support/cluster.ts'

const folder = process.env.SPLINTER_DIR
if (folder === undefined) throw new Error('Set SPLINTER_DIR to a checkout of splinter')

const database = 'splinter_comparison'
/** Extensions that are not bundled with PostgreSQL exist in the catalog only. */
const imitated = /^create extension (pg_graphql)\b/

const statementsOf = (text: string): string[] => splitStatements(text).map((statement) => `${statement.text};`)

type Named = {
  readonly name: string
  readonly cache_key: string
  readonly level: string
  readonly title: string
  readonly category: string
  readonly url: string | null
}

const textOf = ({ name, cache_key, level, title, category, url }: Named): string =>
  JSON.stringify([name, cache_key, level, title, category, url])

async function splinters(client: pg.Client, lints: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const lint of lints) {
    const { rows } = await client.query<Named & { remediation: string }>(
      `select name, cache_key, level, title, categories[1] as category, remediation from lint."${lint}"`,
    )
    found.push(
      ...rows.map((row) => textOf({ ...row, url: row.remediation.startsWith('https:') ? row.remediation : null })),
    )
  }
  return found.sort()
}

async function ours(client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ schemas: string | null; path: string }>(
    `select current_setting('pgrst.db_schemas', true) as schemas, current_setting('search_path') as path`,
  )
  const schemas = (rows[0]?.schemas ?? '').split(',').map((name) => name.trim())
  const query = (text: string, values?: unknown[]): Promise<pg.QueryResult<Record<string, unknown>>> =>
    client.query(text, values)
  const catalogue = await readCheckCatalogue(query, { schemas, anonymousRole: null, confirmsAddresses: false })
  await client.query(`select set_config('search_path', $1, true)`, [rows[0]?.path])
  return runLints(catalogue)
    .findings.filter(({ isOfSplinter, key }) => isOfSplinter && !key.includes('_lint_'))
    .map(({ code, key, level }) => textOf({ name: code, cache_key: key, level, ...factsOf(code) }))
    .sort()
}

let compared = 0
let differences = 0
let withFindings = 0
/** The names of splinter's findings. */
const seen = new Set<string>()

async function compare(client: pg.Client, lints: readonly string[], where: string): Promise<void> {
  // Splinter's own views are in a schema of the project.
  const [expected, found] = [
    (await splinters(client, lints)).filter((it) => !it.includes('_lint_')),
    await ours(client),
  ]
  compared++
  for (const it of expected) seen.add((JSON.parse(it) as string[])[0] ?? '')
  if (expected.length > 0) withFindings++
  const missing = expected.filter((it) => !found.includes(it))
  const added = found.filter((it) => !expected.includes(it))
  const isMultiple = expected.length !== found.length
  if (missing.length + added.length === 0 && !isMultiple) return
  differences++
  console.log(
    [where, ...missing.map((it) => `  only splinter: ${it}`), ...added.map((it) => `  only ours: ${it}`)].join('\n'),
  )
}

async function runFile(client: pg.Client, lints: readonly string[], file: string): Promise<void> {
  const text = await readFile(join(folder ?? '', 'test', 'sql', file), 'utf8')
  for (const [index, statement] of statementsOf(text).entries()) {
    if (/^(?:select|with)\b[^]*\blint\."/i.test(statement)) {
      await compare(client, lints, `${file}, statement ${index + 1}`)
      continue
    }
    const [, extension] = imitated.exec(statement) ?? []
    const sql = extension
      ? `insert into pg_catalog.pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
         values (pg_catalog.pg_nextoid('pg_catalog.pg_extension', 'oid', 'pg_catalog.pg_extension_oid_index'), '${extension}', 10, 'public'::regnamespace, false, '1')`
      : statement
    await client.query(sql).catch((error: unknown) => {
      throw new Error(`${file}, statement ${index + 1}: ${String(error)}\n${statement}`, { cause: error })
    })
  }
}

/** What splinter's documentation says to do about what roles may select: it and the whole of `rowhouse check` then agree. */
const remedies: readonly (readonly [name: string, sql: string])[] = [
  ['a_table', 'create table public.a_table (id int primary key)'],
  ['a_view', 'create view public.a_view as select 1 as a'],
  ['a_matview', 'create materialized view public.a_matview as select 1 as a'],
  [
    'a_foreign',
    'create foreign data wrapper nothing; create server nowhere foreign data wrapper nothing; create foreign table public.a_foreign (id int) server nowhere',
  ],
]

async function compareRemedies(client: pg.Client, lints: readonly string[]): Promise<void> {
  const query = (text: string, values?: unknown[]): Promise<pg.QueryResult<Record<string, unknown>>> =>
    client.query(text, values)
  await client.query(`set pgrst.db_schemas = 'public'`)
  const settings = { dbSchemas: ['public'], dbExtraSearchPath: [], dbAnonRole: 'anon', services: [] }
  for (const [name, sql] of remedies) {
    await client.query(sql)
    for (const statement of [
      `grant all on public.${name} to anon, authenticated`,
      `revoke all on public.${name} from anon, authenticated`,
    ]) {
      await client.query(statement)
      await compare(client, lints, statement)
      const expected = (await splinters(client, lints)).flatMap((it) =>
        it.includes(name) ? [(JSON.parse(it) as string[])[0]] : [],
      )
      const found = (await runCheck(query, settings, { measure: false })).findings
        .filter(
          ({ code, level, key, dismissed }) =>
            key.includes(name) && dismissed === null && code in splinterLints && isAtLeast(level, 'WARN'),
        )
        .map(({ code }) => code)
      compared++
      if (JSON.stringify(expected) === JSON.stringify(found)) continue
      differences++
      console.log(`${statement}: splinter ${expected.join(', ') || 'nothing'}, check ${found.join(', ') || 'nothing'}`)
    }
  }
  await client.query('reset all')
}

async function run(admin: string): Promise<void> {
  const root = new pg.Client({ connectionString: admin })
  await root.connect()
  await root.query(`drop database if exists ${database}`)
  await root.query(`create database ${database}`)
  const { rows } = await root.query<{ version: string }>(`select current_setting('server_version') as version`)
  const uri = new URL(admin)
  uri.pathname = database
  const client = new pg.Client({ connectionString: uri.href })
  await client.connect()
  client.on('notice', () => undefined)
  const fixtures = await readFile(join(folder ?? '', 'test', 'fixtures.sql'), 'utf8')
  // Roles may exist already.
  for (const statement of statementsOf(fixtures)) {
    await client.query(statement).catch((error: unknown) => {
      if (!/^role "\w+" already exists$/.test((error as Error).message)) throw error
    })
  }
  await client.query('reset all')
  const files = (await readdir(join(folder ?? '', 'lints'))).filter((name) => name.endsWith('.sql')).sort()
  for (const file of files) await client.query(await readFile(join(folder ?? '', 'lints', file), 'utf8'))
  const lints = files.map((name) => name.replace('.sql', ''))
  for (const file of (await readdir(join(folder ?? '', 'test', 'sql'))).sort()) {
    try {
      await runFile(client, lints, file)
    } catch (error) {
      differences++
      console.log((error as Error).message)
    }
    await client.query('rollback')
    // As in a session of its own.
    await client.query('reset all')
  }
  const own = process.env.ORACLE_SQL
  if (own !== undefined) {
    await client.query('begin')
    await client.query(`set local pgrst.db_schemas = 'public, api'`)
    await client.query(await readFile(own, 'utf8'))
    await client.query(`set local search_path = ''`)
    await compare(client, lints, own)
    await client.query('rollback')
  }
  await compareRemedies(client, lints)
  await client.end()
  await root.query(`drop database ${database}`)
  await root.end()
  console.log(
    `PostgreSQL ${rows[0]?.version}: ${compared} states compared, ${withFindings} of them with findings of splinter, ${differences} with differences; ${seen.size} of ${lints.length} lints had findings`,
  )
}

const given = process.env.ORACLE_DATABASE_URL
if (given === undefined) await startCluster()
try {
  await run(given ?? uriOf((await readCluster()).port, 'postgres'))
} finally {
  if (given === undefined) await stopCluster()
}
process.exitCode = differences > 0 ? 1 : 0
