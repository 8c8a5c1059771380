import t from 'tap'
import { version } from '../../../server/common/version.ts'
import { errorResponse } from '../../../server/rest/response/error.ts'
import { needsResultCheck, resultError } from '../../../server/rest/response/result-check.ts'
import {
  finish,
  serverTiming,
  traceHeader,
  type FinishOptions,
  type Notices,
} from '../../../server/rest/response/finish.ts'
import { headerText, type Header, type Headers } from '../../../server/rest/response/header.ts'
import { respondInfo } from '../../../server/rest/response/info.ts'
import type { RestResponse } from '../../../server/rest/response/result.ts'
import { explainBody, readResult } from '../../../server/rest/response/result-row.ts'
import { plannedRows, tableTotal } from '../../../server/rest/response/total.ts'
import type { CrudPlan } from '../../../server/rest/plan/plan.ts'
import { ApiError, errors } from '../../../server/rest/errors.ts'
import type { Table } from '../../../server/catalogue/table.ts'
import {
  requestShape,
  callPlan,
  calling,
  deletePlan,
  insertPlan,
  readPlan,
  reading,
  routine,
  updatePlan,
  writing,
} from '../../support/plans.ts'
import { schemaCache } from '../../support/small-schema-cache.ts'

const answer: RestResponse = { status: 200, headers: [['A', 'b']], body: '' }
const plain: FinishOptions = { notices: undefined, cors: [], closesConnection: false, trace: undefined }
const noNotices: Notices = { timing: undefined, legacy: [] }
const server: Header = ['Server', `postgrest/16.2 rowhouse/${version}`]
const headersOf = (response: Partial<RestResponse>, finishing: Partial<FinishOptions>): Headers =>
  finish({ ...answer, ...response }, { ...plain, ...finishing }).headers

t.test('headers of every result', async (t) => {
  const vary: Header = ['Vary', 'Accept, Prefer, Range']
  t.strictSame(headersOf({}, { notices: noNotices }), [['A', 'b'], vary, server])
  t.strictSame(headersOf({ headers: [['vary', '*']] }, { notices: noNotices }), [['vary', '*'], server])
  const timing = { jwt: 0.04, parse: 1, plan: 2.25, transaction: 1234.56, response: 0 }
  t.equal(serverTiming(timing), 'jwt;dur=0.0, parse;dur=1.0, plan;dur=2.3, transaction;dur=1234.6, response;dur=0.0')
  t.strictSame(headersOf({}, { notices: { timing, legacy: [{ name: 'tasks', alias: 'the\n"tasks"' }] } }), [
    ['A', 'b'],
    ['Server-Timing', serverTiming(timing)],
    [
      'Warning',
      '299 PostgRESTv16.2 "Embedded resource was referenced by relation name even though it has an alias. This is deprecated' +
        ' and will stop working in a future release. Update `tasks` to `the "tasks"` in query string filters, orders or limits."',
    ],
    vary,
    server,
  ])
})

t.test('headers of every response', async (t) => {
  const error = errorResponse(errors.noSchemaCache(), 'verbose')
  t.strictSame(finish(error, plain).headers, [['Retry-After', '0'], ...error.headers, server])
  const later: Headers = [['retry-after', '7']]
  t.strictSame(headersOf({ status: 503, headers: later }, {}), [...later, server])
  t.strictSame(headersOf({ headers: [['SERVER', 'mine']] }, {}), [['SERVER', 'mine']])
  t.strictSame(headersOf({ headers: [['b', '1']] }, { cors: [['B', '2'], ['C', '3']] }), [['b', '1'], ['C', '3'], server]) // prettier-ignore
  const trace = traceHeader('X-Id', [['x-id', '1']])
  t.strictSame(trace, ['X-Id', '1'])
  t.strictSame(traceHeader('X-Id', []), ['X-Id', ''])
  t.strictSame(
    headersOf({ status: 503 }, { notices: noNotices, cors: [['C', '3']], closesConnection: true, trace }),
    [
      ['Retry-After', '0'],
      ['X-Id', '1'],
      ['A', 'b'],
      ['Vary', 'Accept, Prefer, Range'],
      ['C', '3'],
      ['Connection', 'close'],
      server,
    ],
    'all at once, in their order',
  )
  const { headers } = answer
  finish(answer, { ...plain, trace })
  t.strictSame(headers, [['A', 'b']], 'the response itself stays as it was')
})

t.test('errors', async (t) => {
  const error = new ApiError({
    code: 'X\r\nY: 1',
    status: 401,
    message: 'é',
    hint: 'h',
    headers: [['WWW-Authenticate', 'Bearer\n']],
    statusText: 'No\nway é',
  })
  t.strictSame(errorResponse(error, 'verbose'), {
    status: 401,
    statusText: 'No way Ã©',
    headers: [
      ['Content-Type', 'application/json; charset=utf-8'],
      ['Content-Length', '61'],
      ['Proxy-Status', 'PostgREST; error=X  Y: 1'],
      ['WWW-Authenticate', 'Bearer '],
    ],
    body: '{"code":"X\\r\\nY: 1","details":null,"hint":"h","message":"é"}',
  })
  t.equal(
    errorResponse(errors.noJwtSecret(), 'minimal').body,
    '{"code":"PGRST300","message":"Server lacks JWT secret"}',
  )
  t.equal(errorResponse(errors.noJwtSecret(), 'minimal').statusText, undefined)
})

t.test('header text', async (t) => {
  t.equal(headerText('plain\ttext'), 'plain\ttext')
  t.equal(headerText('a\0b\x7fc\r\nd'), 'a b c  d')
  t.equal(Buffer.from(headerText('表🐘'), 'latin1').toString(), '表🐘')
})

const table = (more: Partial<Table>): Table => ({
  schema: 'api',
  name: 'items',
  description: null,
  isView: false,
  insertable: true,
  updatable: true,
  deletable: true,
  primaryKey: ['id'],
  columns: new Map(),
  ...more,
})

const allowed: readonly (readonly [Partial<Table>, string])[] = [
  [{}, 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE'],
  [{ primaryKey: [] }, 'OPTIONS,GET,HEAD,POST,PATCH,DELETE'],
  [{ updatable: false }, 'OPTIONS,GET,HEAD,POST,DELETE'],
  [{ insertable: false, deletable: false }, 'OPTIONS,GET,HEAD,PATCH'],
  [{ insertable: false, updatable: false, deletable: false }, 'OPTIONS,GET,HEAD'],
]

t.test('OPTIONS', async (t) => {
  const relation = { schema: 'api', name: 'items' }
  const answer = (methods: string) => ({
    status: 200,
    headers: [
      ['Content-Length', '0'],
      ['Access-Control-Allow-Origin', '*'],
      ['Allow', methods],
    ],
    body: '',
  })
  const none = schemaCache({})
  for (const [more, methods] of allowed) {
    const cache = schemaCache({ tables: [table(more)] })
    t.strictSame(respondInfo({ kind: 'relation-info', relation }, cache), answer(methods))
  }
  t.throws(() => respondInfo({ kind: 'relation-info', relation }, none), { code: 'PGRST205' })
  t.strictSame(respondInfo({ kind: 'routine-info', routine: routine('f') }, none), answer('OPTIONS,POST'))
  const stable = routine('f', { volatility: 'stable' })
  t.strictSame(respondInfo({ kind: 'routine-info', routine: stable }, none), answer('OPTIONS,GET,HEAD,POST'))
  t.strictSame(respondInfo({ kind: 'schema-info' }, none), answer('OPTIONS,GET,HEAD'))
})

t.test('totals', async (t) => {
  const totals: readonly (readonly [Parameters<typeof tableTotal>, number | null])[] = [
    [[undefined, null, null, null], null],
    [['exact', 5, null, 2], 5],
    [['planned', null, 7, null], 7],
    [['planned', null, null, null], null],
    [['estimated', 3, 1000, 5], 3],
    [['estimated', 5, 1000, 5], 5],
    [['estimated', 6, 1000, 5], 1000],
    [['estimated', 6, 2, 5], 6],
    [['estimated', 3, 10, null], 10],
    [['estimated', 3, 1, null], 3],
  ]
  for (const [given, expected] of totals) t.equal(tableTotal(...given), expected, JSON.stringify(given))
  t.equal(plannedRows('[{"Plan":{"Plan Rows": 12}}]'), 12)
  for (const text of ['[]', 'null', '[{}]', '[{"Plan":{}}]', '[{"Plan":{"Plan Rows":"x"}}]']) {
    t.equal(plannedRows(text), null, text)
  }
})

t.test('rows returned by the database', async (t) => {
  const row = (...fields: (string | Buffer | null)[]) => [
    fields.map((field) => (typeof field === 'string' ? Buffer.from(field) : field)),
  ]
  const body = Buffer.from([0, 255])
  t.strictSame(readResult('read', row('5', '2', '{}', null, null, '', body)), {
    tableTotal: 5,
    queryTotal: 2,
    location: [],
    headersSetting: null,
    statusSetting: null,
    inserted: 0,
    version: undefined,
    body,
  })
  t.strictSame(readResult('mutate', row('', '1', '{id=eq.1,"a\\"=x=y,z"}', '[]', '200', null, null)), {
    tableTotal: null,
    queryTotal: 1,
    location: [
      ['id', 'eq.1'],
      ['a"', 'x=y,z'],
    ],
    headersSetting: '[]',
    statusSetting: '200',
    inserted: null,
    version: undefined,
    body: '',
  })
  t.strictSame(readResult('call', []).tableTotal, 0)
  t.strictSame(readResult('mutate', []).tableTotal, null)
  t.equal(explainBody([...row('a'), ...row('b')]), 'a\nb\n')
})

const singular = { mediaType: { kind: 'single-json', stripNulls: true } } as const
const strictly = (maxAffected: number) => ({ handling: 'strict', maxAffected }) as const
const put = writing(insertPlan('items', [], '{}'), { mutation: 'single-upsert' })

type Fault = readonly [title: string, plan: CrudPlan, rows: number, preferences: object, code: string | undefined]
const faults: readonly Fault[] = [
  ['read', reading(readPlan('items')), 2, strictly(1), undefined],
  ['singular, no rows', reading(readPlan('items'), singular), 0, {}, 'PGRST116'],
  ['singular, one row', reading(readPlan('items'), singular), 1, {}, undefined],
  ['singular, two rows', reading(readPlan('items'), singular), 2, {}, 'PGRST116'],
  ['explained', reading(readPlan('items'), { ...singular, explain: true }), 2, {}, undefined],
  ['create', writing(insertPlan('items', [], '[]')), 5, strictly(1), undefined],
  ['create one', writing(insertPlan('items', [], '[]'), singular), 2, {}, 'PGRST116'],
  ['update within the limit', writing(updatePlan('items', [], '{}')), 2, strictly(2), undefined],
  ['update beyond the limit', writing(updatePlan('items', [], '{}')), 3, strictly(2), 'PGRST124'],
  ['lenient', writing(updatePlan('items', [], '{}')), 3, { handling: 'lenient', maxAffected: 1 }, undefined],
  ['without handling=strict', writing(updatePlan('items', [], '{}')), 3, { maxAffected: 1 }, undefined],
  ['delete beyond the limit', writing(deletePlan('items')), 3, strictly(2), 'PGRST124'],
  ['singular before the limit', writing(deletePlan('items'), singular), 3, strictly(2), 'PGRST116'],
  ['PUT', put, 1, {}, undefined],
  ['PUT of another row', put, 0, {}, 'PGRST115'],
  ['call beyond the limit', calling(callPlan('f'), routine('f')), 3, strictly(2), 'PGRST124'],
  ['singular call', calling(callPlan('f'), routine('f'), singular), 3, strictly(2), 'PGRST116'],
]

for (const [title, plan, queryTotal, preferences, code] of faults) {
  t.test(`error: ${title}`, async (t) => {
    const row = { ...readResult(plan.kind, []), queryTotal }
    const request = requestShape({ preferences: { ...preferences, invalid: [] } })
    t.equal(resultError(plan, row, request)?.code, code)
    if (code !== undefined) t.ok(needsResultCheck(plan, request), 'foreseen')
  })
}

t.test('details of errors', async (t) => {
  const row = { ...readResult('read', []), queryTotal: 2 }
  t.equal(resultError(reading(readPlan('items'), singular), row, requestShape())?.details, 'The result contains 2 rows')
  t.notOk(needsResultCheck(reading(readPlan('items')), requestShape()))
})
