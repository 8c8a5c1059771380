// Moves a tenant-based schema to Citus as the README says, and compares the API on it with the API on one server.
// Run it with `npm run test:citus`. Citus is built from its source, see the README; without it, nothing is tested.
//
// With `-- --without-tables`, the request tables are left out, which take some minutes. `SECONDS` is the duration of each measurement (default 3).
import { isDeepStrictEqual } from 'node:util'
import { startApplication, type Application } from '../support/application.ts'
import { readmeSection } from '../support/readme-section.ts'
import { bearer } from '../support/token.ts'
import { startChecks } from './checks.ts'
import { isCitusInstalled, startCitusCluster, type CitusCluster } from './citus-cluster.ts'
import { listedDifferences, type ListedDifference, type ListedRow } from './citus-differences.ts'
import { bodyOf, replayOnCitus, type FoundDifference } from './citus-replay.ts'
import { requests, tenantRows, tenants, tenantSchema, type TenantRequest } from './citus-schema.ts'
import { startDebianServer, type DebianServer } from './debian-server.ts'
import { clientOf, rateOf } from './load.ts'

if (!isCitusInstalled()) {
  console.log('skipped: Citus is not installed for this version of PostgreSQL; the README says how to build it')
  process.exit(0)
}

const seconds = Number(process.env.SECONDS ?? 3)
const closings: (() => unknown)[] = []
const closing = { teardown: (close: () => unknown) => closings.unshift(close) }
const { check, end } = startChecks()

const start = (server: DebianServer, changes: Record<string, string> = {}): Promise<Application> =>
  startApplication(closing, `postgresql://authenticator@127.0.0.1:${server.port}/postgres`, {
    REST_BASE_PATH: '/',
    PGRST_DB_SCHEMAS: 'api',
    PGRST_DB_ANON_ROLE: 'anon',
    PGRST_DB_PRE_REQUEST: 'api_private.pass_claims',
    PGRST_DB_AGGREGATES_ENABLED: 'true',
    PGRST_DB_PLAN_ENABLED: 'true',
    PGRST_DB_TX_END: 'commit-allow-override',
    DB_TX_BLOCK: 'true',
    PGRST_LOG_LEVEL: 'crit',
    SERVICES: 'rest',
    ...changes,
  })

type Answer = { readonly status: number; readonly headers: Headers; readonly text: string }

const [one, two] = tenants
const authorizationOf = async (claims: Record<string, unknown>): Promise<Record<string, string>> => ({
  Authorization: await bearer('member', claims),
})
const [ofOne, ofTwo] = [await authorizationOf({ tenant_id: one }), await authorizationOf({ tenant_id: two })]

/** Sends a request, by default as a user of the first tenant. */
async function ask({ url }: Application, request: TenantRequest, caller = ofOne): Promise<Answer> {
  const { method, path, headers, body } = request
  const response = await fetch(url + path, {
    method,
    headers: { ...(body === undefined ? {} : { 'Content-Type': 'application/json' }), ...caller, ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

const get = (app: Application, path: string, caller = ofOne, headers = {}): Promise<Answer> =>
  ask(app, { name: path, method: 'GET', path, headers }, caller)

/** Constraints and tables of shards have the number of the shard at the end of their names. */
const withoutShards = (text: string): string => text.replace(/_\d{6,}(?=\\")/g, '')

/** What clients see of an answer. The numbers of ranges and links count, too. */
const visible = ({ status, headers, text }: Answer): string =>
  [status, headers.get('content-range') ?? '', headers.get('location') ?? '', withoutShards(text)].join('\n')

const errorOf = (text: string): { readonly code?: string; readonly message?: string } =>
  text.startsWith('{') ? (JSON.parse(text) as { code?: string; message?: string }) : {}

async function compareAnswers(plain: Application, citus: Application): Promise<void> {
  let same = 0
  for (const request of requests) {
    const [expected, actual] = [await ask(plain, request), await ask(citus, request)]
    const { onCitus, name } = request
    if (!onCitus) {
      if (visible(expected) === visible(actual)) same++
      else check(false, `${name}: on one server ${visible(expected)}\n  on Citus ${visible(actual)}`)
      continue
    }
    const { code, message } = errorOf(actual.text)
    const isAsListed =
      actual.status === onCitus.status &&
      (onCitus.code === undefined
        ? withoutShards(actual.text) === expected.text
        : code === onCitus.code && message === onCitus.message)
    const what = onCitus.code === undefined ? `${actual.status}` : `${actual.status} ${code} ${message}`
    check(isAsListed, `${name}: ${expected.status} on one server, on Citus ${isAsListed ? what : visible(actual)}`)
  }
  check(same > 50, `${same} of ${requests.length} requests have the same answers`)
}

/** Claims that would do harm if they were not quoted on their way to the workers, or if they were missing. */
const hostileClaims: readonly Record<string, unknown>[] = [
  {},
  { tenant_id: null },
  { tenant_id: '' },
  { tenant_id: `${two}'; reset role; set local request.jwt.claims = '{"tenant_id":"${one}"}` },
  { tenant_id: `${two}\\'; reset role; --` },
  { sub: `'; set local request.jwt.claims = '{"tenant_id":"${one}"}'; --`, tenant_id: two },
  { [`'; drop table api.projects; --`]: `\\`, tenant_id: two },
  { tenant_id: two, sub: '\u2028 $$ $1 %L %s " é 😀' },
]

async function attack(citus: Application): Promise<void> {
  for (const claims of hostileClaims) {
    const answer = await get(citus, '/projects?select=tenant_id', await authorizationOf(claims))
    const seen = new Set(
      answer.status === 200 ? (JSON.parse(answer.text) as { tenant_id: string }[]).map((row) => row.tenant_id) : [],
    )
    const isOwn = claims.tenant_id === two ? seen.size === 1 && seen.has(two) : seen.size === 0
    check(
      isOwn && answer.status < 500,
      `claims ${JSON.stringify(claims)}: ${answer.status}, tenants seen: ${[...seen].join() || 'none'}`,
    )
  }
  let wrong = 0
  const paths = [
    '/projects?select=tenant_id',
    '/tasks?select=tenant_id',
    `/projects?tenant_id=in.(${one},${two})&select=tenant_id`,
  ]
  const read = async (index: number): Promise<void> => {
    const [mine, caller] = index % 2 === 0 ? [one, ofOne] : [two, ofTwo]
    const { status, text } = await get(citus, paths[index % paths.length] ?? '', caller)
    const rows = status === 200 ? (JSON.parse(text) as { tenant_id: string }[]) : []
    if (rows.length === 0 || rows.some(({ tenant_id }) => tenant_id !== mine)) wrong++
  }
  // Few enough at a time that none waits too long for a connection, on a slow machine either.
  let next = 0
  const reader = async (): Promise<void> => {
    while (next < 200) await read(next++)
  }
  await Promise.all(Array.from({ length: 16 }, reader))
  check(wrong === 0, `${wrong} of 200 reads of two tenants at the same time had rows of the other one, or none`)
  const before = await get(citus, '/tasks?select=id,title&order=id', ofTwo)
  for (const { method, path, body, name } of requests) {
    if (name.includes('another tenant')) await ask(citus, { method, path, body, name }, ofOne)
  }
  check(
    (await get(citus, '/tasks?select=id,title&order=id', ofTwo)).text === before.text,
    'the other tenant has its rows',
  )
}

/** Without one of the conditions that the README names, policies see no claims. */
async function failClosed(coordinator: DebianServer): Promise<void> {
  const without: readonly Record<string, string>[] = [{ DB_TX_BLOCK: 'false' }, { PGRST_DB_PRE_REQUEST: '' }]
  for (const changes of without) {
    const citus = await start(coordinator, changes)
    const read = await get(citus, '/projects')
    const written = await ask(citus, {
      name: '',
      method: 'POST',
      path: '/projects',
      body: { tenant_id: one, name: 'x' },
    })
    check(
      read.text === '[]' && written.status === 403,
      `${JSON.stringify(changes)}: reads get ${read.text}, writes ${written.status}`,
    )
  }
}

async function explain(citus: Application): Promise<void> {
  const plan = { Accept: 'application/vnd.pgrst.plan+text' }
  const tasksOf = async (path: string): Promise<string> =>
    /Task Count: (\d+)/.exec((await get(citus, path, ofOne, plan)).text)?.[1] ?? 'none'
  const own = `tenant_id=eq.${one}`
  const routed = [
    `/projects?${own}&id=eq.1`,
    `/tasks?${own}&select=is_done,count()`,
    `/tasks?${own}&select=title,projects(name)`,
    `/tasks?${own}&select=title,projects!inner(name)`,
    `/projects?${own}&select=name,tasks(title)`,
    `/projects?${own}&select=name,tasks!inner(title)&tasks.is_done=is.true`,
    `/projects?${own}&select=name,tasks(count)`,
    `/projects?${own}&select=name,countries(name),tasks(title,tenants(name))&tasks.order=id`,
    `/tenants?id=eq.${one}&select=name,projects(name,tasks(title))&projects.order=id&projects.tasks.order=id`,
    `/tenants?id=eq.${one}&select=name,...projects(names:name)`,
  ]
  for (const path of routed) check((await tasksOf(path)) === '1', `Task Count: 1 for ${path}`)
  const all = await tasksOf('/projects?select=name')
  check(all === '32', `Task Count: ${all} for /projects?select=name, which names no tenant`)
}

const keyOf = (table: string, row: string): string => `${table}: ${row}`

function isAsListed({ onCitus }: FoundDifference, { status, error }: ListedDifference, { body }: ListedRow): boolean {
  const found = bodyOf(onCitus)
  if (onCitus.status !== status) return false
  if (error) return isDeepStrictEqual(found, { details: null, hint: null, ...error })
  return body === undefined || isDeepStrictEqual(found, body)
}

/** The request tables: each row that is answered differently must be listed, and each listed row must be. */
async function compareTables(plainServer: DebianServer, cluster: CitusCluster): Promise<void> {
  const listed = new Map(
    listedDifferences.flatMap((difference) =>
      difference.rows.map((row) => [keyOf(row.table, row.row), { difference, row }] as const),
    ),
  )
  let [rows, same] = [0, 0]
  for await (const replay of replayOnCitus(plainServer, cluster)) {
    rows += replay.rows
    same += replay.rows - replay.differences.length
    for (const found of replay.differences) {
      const key = keyOf(found.table, found.row)
      const expected = listed.get(key)
      listed.delete(key)
      const { onOneServer, onCitus } = found
      if (expected && isAsListed(found, expected.difference, expected.row)) continue
      check(false, `${key}: on one server ${JSON.stringify(onOneServer)}\n  on Citus ${JSON.stringify(onCitus)}`)
    }
  }
  for (const key of listed.keys()) check(false, `${key} is listed, but is the same on Citus`)
  check(same > 1100, `${same} of ${rows} rows of the request tables have the same answers, the others are as listed`)
  const reasons = new Set(listedDifferences.map(({ reason }) => reason))
  for (const reason of reasons) {
    const number = listedDifferences
      .filter((one) => one.reason === reason)
      .reduce((sum, { rows }) => sum + rows.length, 0)
    console.log(`#   ${number} rows: ${reason}`)
  }
}

async function measure(name: string, app: Application): Promise<void> {
  const client = clientOf(app.url, 16)
  const read = await rateOf(() => client('GET', `/projects?tenant_id=eq.${one}&id=eq.1`, ofOne), 16, seconds)
  let id = 1_000_000
  const insert = await rateOf(
    async () => {
      const body = JSON.stringify({ id: ++id, tenant_id: one, project_id: 1, title: 'measured' })
      const reply = await client('POST', '/tasks', ofOne, body)
      return { ...reply, status: reply.status === 201 ? 200 : reply.status }
    },
    16,
    seconds,
  )
  console.log(
    `# ${name}: ${Math.round(read)} one-row reads/s, ${Math.round(insert)} inserts/s (all servers on this machine)`,
  )
}

try {
  const plainServer = await startDebianServer()
  closings.unshift(plainServer.stop)
  const cluster = await startCitusCluster()
  closings.unshift(cluster.stop)
  const { coordinator } = cluster
  const both = [plainServer, coordinator]
  const run = async (servers: readonly DebianServer[], section: string): Promise<void> => {
    // One statement at a time: Citus runs some of them in transactions of their own.
    const statements = readmeSection(section).split(/;\n(?=alter |create |select |notify )/)
    for (const { query } of servers) for (const statement of statements) await query(statement)
  }
  for (const { query } of both) await query(tenantSchema + tenantRows)
  await run(both, 'citus-keys')
  await run(both, 'citus-claims')
  await run([coordinator], 'citus-distribute')
  await run(both, 'citus-foreign-keys')

  const [plain, citus] = [await start(plainServer), await start(coordinator)]
  const tables = [...(citus.service.engine.snapshot.schemaCache?.tables.values() ?? [])]
  const distributed = tables.filter((table) => table.isDistributed === true).map(({ name }) => name)
  check(
    distributed.join() === 'countries,projects,tasks,tenants',
    `distributed and reference tables: ${distributed.join()}`,
  )
  check(tables.length === 5, `no shards among the ${tables.length} relations of the API`)
  await compareAnswers(plain, citus)
  await attack(citus)
  await failClosed(coordinator)
  await explain(citus)
  if (!process.argv.includes('--without-tables')) await compareTables(plainServer, cluster)
  await measure('one server', plain)
  await measure('Citus, coordinator and two workers', citus)
} finally {
  for (const close of closings) await close()
}
end()
