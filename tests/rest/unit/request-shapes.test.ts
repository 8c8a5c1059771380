// A cached request shape must give the same result as parsing and planning the request: the same statement with the
// request's values, or the same rejection with the request's texts.
import t from 'tap'
import { loadConfig } from '../../../server/config/load.ts'
import { ApiError } from '../../../server/rest/errors.ts'
import { extensionsOf, partsOf } from '../../../server/rest/extension.ts'
import { createExtensions } from '../../../server/rest/extensions/list.ts'
import { prepare } from '../../../server/rest/cache/prepare.ts'
import type { ApiRequest, RequestInput, RequestShape } from '../../../server/rest/request/api-request.ts'
import { parseApiRequest } from '../../../server/rest/request/parse-api-request.ts'
import { Snapshot } from '../../../server/rest/snapshot.ts'
import { createValidator } from '../../../server/validation/validator.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'
import { foreignKey, routine, schemaCache, table } from '../../support/small-schema-cache.ts'
import { noRoleSettings } from '../../../server/rest/settings.ts'

const cache = schemaCache({
  tables: [
    table('projects', 'id integer, name text, client_id integer', 'id'),
    table('clients', 'id integer, name text'),
  ],
  relationships: [foreignKey('projects_client_fk', 'projects', 'client_id', 'clients', 'id')],
  routines: [routine('add', 'a integer, b integer')],
})
const { config } = loadConfig({ env: { PGRST_DB_SCHEMAS: 'api' } })
const validator = await createValidator()
const extensions = extensionsOf(createExtensions({ settings: config }))
const parts = partsOf(extensions)
/** A new snapshot with empty caches. */
const snapshot = (): Snapshot => new Snapshot({ config, roleSettings: noRoleSettings }, cache, parts)

type Asked = {
  readonly method?: string
  readonly path?: string
  readonly query: string
  readonly body?: string
  readonly type?: string
}

function prepareAsked({ method = 'GET', path = '/projects', query, body = '', type }: Asked, within: Snapshot) {
  const headers = type === undefined ? [] : [['content-type', type] as const]
  const http = { method, path, query, headers, body: Buffer.from(body) }
  return prepare(http, { snapshot: within, extensions, schemaCache: cache, validator }, () => undefined)
}

/** The prepared request, as plain data. */
function prepared(asked: Asked, within: Snapshot) {
  const found = prepareAsked(asked, within)
  if (!(found instanceof ApiError)) return { text: found.main?.text, values: found.main?.values }
  const { code, status, message, details, hint, headers } = found
  return { code, status, message, details, hint, headers }
}

const { pick, some, below } = seededRandom(testSeed(1))
const operators =
  'eq neq gt gte lt lte like ilike match imatch in is isdistinct fts plfts phfts wfts cs cd ov sl sr nxr nxl adj not'.split(
    ' ',
  )
const letters = [...'abcdefghilmnopqrstvwx_-'] as [string, ...string[]]
const additions = ['s', 'q', 'e', 'ual', '_', ' ', ',', ')', '"', '\\', '\n', '\t', '\0', 'é', '😀', '1', '+', '%41']
const words = [
  ...operators,
  ...operators.flatMap((operator) => Array.from(operator, (_, length) => operator.slice(0, length))),
  ...operators.flatMap((operator) => additions.flatMap((text) => [operator + text, text + operator])),
  ...operators.map((operator) => operator.toUpperCase()),
  ...additions,
  ...some(100, 100, () => some(1, 14, () => pick(letters)).join('')),
]
const values: [string, ...string[]] = [
  '',
  '1',
  'a b',
  '$1',
  '$&',
  "$'",
  '(any).1',
  'eq.1',
  'x\ny',
  '"',
  "it's",
  '\\',
  '\0',
  '😀',
  'é'.repeat(3),
  '5e3-4f',
  '%',
  '%zz',
  '%41',
  'v0z',
  ')',
  'x'.repeat(1500),
]
/** A text as a client may write it: percent-encoded, or as raw bytes. */
const written = (text: string): string =>
  below(4) === 0 ? Buffer.from(text).toString('latin1') : encodeURIComponent(text)

t.test('filters, with known and unknown operators', async (t) => {
  const shared = snapshot()
  const counts = { refused: 0, planned: 0 }
  for (const word of new Set(words)) {
    for (const follower of ['.', '', '(', '..', '(any).']) {
      for (let time = 0; time < 4; time++) {
        const query = `id=${written(word)}${follower}${written(pick(values))}`
        const found = prepared({ query }, shared)
        const expected = prepared({ query }, snapshot())
        counts[expected.code === undefined ? 'planned' : 'refused'] += 1
        // Thousands of passing assertions would flood the output.
        if (JSON.stringify(found) !== JSON.stringify(expected)) t.strictSame(found, expected, query)
      }
    }
  }
  t.ok(counts.refused > 10_000 && counts.planned > 200, JSON.stringify(counts))
})

t.test('all other parameters, valid and invalid', async (t) => {
  const templates: readonly Omit<Asked, 'body'>[] = [
    { query: 'name=eq.§&id=equals.§' },
    { query: 'id=equals.§&name=like_.§' },
    { query: 'id=eq.§&select=id,nothing(id)' },
    { query: 'id=eq.§&select=id,' },
    { query: 'id=eq.§&order=id.up' },
    { query: 'id=eq.§&limit=-1' },
    { query: 'id=eq.§&and=(id.foo.1)' },
    { query: 'id=eq.§&clients.id=eq.§' },
    { query: 'id=eq.§&clients.id=equals.§&select=*,clients(id)' },
    { query: 'id=eq.§&clients.id=gt.§&select=*,clients(id)' },
    { path: '/nothing', query: 'id=eq.§' },
    { path: '/project', query: 'id=equals.§' },
    { path: '/rpc/add', query: 'a=§&b=§' },
    { path: '/rpc/add', query: 'a=§&c=§' },
    { path: '/rpc/add', query: 'a=equals.§&b=§' },
    { path: '/rpc/sub', query: 'a=§' },
    { path: '/rpc/sub', query: 'id=equals.§' },
    { method: 'DELETE', query: 'id=equals.§' },
    { method: 'DELETE', query: 'id=eq.§' },
    { method: 'HEAD', query: 'id=equals.§' },
    { method: 'TRACE', query: 'id=eq.§' },
  ]
  const shared = snapshot()
  for (const { query: template, ...rest } of templates) {
    for (let time = 0; time < 30; time++) {
      const asked = { ...rest, query: template.replace(/§/g, () => written(pick(values))) }
      const found = prepared(asked, shared)
      const expected = prepared(asked, snapshot())
      if (JSON.stringify(found) !== JSON.stringify(expected)) t.strictSame(found, expected, JSON.stringify(asked))
    }
    t.pass(template)
  }
})

t.test('generated query strings, in many ways to write them', async (t) => {
  const shared = snapshot()
  const outcomes = { refused: 0, planned: 0 }
  /** A value of one of few kinds, so that shapes recur. */
  const value = (): string =>
    pick(['1', '2', 'a b', 'x*', '"q"', 'a,b', '(1)', '', 'é', '%', '\0', '{1,2}', '\\', 'null'])
  const quoted = (text: string): string => `"${text.replace(/["\\]/g, '\\$&')}"`
  const element = (): string => pick([() => '1', () => 'ab', () => quoted(value()), () => value()])()
  const elements = (): string => some(1, 3, element).join(',')
  const blank = (): string => pick(['', '', '', '', ' ', '  '])
  const name = (): string =>
    pick(['id', 'name', 'name', '"id"', 'client_id', 'nothing', 'name->a', 'name->>b', 'name->0', 'clients.id', ' id'])
  const test = (): string => {
    const not = pick(['', '', '', 'not.'])
    return (
      not +
      pick([
        () =>
          `${pick(['eq', 'neq', 'gt', 'like', 'ilike', 'match', 'isdistinct', 'cs', 'fts', 'wfts', 'adj'])}.${value()}`,
        () => `${pick(['eq', 'like', 'gt'])}(${pick(['any', 'all', 'some'])}).{${element()},${element()}}`,
        () => `${pick(['fts', 'phfts'])}(${pick(['english', 'german', 'a b', ''])}).${value()}`,
        () => `in.(${blank()}${elements()}${blank()})${blank()}`,
        () => `is.${pick(['null', 'NULL', 'not_null', 'true', 'unknown', 'nothing'])}`,
      ])()
    )
  }
  const condition = (): string =>
    `${pick(['id', 'name', '"id"', 'name->a'])}.${pick([
      () =>
        `${pick(['', 'not.'])}${pick(['eq', 'gt', 'like', 'isdistinct', 'fts', 'fts(english)', 'eq(any)'])}.${element()}`,
      () => `in.(${elements()})`,
      () => `${pick(['', 'not.'])}is.null`,
      () => `cs.{${element()}}`,
    ])()}`
  const tree = (depth: number): string =>
    some(1, 2, () =>
      depth > 0 && below(3) === 0 ? `${pick(['', 'not.'])}${pick(['and', 'or'])}${tree(depth - 1)}` : condition(),
    )
      .join(`${blank()},${blank()}`)
      .replace(/^.*$/s, '($&)')
  const parameter = (): readonly [string, string] =>
    pick<() => readonly [string, string]>([
      () => [name(), test()],
      () => [name(), test()],
      () => [pick(['and', 'or', 'not.and', 'not.or', 'clients.or', 'clients.not.and']), tree(2)],
      () => ['select', pick(['*', '*', 'id, name', 'id,clients(id)', 'id,clients(id)', 'id,', 'nothing', ''])],
      () => [
        pick(['order', 'clients.order']),
        pick(['id', 'id.desc.nullslast', 'name.asc,id', 'id.up', 'clients(id)']),
      ],
      () => [pick(['limit', 'offset', 'clients.limit']), pick(['1', '2', '0', '-1', 'x'])],
      () => ['having', pick([() => `count().gt.${value()}`, () => `(id.max().lt.${element()},count().gt.1)`])()],
      () => ['distinct', pick(['on.*', 'on.(id)', 'on.(name)', 'eq.1', 'on.'])],
      () => [pick(['a', 'b']), value()],
      () => ['cursor', pick(['x', 'a b', 'eq.1', '', 'a.b', 'abd'])],
      () => [pick(['columns', 'on_conflict']), pick(['id', 'id,name', 'name,id', '', 'id,'])],
    ])()
  /** Every character may be written as it is, or escaped. */
  const encoded = (text: string, isPlain: boolean): string =>
    Array.from(text, (character) => {
      if (/[%&;+=#]/.test(character)) return encodeURIComponent(character)
      if (character === ' ') return pick(['+', '%20'])
      if (character.charCodeAt(0) > 0x7f || character === '\0') return encodeURIComponent(character)
      const escape = `%${character.charCodeAt(0).toString(16).padStart(2, '0')}`
      return !isPlain && below(8) === 0 ? escape : character
    }).join('')
  for (let time = 0; time < 12_000; time++) {
    const parameters = some(1, 3, parameter)
    const isPlain = below(3) > 0
    const query = parameters
      .map(([key, text]) => `${encoded(key, isPlain)}=${encoded(text, isPlain)}`)
      .join(below(10) === 0 ? ';' : '&')
    const [method, path, body, type = 'application/json'] = pick<readonly [string, string, string, string?]>([
      ['GET', '/projects', ''],
      ['GET', '/projects', ''],
      ['GET', '/rpc/add', ''],
      ['PATCH', '/projects', '{"id":1}'],
      ['PATCH', '/projects', '[{"id":1}]'],
      ['POST', '/projects', '{"id":1}'],
      ['POST', '/projects', '[{"id":1},{"id":2}]'],
      ['POST', '/projects', 'id\n1\n', 'text/csv'],
      ['POST', '/rpc/add', '{"a":1,"b":2}'],
      ['DELETE', '/projects', ''],
    ])
    const asked = { method, path, query, body, type }
    const found = prepared(asked, shared)
    const expected = prepared(asked, snapshot())
    outcomes[expected.code === undefined ? 'planned' : 'refused'] += 1
    if (JSON.stringify(found) !== JSON.stringify(expected)) t.strictSame(found, expected, JSON.stringify(asked))
  }
  t.comment(JSON.stringify({ ...outcomes, hits: shared.plans.hits }))
  t.ok(outcomes.planned > 1000 && outcomes.refused > 1000 && shared.plans.hits > 500, JSON.stringify(outcomes))
})

t.test('requests that differ only in values are of one shape, however they are written', async (t) => {
  const alike: readonly (readonly string[])[] = [
    ['id=eq.1', 'id=eq.2', 'id=e%71.1', '%69d=eq.%31', 'id=eq.a+b', 'id=eq.a%00b', 'id=eq.', ';id=eq.1'],
    ['id=eq.1&select=id,name', 'select=id,name&id=eq.1', 'id=eq.1&select=id%2Cname', 'id=eq.1&select=id,name&select=*'],
    ['name=in.(1,2)', 'name=in.("a,b",c)', 'name=in.(1)', 'name=in.%281%29', 'name=in.( 1, 2 )'],
    [
      'or=(id.eq.1,name.eq.x)',
      'or=(id.eq."1",name.eq."a,b")',
      'or=( id.eq.1 , name.eq.x )',
      'or=%28id.eq.1,name.eq.x)',
    ],
    ['name=like(any).{a,b}', 'name=like(any).{c*}'],
    ['name=fts(english).a', 'name=fts(english).b'],
    ['name=is.null', 'name=is.NULL'],
    ['clients.or=(id.eq.1,id.gt.2)&select=*,clients(id)', 'clients.or=(id.eq.3,id.gt.4)&select=*,clients(id)'],
    ['name->>a=eq.1', 'name->>a=eq.2', 'name-%3E%3Ea=eq.1'],
  ]
  for (const queries of alike) {
    const shared = snapshot()
    for (const query of queries) prepareAsked({ query }, shared)
    for (const query of queries) t.strictSame(prepared({ query }, shared), prepared({ query }, snapshot()), query)
    t.equal(shared.plans.entries().length, 1, String(queries[0]))
    t.not(shared.plans.entries()[0]?.[1], 'uncacheable', String(queries[0]))
  }
})

t.test('requests that differ in more than values are of different shapes', async (t) => {
  const queries = [
    ...['id=eq.1', 'id=neq.1', 'id=not.eq.1', 'id=eq(any).{1}', 'id=eq(all).{1}', 'client_id=eq.1', 'id=in.(1)'],
    ...['id=in.()', 'id=is.null', 'id=not.is.null', 'id=is.not_null', 'id=eq.1&id=eq.1', 'name=fts.a'],
    ...['name=fts(english).a', 'name=fts(german).a', 'name->a=eq.1', 'name->>a=eq.1', 'name->0=eq.1', 'name->"0"=eq.1'],
    ...['or=(id.eq.1,id.eq.2)', 'and=(id.eq.1,id.eq.2)', 'not.or=(id.eq.1,id.eq.2)', 'or=(id.eq.1,id.not.eq.2)'],
    ...['or=(id.eq.1,and(id.eq.2))', 'or=(and(id.eq.1,id.eq.2))', 'or=(and(id.eq.1),id.eq.2)', 'or=(id.in.(1,2))'],
    ...['select=id', 'select=name', 'select=', '', 'order=id', 'order=id.desc', 'limit=1', 'limit=2', 'offset=1'],
  ]
  const shared = snapshot()
  for (const query of [...queries, ...queries]) prepareAsked({ query }, shared)
  for (const query of queries) t.strictSame(prepared({ query }, shared), prepared({ query }, snapshot()), query)
  t.equal(shared.plans.entries().length, queries.length)
})

t.test('a body never gets the place of a value, nor a value that of the body', async (t) => {
  const bodies = [
    ['[{"name":"kept"}]', '[{"name":"other"}]'],
    ['{"name":"kept"}', '{"name":"other"}'],
    ['name\nkept\n', 'name\nother\n', 'text/csv'],
  ] as const
  const queries = [
    'id=is.null&name=eq.[]',
    'id=in.()&name=eq.[]',
    'name=is.null&id=eq.5',
    'or=(id.is.null,name.eq.[])&id=in.()&id=gt.3',
    'columns=name&id=is.null&name=eq.[]',
    'columns=name&select=*,clients(*)&clients.name=is.null&clients.id=gt.5',
    'select=*,clients(*)&clients.name=is.null&clients.id=in.(5,6)',
  ]
  for (const query of queries) {
    for (const method of ['POST', 'PATCH', 'PUT']) {
      for (const [one, other, type] of bodies) {
        const shared = snapshot()
        for (const body of [one, other, one, other]) {
          const asked = { method, query, body, ...(type === undefined ? {} : { type }) }
          t.strictSame(prepared(asked, shared), prepared(asked, snapshot()), JSON.stringify(asked))
        }
      }
    }
  }
})

t.test('the rejection of a body is not cached', async (t) => {
  const shared = snapshot()
  const bodies = ['{', '[', '{"id":1}', '{"id":', '[{"id":1},{"name":1}]', '{"nothing":1}', '{"id":2}', 'x']
  for (const body of [...bodies, ...bodies, ...bodies.reverse()]) {
    const asked = { method: 'POST', query: 'columns=id', body }
    t.strictSame(prepared(asked, shared), prepared(asked, snapshot()), body)
  }
})

t.test('a value that looks like a placeholder is unchanged', async (t) => {
  const shared = snapshot()
  for (let time = 0; time < 4; time++) {
    const asked = { query: 'id=equals.$1$2v0z&name=equals.$&' }
    t.strictSame(prepared(asked, shared).message, '"failed to parse filter (equals.$1$2v0z)" (line 1, column 3)')
  }
})

t.test('a rejection is cached when its shape is seen for the second time', async (t) => {
  const shared = snapshot()
  const refused = () => prepareAsked({ query: 'select=nothing(id)' }, shared)
  const [first, second, third, fourth] = [refused(), refused(), refused(), refused()]
  t.type(first, ApiError)
  t.not(first, second)
  t.not(second, third)
  t.equal(third, fourth, 'the same object')
})

t.test('the next snapshot keeps the statistics of statements, and no plan', async (t) => {
  const stats = (asked: Asked, within: Snapshot) => {
    const found = prepareAsked(asked, within)
    return found instanceof ApiError ? undefined : found.stats
  }
  const first = snapshot()
  const asked = { query: 'id=eq.1' }
  t.equal(stats(asked, first), undefined)
  const known = stats(asked, first)
  t.ok(known, 'of the second request, from which the shape is made')
  t.equal(stats({ query: 'id=eq.2' }, first), known)

  const settings = { config, roleSettings: noRoleSettings }
  const next = new Snapshot(settings, cache, parts, first.plans)
  t.strictSame(next.plans.entries(), [])
  t.equal(stats(asked, next), known, 'the first request has them')
  t.strictSame(prepared(asked, next), prepared(asked, snapshot()))

  const without = schemaCache({ tables: [table('projects', 'id integer')] })
  const last = new Snapshot(settings, without, parts, next.plans)
  const http = { method: 'GET', path: '/projects', query: 'select=clients(*)', headers: [], body: Buffer.alloc(0) }
  for (let time = 0; time < 3; time++)
    prepare(http, { snapshot: next, extensions, schemaCache: cache, validator }, () => undefined)
  const planned = prepare(http, { snapshot: last, extensions, schemaCache: without, validator }, () => undefined)
  t.type(planned, ApiError, 'the relationship is gone')

  const small = new Snapshot({ ...settings, config: { ...config, planCacheMaxEntries: 1 } }, cache, parts, next.plans)
  t.not(stats(asked, small), known, 'a cache of another size begins anew')
  const off = new Snapshot({ ...settings, config: { ...config, planCacheMaxEntries: 0 } }, cache, parts, next.plans)
  t.equal(stats(asked, off), undefined, 'nothing is cached')
})

/** Whether a value contains an object with a key, at any depth. */
function containsKey(value: unknown, key: string): boolean {
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return false
  const members = value instanceof Map ? [...value] : Object.values(value)
  return Object.hasOwn(value, key) || members.some((member) => containsKey(member, key))
}

t.test('a prepared request contains the text of its body, not the parsed value', async (t) => {
  const shared = snapshot()
  const body = '[{"id":1,"name":{"parsed":1}}]'
  for (let time = 0; time < 4; time++) {
    const found = prepareAsked({ method: 'POST', query: '', body }, shared)
    if (found instanceof ApiError) throw found
    t.ok(found.main?.values.includes(body))
    t.notOk(containsKey(found, 'parsed'))
  }
})

t.test('a rejection that quotes the first character of a value does not apply to other values', async (t) => {
  for (const method of ['OPTIONS', 'POST']) {
    const shared = snapshot()
    for (const value of ['vx', 'vx', 'vx', 'x']) {
      const asked = { method, path: '/rpc/add', query: `a=${value}` }
      t.strictSame(prepared(asked, shared), prepared(asked, snapshot()), `${method} ${value}`)
    }
  }
})

t.test('a whole request cannot be cached as a shape', async (t) => {
  const http = { method: 'GET', path: '/projects', query: 'id=eq.1', headers: [], body: Buffer.alloc(0) }
  const { request } = parseApiRequest(http, config)
  // @ts-expect-error a request is not assignable to a shape
  const shape: RequestShape = request
  t.notOk('action' in shape)
  // A request is not assignable unless the two types have no member in common.
  const common: Extract<keyof RequestShape, keyof RequestInput | keyof ApiRequest> extends never ? true : false = true
  t.ok(common)
})
