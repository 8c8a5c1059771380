// Two services, each on a database of its own with the same rows: one encodes the rows that writes return, for the other Postgres
// aggregates them. Both get the same writes, and must respond alike.
import type { Test } from 'tap'
import type { Environment } from '../../server/config/config-sources.ts'
import { startApplication } from './application.ts'
import { comparable } from './cache-comparison.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { loadFixture } from './fixture.ts'
import { RawConnection, requestHead, type RawResponse } from './raw-connection.ts'
import { keepRowVersions } from './row-versions.ts'
import { seededRandom, type Random } from './seeded-random.ts'
import type { SentRequest } from './sent-request.ts'
import { bearer } from './token.ts'

export type Choices = readonly [string, ...string[]]

const texts: Choices = [
  ...([
    '"plain"',
    '""',
    'null',
    '"é 日本 😀"',
    '"\\"q\\" , ; \\\\"',
    '"a\\nb\\t\\r\\u0001\\u001f\\u007f\\u2028"',
    '7',
  ] as const),
  ...[
    '"NULL"',
    '"{a,b}"',
    '"no"',
    '"teapot"',
    '"skipped"',
    '" "',
    '"</script>"',
    `"${'long \\"text\\" '.repeat(300)}"`,
  ],
]
const times: Choices = ['"2024-03-31T01:30:00.25+02:00"', '"infinity"', '"-infinity"', '"0044-03-15 12:00:00 BC"', '"12020-01-01"', 'null', '"1890-01-01 00:00:01"', '"x"'] // prettier-ignore
const integers: Choices = ['1', '2', '3', '60', '7', '-1', 'null', '"5"', '1.5']
const jsons: Choices = [' { "a" : [ 1 , 2.50 ] } ', '[]', '"te\\"xt"', 'null', '12345678901234567890', '{"a":1,"a":{"c":null}}', '{"n": -0.0, "e":1e3}'] // prettier-ignore
const decimals: Choices = [
  '1.10',
  '-0',
  '"NaN"',
  '"Infinity"',
  '"-Infinity"',
  '0.1',
  '1e-7',
  '123456789.123456789',
  'null',
  '5000000000',
]

export type Column = readonly [name: string, values: Choices]
export type Target = {
  readonly name: string
  readonly key: readonly string[]
  readonly columns: readonly Column[]
  /** Values of the parameter `select`. */
  readonly selects?: Choices | undefined
}
export type Targets = readonly [Target, ...Target[]]

const id: Column = ['id', integers]
const note: Column = ['note', texts]

const things: Target = {
  name: 'things',
  key: ['id'],
  columns: [
    ['id', [...['1', '2', '3', '4', '5'], '77'] as unknown as Choices],
    ['flag', ['true', 'false', 'null', '"t"', '"maybe"']],
    ['small', ['1', '-32768', '40000', 'null']],
    ['big', ['9223372036854775807', '-9007199254740993', 'null']],
    ...(['amount', 'ratio', 'half', 'share'] as const).map((name): Column => [name, decimals]),
    note,
    ['short', texts],
    ['code', ['"ab"', '""', '"abcd"', 'null', '"ü"']],
    ['letter', ['"a"', '"\\""', '""', 'null', '"\\\\"']],
    ['name', ['"n"', '"a \\"b\\""', 'null']],
    ['bytes', ['"\\\\x00ff"', '""', 'null', '"abc"']],
    ...(['day', 'moment', 'local'] as const).map((name): Column => [name, times]),
    ['clock', ['"10:11:12.5+05:30"', 'null']],
    ['span', ['"1 day 1.5 s"', '"-1 year"', 'null', '"0"']],
    ['doc', jsons],
    ['docb', jsons],
    ['tags', ['["a", null, "b \\"c\\""]', '[]', 'null', '"{x,NULL}"', '"[0:1]={a,b}"', '["NULL", "", "{,}", "\\\\"]']],
    ['grid', ['[[1,null],[0,-1]]', '[]', 'null']],
    ['docs', ['[{"a":1}, "x\\ny", null]', 'null']],
    ['moments', ['["2024-03-31 01:00:00+00", "infinity", null]', 'null', '["0044-03-15 BC"]']],
    ['mood', ['"ok"', '"sad \\"x\\""', 'null', '"none"']],
    ['moods', ['["ok", null, "sad \\"x\\""]', 'null']],
    ['words', ['["a b", "c"]', 'null']],
    ['period', ['"[2024-01-01,2024-02-01)"', '"empty"', 'null', '"(,)"']],
    ['spans', ['"{[1,3),[5,)}"', 'null']],
    ['price', ['"12.50"', '-3', 'null']],
    ['address', ['"10.0.0.1/8"', '"::1"', 'null']],
    ['key', ['"00000000-0000-4000-8000-0000000000ff"', 'null', '"x"']],
    ['bits', ['"1010"', '""', 'null']],
    ['place', ['"(1,-0.5)"', 'null']],
    ['vector', [`"'a \\"b' 'c':1"`, 'null']],
    ['odd "name, (\\)', texts],
  ],
}

const targets: Targets = [
  ...([things, things, things, things] as const),
  { name: 'owned', key: ['id'], columns: [id, ['owner', ['"ann"', '"bob"', 'null']], note, ['day', times]] },
  { name: 'parents', key: ['id'], columns: [id, ['size', ['"(1,2)"', 'null']]] },
  { name: 'children', key: ['id'], columns: [id, ['parent_id', ['1', '2', '9', 'null']], note] },
  { name: 'pairs', key: ['a', 'b'], columns: [['a', integers], ['b', integers], ['c', texts]] }, // prettier-ignore
  { name: 'keyless', key: [], columns: [['n', integers], note] },
  { name: 'split', key: ['id'], columns: [id, note] },
  { name: 'stamped', key: ['id'], columns: [id, note] },
  { name: 'loud', key: ['id'], columns: [id, note] },
  { name: 'ruled', key: ['id'], columns: [id, note] },
  { name: 'narrow', key: ['id'], columns: [id, note, ['secret', texts]] },
  { name: 'aliased', key: ['id'], columns: [id, ['_postgrest_t', texts]] },
  { name: 'shown', key: ['id'], columns: [id, note] },
]

const preferences: Choices = [
  ...(['count=exact', 'count=exact', 'missing=default', 'missing=default', 'resolution=merge-duplicates'] as const),
  ...[
    'resolution=ignore-duplicates',
    'handling=strict',
    'handling=strict, max-affected=1',
    'max-affected=1',
    'tx=rollback',
  ],
  ...['timezone=Asia/Kolkata', 'timezone=America/St_Johns', 'unknown=1', 'return=minimal', 'return=headers-only'],
]

const accepts: Choices = [
  ...(['application/vnd.pgrst.object+json', 'application/vnd.pgrst.object+json', '*/*', 'text/csv'] as const),
  ...[
    'application/vnd.pgrst.array+json;nulls=stripped',
    'application/x-ndjson',
    'application/vnd.pgrst.object+json;nulls=stripped',
  ],
]

const quoted = (name: string): string => (/^\w+$/.test(name) ? name : `"${name.replaceAll(/["\\]/g, (c) => `\\${c}`)}"`)

function selected({ name, key, columns, selects }: Target, random: Random): string {
  if (selects && random.chance(0.4)) return random.pick(selects)
  const names = columns.map(([column]) => column)
  const some = names.filter(() => random.chance(0.3))
  return random.pick<string>([
    '*',
    [...key, ...some].map(quoted).join(','),
    [...some, ...key].map((column, n) => `${n % 2 ? `x${n}:` : ''}${quoted(column)}`).join(','),
    some.map(quoted).join(','),
    `*,again:${quoted(names[0] ?? 'id')}`,
    `${quoted(names[0] ?? 'id')},${quoted(names[0] ?? 'id')}`,
    `${quoted(names[0] ?? 'id')}::text,${quoted(names[1] ?? 'id')}`,
    name === 'things' ? 'id,doc->a,docb->>a' : 'count()',
    name === 'things' ? 'id,shouted,note' : '*',
    name === 'children' ? '*,parents(*)' : name === 'parents' ? 'id,children(id)' : '_postgrest_t:note,id',
    'nope',
  ])
}

function rowOf(columns: readonly Column[], random: Random): string {
  return `{${columns.map(([name, values]) => `${JSON.stringify(name)}: ${random.pick(values)}`).join(', ')}}`
}

/** @param shape determines all but the values */
export const generatedWrittenRows = (shape: Random, value: Random): SentRequest =>
  generatedWriteTo(targets, shape, value)

/** @param shape determines all but the values */
export function generatedWriteTo(targets: Targets, shape: Random, value: Random): SentRequest {
  const target = shape.pick(targets)
  const method = shape.pick(['POST', 'POST', 'POST', 'PATCH', 'PATCH', 'DELETE', 'PUT'])
  const share = target.columns.length > 8 ? 0.15 : 0.7
  const few = target.columns.filter(([name]) => shape.chance(share) || target.key.includes(name))
  const isKeyed = method !== 'PATCH' && (target.name !== 'things' || shape.chance(0.3))
  const columns = few.filter(([name]) => isKeyed || !target.key.includes(name))
  const parameters: string[] = []
  if (shape.chance(0.75)) parameters.push(`select=${selected(target, shape)}`)
  if (method !== 'POST') {
    const filters = target.key.map((name) => `${name}=eq.${value.pick(['1', '2', '3', '60'])}`)
    if (method === 'PUT' || shape.chance(0.6)) parameters.push(...filters)
    else if (method === 'DELETE' || shape.chance(0.8))
      parameters.push(
        `${target.columns[0]?.[0] ?? 'id'}=${shape.pick(['gt', 'lt', 'in', 'eq'])}.${value.pick(['1', '2', '(1,2)', '900'])}`,
      )
  }
  if (shape.chance(0.1)) parameters.push(`order=${quoted(target.columns[0]?.[0] ?? 'id')}.desc`)
  if (shape.chance(0.05)) parameters.push('limit=1')
  const prefer = [shape.chance(0.7) ? 'return=representation' : '', ...shape.some(0, 2, () => shape.pick(preferences))]
  const isArray = shape.chance(0.5)
  const most = method === 'POST' && isArray ? 4 : 1
  const rows = value.some(isArray ? 0 : 1, most, () => rowOf(columns, value))
  const body = method === 'DELETE' ? '' : isArray ? `[${rows.join(', ')}]` : (rows[0] ?? '{}')
  const headers = {
    ...(body === '' ? {} : { 'Content-Type': 'application/json' }),
    Prefer: prefer.filter((text) => text !== '').join(', '),
    ...(shape.chance(0.3) ? { Accept: shape.pick(accepts) } : {}),
    ...(shape.chance(0.05) && method !== 'POST' ? { 'If-Match': '*' } : {}),
  }
  return { method, path: `/${target.name}${parameters.length === 0 ? '' : `?${parameters.join('&')}`}`, headers, body }
}

async function createRows(t: Pick<Test, 'teardown'>, fixtures: readonly string[]): Promise<TestDatabase> {
  const database = await createDatabase()
  t.teardown(() => database.drop())
  for (const fixture of fixtures) await loadFixture(database, fixture)
  await keepRowVersions(database)
  return database
}

export type WritesComparison = {
  /** What is different in both responses to a request; undefined if they are equal. */
  readonly compare: (
    request: SentRequest,
  ) => Promise<{ readonly status: number; readonly difference: string | undefined }>
  /** The rows of a table in both databases. */
  readonly rows: (table: string) => Promise<readonly [string, string]>
  readonly databases: readonly [TestDatabase, TestDatabase]
  /** The header `Authorization`; undefined for an anonymous caller. */
  readonly callers: readonly [string | undefined, ...(string | undefined)[]]
}

/** Rows are where each of the databases has found room for them, so statements may write several in another order. */
const inOrder = (body: string): string =>
  (/^[[{]/.test(body) ? withRowsOnLines(body) : body)
    .replaceAll(/"etag":"(?:[^"\\]|\\.)*"/gi, '')
    .replaceAll(/^\[|\]$/g, '')
    .split(/ ?\n ?/)
    .sort()
    .join('\n')

/** Without null values, Postgres writes no new lines between the rows of an array. Strings in JSON have none. */
const withRowsOnLines = (json: string): string =>
  json.replaceAll(/("(?:[^"\\]|\\.)*")|(?<=\}),\s*(?=\{)/g, (_, string?: string) => string ?? '\n')

/** The version of a row is the number of its transaction, which is another one in the other database. */
const withoutVersion = ({ headers, ...response }: RawResponse): RawResponse => ({
  ...response,
  headers: headers.map(([name, value]) => [name, name === 'etag' ? 'any' : value]),
})

/** @param more settings of both services */
export async function startWritesComparison(
  t: Pick<Test, 'teardown'>,
  fixtures: readonly string[] = ['written-rows'],
  more: Environment = {},
): Promise<WritesComparison> {
  const databases = [await createRows(t, fixtures), await createRows(t, fixtures)] as const
  const [{ name }] = databases
  const [anonymous, user, narrow] = ['anon', 'user', 'narrow'].map((role) => `${role}_${name}`)
  if (anonymous === undefined || user === undefined || narrow === undefined) throw new Error('a role is missing')
  const roles = [anonymous, user, narrow]
  await databases[0].query(roles.map((role) => `create role ${role}`).join('; '))
  for (const database of databases)
    await database.query(`
      grant all on all tables in schema public to ${roles.join(', ')};
      grant all on all sequences in schema public to ${roles.join(', ')};
      revoke select on narrow from ${narrow}, ${anonymous}; grant select (id, note) on narrow to ${narrow};
      grant select (note) on narrow to ${anonymous}`)
  const env = {
    PGRST_DB_TX_END: 'commit-allow-override',
    PGRST_DB_POOL: '2',
    PGRST_LOG_LEVEL: 'crit',
    PGRST_DB_ANON_ROLE: anonymous,
    PGRST_DB_AGGREGATES_ENABLED: 'true',
    REST_BASE_PATH: '/',
    ...more,
  }
  const encoding = await startApplication(t, databases[0].adminUri, env)
  const aggregating = await startApplication(t, databases[1].adminUri, env, { encodesRows: false })
  // After the services have ended.
  const connections = [encoding, aggregating].map(({ url }) => new RawConnection(url))
  t.teardown(() => connections.forEach((connection) => connection.close()))
  const compare: WritesComparison['compare'] = async ({ method, path, headers, body = '' }) => {
    const bytes = Buffer.from(body).toString('latin1')
    const head = requestHead(method, path.replaceAll(/[^\x21-\x7e]/gu, encodeURIComponent), Object.entries({ Host: 'test', ...headers, 'Content-Length': String(bytes.length) })) // prettier-ignore
    const responses = await Promise.all(
      connections.map((connection) => connection.send({ head, body: bytes, isHead: method === 'HEAD' })),
    )
    const [one, other] = responses.map((response) =>
      comparable({ ...withoutVersion(response), body: inOrder(response.body) }),
    )
    if (!one || !other) throw new Error('two responses are needed')
    const isSame = JSON.stringify(one) === JSON.stringify(other)
    const found = { encoded: one, aggregated: other }
    return {
      status: other.status,
      difference: isSame ? undefined : JSON.stringify({ request: { method, path, headers, body }, found }),
    }
  }
  return {
    databases,
    compare,
    rows: async (table) => {
      const [one, other] = await Promise.all(
        databases.map(({ query }) =>
          query(`select coalesce(json_agg(r order by r::text), '[]')::text as rows from ${table} r`),
        ),
      )
      return [String(one?.rows[0]?.rows), String(other?.rows[0]?.rows)]
    },
    callers: [
      await bearer(user, { sub: 'ann' }),
      await bearer(user, { sub: 'bob' }),
      undefined,
      await bearer(narrow, { sub: 'ann' }),
    ],
  }
}

const shapesAtOnce = 20
const requestsOfShape = 8

/**
 * Compares the responses to generated requests of several callers, up to ten differences.
 *
 * @param generate makes a request: requests of one shape differ in the values of the second generator
 * @returns how often each status was responded
 */
export async function compareGenerated(
  t: Test,
  { compare, callers }: WritesComparison,
  { requests, seed, generate }: GeneratedRequests,
): Promise<ReadonlyMap<number, number>> {
  const random = seededRandom(seed)
  const statuses = new Map<number, number>()
  let found = 0
  for (let sent = 0; sent < requests && found < 10; sent++) {
    const block = Math.floor(sent / (shapesAtOnce * requestsOfShape))
    const shape = seededRandom(seed * 1000 + block * shapesAtOnce + random.below(shapesAtOnce))
    const request = generate(shape, random)
    const caller = random.pick(callers)
    const headers = caller === undefined ? request.headers : { ...request.headers, Authorization: caller }
    const { status, difference } = await compare({ ...request, headers })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (difference === undefined) continue
    found++
    t.fail(difference.slice(0, 4000))
  }
  return statuses
}

export type GeneratedRequests = {
  readonly requests: number
  readonly seed: number
  readonly generate: (shape: Random, random: Random) => SentRequest
}
