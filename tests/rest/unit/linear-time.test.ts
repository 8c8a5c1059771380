// Work on a request grows no faster than the request: filters, embeds, counts, spreads, references of batches, nested
// bodies, and what caches keep of them.
import t, { type Test } from 'tap'
import { loadConfig } from '../../../server/config/load.ts'
import { Conditions } from '../../../server/rest/extensions/batch/value-context.ts'
import { fillUrl, urlTemplate } from '../../../server/rest/extensions/batch/url-template.ts'
import { parseBatch } from '../../../server/rest/extensions/batch/batch-request.ts'
import { prepare } from '../../../server/rest/cache/prepare.ts'
import { extensionsOf, partsOf, type Prepared } from '../../../server/rest/extension.ts'
import { createExtensions } from '../../../server/rest/extensions/list.ts'
import { ApiError } from '../../../server/rest/errors.ts'
import { updateAll } from '../../../server/rest/plan/embed-path.ts'
import type { EmbedTree } from '../../../server/rest/plan/embed-tree.ts'
import { parseQueryString } from '../../../server/rest/request/query-string.ts'
import { parseQueryParams } from '../../../server/rest/request/query-params.ts'
import { noRoleSettings } from '../../../server/rest/settings.ts'
import { Snapshot } from '../../../server/rest/snapshot.ts'
import { JsonDocument } from '../../../server/text/json-document.ts'
import { createValidator } from '../../../server/validation/validator.ts'
import { cpuTime } from '../../support/cpu-time.ts'
import { foreignKey, schemaCache, table } from '../../support/small-schema-cache.ts'

const cache = schemaCache({
  tables: [
    table('projects', 'id integer, name text, client_id integer, data json', 'id'),
    table('clients', 'id integer, name text', 'id'),
    table('tasks', 'id integer, project_id integer, data json', 'id'),
  ],
  relationships: [
    foreignKey('projects_client_fk', 'projects', 'client_id', 'clients', 'id'),
    foreignKey('tasks_project_fk', 'tasks', 'project_id', 'projects', 'id'),
  ],
})
const { config } = loadConfig({ env: { PGRST_DB_SCHEMAS: 'api', PGRST_DB_AGGREGATES_ENABLED: 'true' } })
const validator = await createValidator()
const extensions = extensionsOf(createExtensions({ settings: config }))
const newSnapshot = (): Snapshot => new Snapshot({ config, roleSettings: noRoleSettings }, cache, partsOf(extensions))

type Asked = {
  readonly query?: string
  readonly headers?: readonly (readonly [string, string])[]
  readonly body?: string
  readonly within?: Snapshot
}

function asked({ query = '', headers = [], body = '', within = newSnapshot() }: Asked): Prepared | ApiError {
  const method = body === '' ? 'GET' : 'POST'
  const http = { method, path: '/projects', query, headers, body: Buffer.from(body) }
  return prepare(http, { snapshot: within, extensions, schemaCache: cache, validator }, () => undefined)
}

const outcome = (found: Prepared | ApiError): string => (found instanceof ApiError ? found.code : 'ok')

/** The item for each number, joined. */
const many = (count: number, item: (number: number) => string): string =>
  Array.from({ length: count }, (_, n) => item(n)).join('')

/** Least processor time of several runs, in milliseconds. */
const least = (runs: number, work: () => unknown): number =>
  Math.min(...Array.from({ length: runs }, () => cpuTime(() => void work())))

/**
 * Compares the time for inputs of one and of four times the size: four times as much for linear work, sixteen times as
 * much for quadratic work.
 */
function grows(t: Test, name: string, work: (size: number) => unknown, size = 2_000): void {
  work(size / 10)
  const [small, large] = [least(3, () => work(size)), least(2, () => work(4 * size))]
  t.ok(large < 10 * small + 30, `${name}: ${Math.round(small)} ms, ${Math.round(large)} ms`)
}

t.test('queries of many parameters and items', async (t) => {
  const aliases = (count: number, embed: string): string => `select=${many(count, (n) => `x${n}:${embed}(id),`)}id`
  const rows: readonly (readonly [name: string, query: (count: number) => string, code: string])[] = [
    ['filters', (count) => many(count, () => 'id=eq.1&'), 'ok'],
    ['logic trees', (count) => many(count, () => 'or=(id.eq.1)&'), 'ok'],
    ['conditions on groups', (count) => `select=client_id&${many(count, () => 'having=id.sum().eq.1&')}`, 'ok'],
    ['embeds', (count) => aliases(count, 'clients'), 'ok'],
    ['filters of embeds', (count) => `${aliases(count, 'tasks')}&${many(count, (n) => `x${n}.id=eq.1&`)}`, 'ok'],
    ['null filters', (count) => `${aliases(count, 'tasks')}&${many(count, (n) => `x${n}=is.null&`)}`, 'ok'],
    ['orders', (count) => `${aliases(count, 'clients')}&order=${many(count, (n) => `x${n}(id),`)}id`, 'ok'],
    ['limits', (count) => `${aliases(count, 'clients')}&${many(count, (n) => `x${n}.limit=1&`)}`, 'ok'],
    [
      'distinct aliases',
      (count) => `select=${many(count, (n) => `x${n}:id,`)}id&distinct=on.(${many(count, (n) => `x${n},`)}id)`,
      'ok',
    ],
    [
      'distinct and orders',
      (count) => `select=${many(count, (n) => `x${n}:id,`)}id&distinct=on.*&order=${many(count, () => 'id,')}id`,
      'ok',
    ],
    ['aggregates', (count) => `select=...clients(${many(count / 2, (n) => `x${n}:id.sum(),`)}id)`, 'ok'],
    ['an error at the end', (count) => `select=${many(count, () => 'data->a::text,')}`, 'PGRST100'],
    ['a long path', (count) => `${'clients.'.repeat(count)}id=eq.1`, 'PGRST108'],
  ]
  grows(t, 'many filters', (count) => asked({ query: many(count, () => 'id=eq.1&') }), 10_000)
  for (const [name, query, code] of rows) {
    const ask = (count: number): Prepared | ApiError =>
      asked({ query: query(count), headers: [['prefer', 'count=exact']] })
    t.equal(outcome(ask(100)), code, name)
    grows(t, name, ask)
  }
})

t.test('the number of embeds', (t) => {
  const query = (count: number): string => `select=${many(count - 1, (n) => `x${n}:clients(id),`)}tasks(projects(id))`
  t.equal(outcome(asked({ query: query(99) })), 'ok', 'one hundred')
  t.match(asked({ query: query(100) }), {
    code: 'PGRSTX84',
    status: 400,
    message: 'The request has 101 embeds, and the limit is 100',
  })
  // The limit is that of writes that return embeds, too.
  const write = { body: '{"name":"a"}', headers: [['prefer', 'return=representation']] } as const
  t.equal(outcome(asked({ query: query(99), ...write })), 'ok')
  t.equal(outcome(asked({ query: query(100), ...write })), 'PGRSTX84')
  t.end()
})

t.test('parameters of many embeds', async (t) => {
  const embed = (alias: string | null, embeds: readonly EmbedTree[]): EmbedTree => ({
    ...{
      relationName: 'clients',
      alias,
      hint: null,
      joinType: null,
      isSpread: false,
      select: [],
      where: [],
      order: [],
    },
    ...{ range: { offset: 0, limit: null }, addressedByLegacyName: false, embeds },
  })
  grows(
    t,
    'embeds',
    (count) => {
      const numbers = Array.from({ length: count }, (_, number) => number)
      const tree = embed(
        null,
        numbers.map((number) => embed(`x${number}`, [])),
      )
      const parameters = numbers.map((value) => ({ path: [`x${value}`], value }))
      return updateAll(tree, parameters, true, (target) => target)
    },
    10_000,
  )
})

t.test('a parse error costs little more than the parse', async (t) => {
  // Tracing each element of a list, as a part of it does, takes many times as long.
  const items = many(1_900, () => 'data->a::text,')
  const valid = least(4, () => parseQueryParams(`select=${items}id`, false))
  const invalid = least(4, () => {
    try {
      parseQueryParams(`select=${items}`, false)
    } catch {
      // Its time is measured.
    }
  })
  t.ok(invalid < 4 * valid + 10, `${Math.round(invalid)} ms and ${Math.round(valid)} ms`)
})

t.test('counts do not double with each level of embeds', async (t) => {
  const depth = 60
  const names = Array.from({ length: depth }, (_, level) => (level % 2 === 0 ? 'clients' : 'projects'))
  for (const join of ['', '!inner']) {
    const select = `${names.map((name) => `${name}${join}(`).join('')}id${')'.repeat(depth)}`
    const filters = names.map((name, level) => {
      const path = names
        .slice(0, level)
        .map((parent) => `${parent}.`)
        .join('')
      return `${path}${name}=not.is.null&${path}or=(${name}.is.null,${name}.not.is.null)`
    })
    const found = asked({ query: `select=${select}&${filters.join('&')}`, headers: [['prefer', 'count=exact']] })
    const { length } = found instanceof ApiError ? '' : (found.main?.text ?? '')
    t.ok(length > 0 && length < 60_000, `${outcome(found)}: ${length} characters of SQL`)
  }
})

t.test('spreads inside each other pass on a limited number of columns', async (t) => {
  const query = (columns: number, depth = 100): string => {
    const open = many(depth, (level) => (level % 2 === 0 ? '...clients(' : '...projects('))
    return `select=${open}${many(columns - 1, () => 'id,')}id${')'.repeat(depth)}`
  }
  t.equal(outcome(asked({ query: query(166) })), 'ok', 'a column counts for each spread')
  t.equal(outcome(asked({ query: query(167) })), 'PGRSTX83')
  t.equal(outcome(asked({ query: query(1664, 10) })), 'ok')
  t.match(asked({ query: query(1665, 10) }), {
    code: 'PGRSTX83',
    status: 400,
    message: 'The spreads pass on 16650 columns, and the limit is 16640',
  })
})

t.test('references of a batch', async (t) => {
  for (const unit of ['a', '(', 'a(', '"', 'a"', 'a{', 'a.', '\\', 'a.eq.1,', 'not.', 'a.in.(']) {
    grows(
      t,
      `what precedes a reference: ${unit}`,
      (size) => {
        const conditions = new Conditions()
        conditions.read(`(${unit.repeat(size)}`)
        conditions.value('1', true)
      },
      20_000,
    )
    grows(
      t,
      `a quoted name: ${unit}`,
      (size) => new Conditions().read(`("${unit.replaceAll('"', '(').repeat(size)}`),
      20_000,
    )
  }
  const fill = (size: number): unknown => {
    try {
      return fillUrl(urlTemplate(`/projects?or=(${'a('.repeat(size)},id.eq.\${a#/0})`), true, () => '"x"')
    } catch (error) {
      return error
    }
  }
  t.match(fill(10), { path: '/projects' })
  grows(t, 'a url', fill, 20_000)
})

t.test('the url and the headers of each request of a batch have a limit', async (t) => {
  const limits = { batchMaxRequests: 2, requestHeaderLimit: 1000 }
  const batch = (url: string, headers: Record<string, string>): Buffer =>
    Buffer.from(JSON.stringify({ requests: [{ id: 'a', method: 'GET', url, headers }] }))
  const rest = 1000 - '/?a=prefer'.length
  const tooLarge = (bytes: number) => ({
    code: 'PGRSTX11',
    status: 431,
    details: `They have ${bytes} bytes, and the limit is 1000 (request-header-limit).`,
  })
  t.equal(parseBatch(batch(`/?a=${'x'.repeat(rest - 5)}`, { prefer: 'yyyyy' }), limits).length, 1)
  t.throws(() => parseBatch(batch(`/?a=${'x'.repeat(rest - 4)}`, { prefer: 'yyyyy' }), limits), tooLarge(1001))
  t.throws(() => parseBatch(batch('/', { prefer: 'y'.repeat(1000) }), limits), tooLarge(1007))
  // Their size is checked before they are read.
  const parse = (size: number): void => {
    t.throws(() => parseBatch(batch('/', { prefer: ','.repeat(size) }), limits), tooLarge(size + 7))
  }
  grows(t, 'many preferences', parse, 20_000)
})

t.test('forms of escapes', (t) => {
  for (const escape of ['%41', '+++']) {
    grows(t, escape, (size) => parseQueryString(`a=${escape.repeat(size)}`), 250_000)
  }
  t.end()
})

t.test('nested bodies', async (t) => {
  const levels = 100
  const deep = (size: number): string => {
    const inner = `{"id":1,"data":${'['.repeat(size)}${']'.repeat(size)}}`
    return `${'{"client_id":1,"tasks":[{"projects":'.repeat(levels)}${inner}${'}]}'.repeat(levels)}`
  }
  const ask = (levelsOfBrackets: number): Prepared | ApiError => asked({ body: deep(levelsOfBrackets) })
  t.equal(outcome(ask(10)), 'PGRSTX23', 'refused after all levels were read')
  // A level that reads the rest of the body again takes at least as long as the parse of the whole.
  const parse = least(3, () => JSON.parse(deep(200_000)))
  const nested = least(2, () => ask(200_000))
  t.ok(nested < 15 * parse + 50, `${levels} levels: ${Math.round(nested)} ms; parsing: ${Math.round(parse)} ms`)
  grows(t, 'many objects', (count) => {
    const text = `{"rows":[${many(count, (n) => `{"id":${n},"text":"${'x'.repeat(n % 90)}","list":[[${n}],{}]},`)}{"id":0}]}`
    const document = new JsonDocument(text)
    const [start = 0] = document.membersAt(document.start).values()
    return document.elementsAt(start).map((at) => document.textAt(at))
  })
})

t.test('what a client sends fills no cache', async (t) => {
  const within = newSnapshot()
  const send = (query: string, prefer: string): void => {
    for (let time = 0; time < 3; time++) asked({ query, headers: [['prefer', prefer]], within })
  }
  for (let request = 0; request < 100; request++) send('', `${request}${'x'.repeat(90_000)}`)
  t.strictSame(within.plans.entries(), [], 'long headers are not part of a key')
  const items = 'id,'.repeat(600)
  for (let request = 0; request < 400; request++) send(`select=${items}x${request}:id`, '')
  const { used, limit } = within.plans.bytes
  const entries = within.plans.entries()
  t.ok(entries.length > 20 && entries.length < 350, `${entries.length} plans of 2 kB queries`)
  t.ok(used <= limit && limit <= 32 * 1024 * 1024, `${used} of ${limit} bytes`)
})
