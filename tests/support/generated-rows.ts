// Generated reads of rows, over `fixtures/reads.sql` and `fixtures/encoded-rows.sql`. Each shape is sent several times with other
// values by other callers, so that all but the first requests find it in the cache.
import type { Test } from 'tap'
import { createGarage } from './garage.ts'
import { generatedRead } from './generated-reads.ts'
import { loadFixture } from './fixture.ts'
import { values, vocabularies, type Vocabulary } from './read-vocabulary.ts'
import { startRowsComparison, type RowsComparison } from './rows-comparison.ts'
import { seededRandom, type Random } from './seeded-random.ts'
import type { SentRequest } from './sent-request.ts'
import { bearer } from './token.ts'

const samples: Vocabulary = {
  name: 'samples',
  columns: [
    ['id', 'integer'],
    ['flag', 'boolean'],
    ['big', 'integer'],
    ['amount', 'decimal'],
    ['ratio', 'decimal'],
    ['note', 'text'],
    ['code', 'text'],
    ['day', 'time'],
    ['moment', 'time'],
    ['doc', 'json'],
    ['docb', 'json'],
    ['tags', 'array'],
    ['share', 'decimal'],
    ['period', 'range'],
    ['owner', 'text'],
    ['day_after', 'time'],
  ],
  order: 'id',
  embeds: [['oddities', 'oddities', 'oddities', false]],
}
const oddities: Vocabulary = {
  name: 'oddities',
  columns: [
    ['id', 'integer'],
    ['sample_id', 'integer'],
    ['text', 'text'],
    ['name', 'text'],
    ['key', 'text'],
    ['address', 'text'],
    ['price', 'decimal'],
    ['bits', 'text'],
    ['pieces', 'array'],
    ['docs', 'text'],
    ['moments', 'text'],
    ['styles', 'text'],
    ['size', 'json'],
    ['sizes', 'text'],
    ['spans', 'range'],
    ['half', 'decimal'],
    ['clock', 'text'],
  ],
  order: 'id',
  embeds: [
    ['samples', 'samples', 'samples', true],
    ['oddities!after_id', 'oddities', 'oddities', true],
    ['after:after_id', 'after', 'oddities', true],
  ],
}
const sampleColumns = samples.columns.filter(([name]) => name !== 'day_after')

/** Most requests read samples and cars. */
const sources: readonly [Vocabulary, ...Vocabulary[]] = [
  samples,
  samples,
  samples,
  oddities,
  oddities,
  {
    ...samples,
    columns: [['id', 'integer'], ...sampleColumns],
    call: { path: 'rpc/samples_of', argument: 'who=ann' },
  },
  {
    name: 'tabled',
    columns: [
      ['id', 'integer'],
      ['moment', 'time'],
      ['doc', 'json'],
    ],
    order: 'id',
    embeds: [],
    call: { path: 'rpc/tabled', argument: 'lowest=38' },
  },
  {
    name: 'paired',
    columns: [
      ['id', 'integer'],
      ['note', 'text'],
      ['size', 'json'],
      ['sizes', 'text'],
    ],
    order: 'id',
    embeds: [],
  },
  {
    name: 'counted',
    columns: [
      ['owner', 'text'],
      ['number', 'integer'],
      ['latest', 'time'],
    ],
    order: 'owner',
    embeds: [],
  },
  {
    name: 'announced',
    columns: [
      ['id', 'integer'],
      ['note', 'text'],
      ['moment', 'time'],
      ['doc', 'json'],
      ['size', 'json'],
    ],
    order: 'id',
    embeds: [],
  },
  ...vocabularies,
]

/** Calls whose results have no columns to select, or few. */
const calls = [
  ...['add?a=1&b=2', 'add?a=3', 'levels', 'nothing', 'first_car', 'no_car', 'totals', 'join_words?words=a&words=b'],
  ...['shouted?word="x"', 'one_sample?which=41', 'one_sample?which=99', 'some_json', 'one_json', 'some_jsonb'],
  ...[
    'some_arrays',
    'first_array',
    'one_array',
    'some_texts',
    'some_times',
    'some_floats',
    'some_sizes',
    'no_text',
    'no_json',
  ],
  ...['announced_of', 'announced_of?lowest=39', 'announced_of?lowest=900'],
  ...['one_share', 'one_style', 'outs?a=1', 'tabled?lowest=40', 'samples_of?who=bob', 'motto', 'teapot'],
] as const

const zones = ['Asia/Kolkata', 'Africa/Monrovia', 'America/St_Johns', 'UTC', 'nowhere'] as const

const accepts = [
  'application/json',
  'application/vnd.pgrst.object+json',
  'application/vnd.pgrst.array+json',
  'application/vnd.pgrst.array+json;nulls=stripped',
  'text/csv',
  'application/x-ndjson',
  '*/*',
] as const

/** Media types of any read, besides those of `generatedRead`, with preferences of their own. */
const media: readonly [SentRequest['headers'], ...SentRequest['headers'][]] = [
  { Accept: 'application/x-ndjson' },
  { Accept: 'application/x-ndjson' },
  { Accept: 'text/csv' },
  { Accept: 'text/csv' },
  { Accept: 'text/csv', Prefer: 'stream=rows' },
  { Accept: 'application/vnd.pgrst.object+json' },
  { Accept: 'application/vnd.pgrst.array+json;nulls=stripped' },
  { Accept: 'application/x-ndjson;q=0.9, text/csv;q=0.2' },
]

/** Reads of results above the size from which on they are streamed. */
const manyRows = [
  ...['/many?order=id', '/many?order=id&id=gt.20', '/many?select=id,note&order=id.desc', '/many?order=id&limit=1100'],
  ...['/many?select=doc,id&order=id&offset=5', '/many?select=id.count(),note&order=note', '/many?order=id&id=lt.4'],
  ...['/many?select=id,moment,tags&or=(id.lt.100,id.gt.101)&order=id', '/many?order=id&select=id,nothing'],
] as const

function generatedCall(random: Random): SentRequest {
  const [name = '', query = ''] = random.pick(calls).split('?')
  const more = random.some(0, 2, () =>
    random.pick([
      'limit=1',
      'limit=2',
      'offset=1',
      'limit=0',
      'order=id.desc',
      'select=id',
      'id=gt.2',
      'select=id::text',
    ]),
  )
  const headers = {
    ...(random.chance(0.5) ? { Accept: random.pick(accepts) } : {}),
    ...(random.chance(0.3) ? { Prefer: `count=${random.pick(['exact', 'planned', 'estimated'])}` } : {}),
    ...(random.chance(0.15) ? { Range: random.pick(['0-0', '1-', '5-9']) } : {}),
  }
  if (random.chance(0.25)) {
    const body = JSON.stringify(Object.fromEntries(new URLSearchParams(query)))
    const path = `/rpc/${name}${more.length === 0 ? '' : `?${more.join('&')}`}`
    return { method: 'POST', path, headers: { ...headers, 'Content-Type': 'application/json' }, body }
  }
  const all = [...(query === '' ? [] : [query]), ...more].join('&')
  const method = random.chance(0.1) ? 'HEAD' : 'GET'
  return { method, path: `/rpc/${name}${all === '' ? '' : `?${all}`}`, headers }
}

const lists: ReadonlySet<unknown> = new Set(Object.values(values).flatMap(({ fitting, odd }) => [fitting, odd]))

/** Choices of a shape, in which values are chosen by other random numbers. */
const withValues = (shape: Random, value: Random): Random => ({
  ...shape,
  pick: (choices) => (lists.has(choices) ? value : shape).pick(choices),
})

function withMedia(headers: SentRequest['headers'], media: SentRequest['headers']): SentRequest['headers'] {
  const preferences = [headers.Prefer, media.Prefer].filter((text) => text !== undefined)
  return { ...headers, ...media, ...(preferences.length === 0 ? {} : { Prefer: preferences.join(', ') }) }
}

/** @param shape determines all but the values of the request */
function generatedRow(shape: Random, value: Random): SentRequest {
  if (shape.chance(0.25)) return generatedCall(shape)
  if (shape.chance(0.01)) return { method: 'GET', path: shape.pick(manyRows), headers: shape.pick(media) }
  const read = generatedRead(withValues(shape, value), sources)
  const request = shape.chance(0.25) ? { ...read, headers: withMedia(read.headers, shape.pick(media)) } : read
  if (!shape.chance(0.2)) return request
  const preferences = [request.headers.Prefer, `timezone=${shape.pick(zones)}`].filter((text) => text !== undefined)
  return { ...request, headers: { ...request.headers, Prefer: preferences.join(', ') } }
}

const shapesAtOnce = 25
const requestsOfShape = 16

/** Comparisons without and with a limit of rows, and with functions before every request, which few connections of the database serve, and the callers. */
export type RowsService = {
  readonly unlimited: RowsComparison
  readonly limited: RowsComparison
  /** With functions before every request that set what its headers say: one that only reads, and one that might write. */
  readonly loud: readonly [RowsComparison, RowsComparison]
  /** The header `Authorization`; undefined for an anonymous caller. */
  readonly callers: readonly [string | undefined, ...(string | undefined)[]]
}

const connections = 4

/**
 * Only one of two plans of Postgres reads an invalid pattern, text search or colour: the one for these values, or the one that
 * evaluates it for a row. Prepared statements have either. PostgreSQL 18 cannot plan some comparisons of the type "char".
 */
const ofPlan = [
  '2201B',
  'syntax error in tsquery',
  'error=22025',
  'is not a valid hexadecimal digit',
  'cache lookup failed for collation',
].join('|')
const isOfPlan = new RegExp(`"status":\\[\\d+,\\d+\\].*(?:${ofPlan})`)
/** Of two statements that both fail, an export runs the one that explains first. */
const isOfOrder = /"Prefer":"[^"]*count=(?:planned|estimated).*"Accept":"text\/csv.*"found":\{"headers".*error=.*error=/

export async function startRowsService(t: Pick<Test, 'teardown'>): Promise<RowsService> {
  const { database, environment } = await createGarage(t)
  await loadFixture(database, 'encoded-rows')
  const [user, service] = [`user_${database.name}`, `service_${database.name}`]
  await database.query(`create role ${user}; create role ${service} bypassrls`)
  const { PGRST_DB_URI: uri = '', ...rest } = environment
  const env = { ...rest, PGRST_DB_AGGREGATES_ENABLED: 'true' }
  const unlimited = await startRowsComparison(t, uri, env, connections)
  const limited = await startRowsComparison(t, uri, { ...env, PGRST_DB_MAX_ROWS: '3' }, connections)
  const announcing = await startRowsComparison(t, uri, { ...env, PGRST_DB_PRE_REQUEST: 'tools.announces' }, connections)
  const writing = await startRowsComparison(t, uri, { ...env, PGRST_DB_PRE_REQUEST: 'tools.may_write' }, connections)
  return {
    unlimited,
    limited,
    loud: [announcing, writing],
    callers: [undefined, await bearer(user, { sub: 'ann' }), await bearer(user, { sub: 'bob' }), await bearer(service)],
  }
}

const loudHeaders = ({ chance, pick }: Random): SentRequest['headers'] => ({
  ...(chance(0.4) ? { 'X-Loud': pick(['[{"X-One": "1"}]', '[]', 'no JSON', '[{"Content-Type": "text/x"}]']) } : {}),
  ...(chance(0.2) ? { 'X-Status': pick(['201', '418', 'x']) } : {}),
  ...(chance(0.2) ? { 'X-Style': pick(['German', 'SQL, DMY', 'ISO, MDY', 'nonsense']) } : {}),
})

export type RowsOutcome = {
  /** One for each request that was answered differently. */
  readonly differences: readonly string[]
  readonly statuses: ReadonlyMap<number, number>
}

/** Sends generated requests of all callers, and compares the responses. Calls `on.progress` from time to time. */
export async function compareRows(
  { unlimited, limited, loud, callers }: RowsService,
  seed: number,
  requests: number,
  on: { readonly progress?: (sent: number) => void; readonly difference?: (text: string) => void } = {},
): Promise<RowsOutcome> {
  const random = seededRandom(seed)
  const differences: string[] = []
  const statuses = new Map<number, number>()
  let sent = 0
  const worker = async (connection: number): Promise<void> => {
    while (sent < requests && differences.length < 50) {
      const number = sent++
      const block = Math.floor(number / (shapesAtOnce * requestsOfShape))
      const shape = seededRandom((seed << 20) + block * shapesAtOnce + random.below(shapesAtOnce))
      const isLimited = shape.chance(0.3)
      const { headers: generated, ...request } = generatedRow(shape, random)
      const headers = shape.chance(0.1) ? withMedia(generated, { Prefer: 'pagination=keyset' }) : generated
      const caller = random.pick(callers)
      const authorized = caller === undefined ? headers : { ...headers, Authorization: caller }
      const isLoud = !isLimited && shape.chance(0.3)
      const comparison = isLimited ? limited : isLoud ? shape.pick(loud) : unlimited
      const { status, difference } = await comparison.compare(
        { ...request, headers: isLoud ? { ...authorized, ...loudHeaders(random) } : authorized },
        connection,
      )
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (difference !== undefined && !isOfPlan.test(difference) && !isOfOrder.test(difference)) {
        differences.push(difference)
        on.difference?.(difference)
      }
      if (number % 10_000 === 9999) on.progress?.(sent)
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, index) => worker(index)))
  return { differences, statuses }
}
