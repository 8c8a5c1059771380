// The request tables of `tests/tables` on databases that Citus distributes, beside one server.
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { startApplication, type Application } from '../support/application.ts'
import { readFixture } from '../support/fixture.ts'
import { compare, requestOf, titleOf, type Exchange } from '../support/request-table.ts'
import { send } from '../support/sent-request.ts'
import type { CitusCluster } from './citus-cluster.ts'
import { citusFixtures, type CitusFixture } from './citus-fixtures.ts'
import type { DebianServer } from './debian-server.ts'
import { groupsOf, run, suites, type Suite, type TableGroup } from './replayed-tables.ts'

/** What clients see of an answer. */
type Visible = ReturnType<typeof compare>['found']

/** A row whose answers differ. */
export type FoundDifference = {
  readonly table: string
  readonly row: string
  readonly onOneServer: Visible
  readonly onCitus: Visible
}

export type CitusReplay = { readonly rows: number; readonly differences: readonly FoundDifference[] }

type Database = { readonly port: number; readonly admin: pg.Client }

async function connect(port: number, database: string): Promise<Database> {
  const admin = new pg.Client({ connectionString: `postgresql://postgres@127.0.0.1:${port}/${database}` })
  // Statements are rejected, too, when the connection is lost.
  admin.on('error', () => undefined)
  await admin.connect()
  return { port, admin }
}

const databaseOf = ({ name }: Suite): string => name.replaceAll(' ', '_')

/** Creates a database on all nodes, which are nodes of that database only. */
async function createOnNodes({ coordinator, workers }: CitusCluster, database: string): Promise<void> {
  for (const { port, query } of [coordinator, ...workers]) {
    await query(`create database ${database}`)
    const { admin } = await connect(port, database)
    await admin.query('create extension citus')
    await admin.end()
  }
  const { admin } = await connect(coordinator.port, database)
  await admin.query(`select citus_set_coordinator_host('127.0.0.1', ${coordinator.port})`)
  for (const { port } of workers) await admin.query(`select citus_add_node('127.0.0.1', ${port})`)
  await admin.end()
}

/** Roles are of the whole server, and two suites have the same fixture. */
const withoutRoles = (fixture: string): string =>
  fixture.replace(/^(?:create role|grant \w+(?:, \w+)* to|alter role) .*;$/gm, '')

async function load(port: number, suite: Suite, fixture: CitusFixture, hasRoles: boolean): Promise<void> {
  const database = databaseOf(suite)
  const text = await readFixture(suite.fixture)
  if (hasRoles) await run(port, database, withoutRoles(text))
  else {
    // Citus creates the roles on the workers, too, in a transaction of its own.
    for (const statement of fixture.roles ?? []) {
      await run(port, database, statement).catch((error: unknown) => {
        if ((error as pg.DatabaseError).code !== '42710') throw error
      })
    }
    await run(port, database, text)
    for (const role of fixture.logins) await run(port, database, `alter role ${role} login`)
  }
  for (const more of [fixture.keys, suite.more]) if (more !== undefined) await run(port, database, more)
}

const foreignKeys = `
  select format('alter table %s drop constraint %I', conrelid::regclass, conname) as drop,
    format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) as add
  from pg_constraint where contype = 'f' and conparentid = 0 order by oid`

/** Distributes the tables, without their foreign keys, which are added again afterwards. */
async function distribute(port: number, database: string, fixture: CitusFixture): Promise<void> {
  const { distribution, afterwards } = fixture
  const { admin } = await connect(port, database)
  const { rows } = await admin.query<{ drop: string; add: string }>(foreignKeys)
  for (const { drop } of rows) await admin.query(drop)
  for (const statement of distribution) await admin.query(statement)
  for (const { add } of rows) await admin.query(add)
  await admin.query(afterwards ?? '')
  // Later sessions pass on settings. The fixture itself cannot be loaded with it.
  await admin.query(`alter database ${database} set citus.propagate_set_commands = 'local'`)
  await admin.end()
}

/** A statement that sets all sequences to what they are now: requests that Citus refuses do not advance them. */
async function sequencesOf({ admin }: Database): Promise<string> {
  const { rows } = await admin.query<{ text: string }>(`
    select format('select setval(%L, %s, %L)', format('%I.%I', schemaname, sequencename),
      coalesce(last_value, start_value), last_value is not null) as text
    from pg_sequences where schemaname not like 'pg\\_%'`)
  return rows.map(({ text }) => text).join(';')
}

/** Shards have their number at the end of their names and of those of their constraints. */
const withoutShards = (value: unknown): unknown =>
  typeof value === 'string'
    ? value.replace(/_10[0-9]{4}\b/g, '')
    : Array.isArray(value)
      ? value.map(withoutShards)
      : typeof value === 'object' && value !== null && !Buffer.isBuffer(value)
        ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withoutShards(one)]))
        : value

const parsed = (body: unknown): unknown => {
  if (typeof body !== 'string' || !/^[[{]/.test(body)) return body
  try {
    return JSON.parse(body) as unknown
  } catch {
    return body
  }
}

/** The body of an answer, without numbers of shards. JSON is parsed. */
export const bodyOf = ({ body }: Visible): unknown => withoutShards(parsed(body))

/** Rows that no order is requested for come in any order. */
const sorted = (value: unknown): unknown =>
  Array.isArray(value)
    ? value.map(sorted).sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    : typeof value === 'object' && value !== null && !Buffer.isBuffer(value)
      ? Object.fromEntries(Object.entries(value).map(([name, one]) => [name, sorted(one)]))
      : value

function isSame(row: Exchange, one: Visible, other: Visible): boolean {
  const [body, otherBody] = [bodyOf(one), bodyOf(other)]
  const rest = isDeepStrictEqual({ ...one, body: null }, { ...other, body: null })
  if (isDeepStrictEqual(one.body, other.body) && rest) return true
  if (!rest) return false
  const isOrdered = row.send[1].includes('order=')
  return isDeepStrictEqual(body, otherBody) || (!isOrdered && isDeepStrictEqual(sorted(body), sorted(otherBody)))
}

async function replayGroup(
  suite: Suite,
  { settings, tables }: TableGroup,
  servers: readonly [plain: Database, citus: Database],
  reset: string,
): Promise<CitusReplay> {
  const closings: (() => unknown)[] = []
  const closing = { teardown: (close: () => unknown) => void closings.unshift(close) }
  const start = ({ port }: Database): Promise<Application> =>
    startApplication(closing, `postgresql://${suite.login}@127.0.0.1:${port}/${databaseOf(suite)}`, {
      ...citusFixtures[suite.fixture]?.settings,
      ...settings,
      DB_TX_BLOCK: 'true',
    })
  const differences: FoundDifference[] = []
  let rows = 0
  try {
    const [plain, citus] = [await start(servers[0]), await start(servers[1])]
    for (const table of tables) {
      for (const row of table.rows) {
        rows++
        for (const { admin } of servers) await admin.query(reset)
        const request = await requestOf(row)
        const ask = async ({ url }: Application): Promise<Visible> =>
          compare(row, await send(`${url}/rest/v1`, request)).found
        const [onOneServer, onCitus] = [await ask(plain), await ask(citus)]
        if (isSame(row, onOneServer, onCitus)) continue
        differences.push({ table: `${suite.name}: ${table.title}`, row: titleOf(row), onOneServer, onCitus })
      }
    }
  } finally {
    for (const close of closings) await close()
  }
  return { rows, differences }
}

/** Sends the requests of each suite to one server and to Citus, and returns those that are answered differently. */
export async function* replayOnCitus(plain: DebianServer, cluster: CitusCluster): AsyncGenerator<CitusReplay> {
  const loaded = new Set<string>()
  for (const suite of suites) {
    const fixture = citusFixtures[suite.fixture]
    if (!fixture) throw new Error(`tests/cluster/citus-fixtures.ts does not say how ${suite.fixture} is distributed`)
    const database = databaseOf(suite)
    await plain.query(`create database ${database}`)
    await createOnNodes(cluster, database)
    const ports = [plain.port, cluster.coordinator.port] as const
    for (const port of ports) await load(port, suite, fixture, loaded.has(suite.fixture))
    loaded.add(suite.fixture)
    await distribute(ports[1], database, fixture)
    const servers = [await connect(ports[0], database), await connect(ports[1], database)] as const
    const reset = await sequencesOf(servers[0])
    const differences: FoundDifference[] = []
    let rows = 0
    for (const group of groupsOf(suite)) {
      const replay = await replayGroup(suite, group, servers, reset)
      rows += replay.rows
      differences.push(...replay.differences)
    }
    for (const { admin } of servers) await admin.end()
    yield { rows, differences }
  }
}
