import t from 'tap'
import type { CrudPlan } from '../../../server/rest/plan/plan.ts'
import type { Preferences } from '../../../server/rest/request/preferences.ts'
import { respond, respondInspect } from '../../../server/rest/response/respond.ts'
import type { RestResponse, ResultRow } from '../../../server/rest/response/result.ts'
import {
  callPlan,
  calling,
  deletePlan,
  field,
  insertPlan,
  plannedRequest,
  readPlan,
  reading,
  requestShape,
  routine,
  updatePlan,
  writing,
  type FlatRequest,
} from '../../support/plans.ts'

const row = (more: Partial<ResultRow> = {}): ResultRow => ({
  tableTotal: null,
  queryTotal: 2,
  location: [],
  body: '[1,2]',
  headersSetting: null,
  statusSetting: null,
  inserted: 0,
  version: undefined,
  ...more,
})

type Given = {
  readonly request?: Partial<FlatRequest>
  readonly preferences?: Omit<Preferences, 'invalid'>
  readonly canonical?: string
  readonly onConflict?: readonly string[]
  readonly basePath?: string
}

function answer(plan: CrudPlan, result: Partial<ResultRow>, given: Given = {}): RestResponse {
  const request = plannedRequest({
    ...given.request,
    preferences: { ...given.preferences, invalid: [] },
    canonicalQuery: given.canonical ?? '',
    onConflict: given.onConflict,
  })
  return respond(plan, row(result), request, { clientErrorVerbosity: 'verbose' }, given.basePath ?? '')
}

type Row = readonly [
  title: string,
  plan: CrudPlan,
  result: Partial<ResultRow>,
  given: Given,
  status: number,
  headers: Record<string, string>,
  body: string | Buffer,
]

const json = 'application/json; charset=utf-8'
const read = reading(readPlan('items'))
const offset = (value: number) => ({ request: { topLevelRange: { offset: value, limit: null } } })
const insert = writing(insertPlan('items', [field('id', { type: 'int' })], '{}', { primaryKey: ['id'] }))
const keyless = writing(insertPlan('items', [], '{}'))
const update = writing(updatePlan('items', [], '{}'))
const remove = writing(deletePlan('items'))
const put = writing(insertPlan('items', [], '{}'), { mutation: 'single-upsert' })
const call = calling(callPlan('f'), routine('f'))
const nothing = calling(
  callPlan('f'),
  routine('f', {
    returns: { setOf: false, composite: false, compositeAlias: false, type: { schema: 'pg_catalog', name: 'void' } },
  }),
)
const full = { representation: 'representation' } as const

const rows: readonly Row[] = [
  [
    'read',
    read,
    {},
    {},
    200,
    { 'Content-Range': '0-1/*', 'Content-Location': '/items', 'Content-Length': '5', 'Content-Type': json },
    '[1,2]',
  ],
  [
    'read with a query, below a mount path, of a negotiated schema',
    read,
    { body: '["é"]' },
    { canonical: 'a=eq.1&b=x%20y', basePath: '/rest/v1', request: { negotiatedByProfile: true, schema: 'té' } },
    200,
    {
      'Content-Range': '0-1/*',
      'Content-Location': '/rest/v1/items?a=eq.1&b=x%20y',
      'Content-Length': '6',
      'Content-Type': json,
      'Content-Profile': 'tÃ©',
    },
    '["é"]',
  ],
  [
    'part of a counted table',
    read,
    { tableTotal: 10 },
    { ...offset(4), preferences: { count: 'exact' } },
    206,
    {
      'Content-Range': '4-5/10',
      'Content-Location': '/items',
      'Content-Length': '5',
      'Content-Type': json,
      'Preference-Applied': 'count=exact',
    },
    '[1,2]',
  ],
  [
    'all of a counted table',
    read,
    { tableTotal: 2 },
    {},
    200,
    { 'Content-Range': '0-1/2', 'Content-Location': '/items', 'Content-Length': '5', 'Content-Type': json },
    '[1,2]',
  ],
  [
    'an empty table',
    read,
    { tableTotal: 0, queryTotal: 0, body: '[]' },
    {},
    200,
    { 'Content-Range': '*/0', 'Content-Location': '/items', 'Content-Length': '2', 'Content-Type': json },
    '[]',
  ],
  [
    'no rows, not counted',
    read,
    { queryTotal: 0, body: '[]' },
    offset(3),
    200,
    { 'Content-Range': '*/*', 'Content-Location': '/items', 'Content-Length': '2', 'Content-Type': json },
    '[]',
  ],
  [
    'an offset at the end',
    read,
    { tableTotal: 3, queryTotal: 0, body: '[]' },
    offset(3),
    206,
    { 'Content-Range': '*/3', 'Content-Location': '/items', 'Content-Length': '2', 'Content-Type': json },
    '[]',
  ],
  [
    'an offset beyond the end',
    read,
    { tableTotal: 3, queryTotal: 0, body: '[]' },
    offset(4),
    416,
    { 'Content-Range': '*/3', 'Content-Location': '/items', 'Content-Length': '144', 'Content-Type': json },
    '{"code":"PGRST103","details":"An offset of 4 was requested, but there are only 3 rows.","hint":null,' +
      '"message":"Requested range not satisfiable"}',
  ],
  [
    'HEAD has no length and no body',
    reading(readPlan('items'), { headersOnly: true, handler: { kind: 'none' } }),
    { body: '' },
    { preferences: { handling: 'strict', timezone: 'UTC', maxAffected: 1, missing: 'default', ...full } },
    200,
    {
      'Content-Range': '0-1/*',
      'Content-Location': '/items',
      'Content-Type': json,
      'Preference-Applied': 'handling=strict, timezone=UTC',
    },
    '',
  ],
  [
    'binary body of a custom media type',
    reading(readPlan('items'), { mediaType: { kind: 'other', text: 'image/png' } }),
    { body: Buffer.from([0, 255]) },
    {},
    200,
    { 'Content-Range': '0-1/*', 'Content-Location': '/items', 'Content-Length': '2', 'Content-Type': 'image/png' },
    Buffer.from([0, 255]),
  ],
  [
    'a hostile relation name',
    reading(readPlan('a\r\nSet-Cookie: x=y')),
    {},
    {},
    200,
    {
      'Content-Range': '0-1/*',
      'Content-Location': '/a  Set-Cookie: x=y',
      'Content-Length': '5',
      'Content-Type': json,
    },
    '[1,2]',
  ],
  ['create', insert, { queryTotal: 1 }, {}, 201, { 'Content-Length': '0', 'Content-Range': '*/*' }, ''],
  [
    'create, headers only',
    insert,
    {
      queryTotal: 1,
      location: [
        ['id', 'eq.1'],
        ["o'(d)", 'eq.a b&c=é'],
        ['n', 'is.null'],
      ],
    },
    { preferences: { representation: 'headers-only', count: 'exact' }, basePath: '/rest/v1' },
    201,
    {
      'Content-Length': '0',
      Location: '/rest/v1/items?id=eq.1&o%27%28d%29=eq.a%20b%26c%3D%C3%A9&n=is.null',
      'Content-Range': '*/1',
      'Preference-Applied': 'return=headers-only, count=exact',
    },
    '',
  ],
  [
    'create, with the rows',
    insert,
    {},
    { preferences: { ...full, missing: 'default', count: 'planned', maxAffected: 1, handling: 'strict' } },
    201,
    {
      'Content-Length': '5',
      'Content-Range': '*/*',
      'Preference-Applied': 'missing=default, return=representation, count=planned, handling=strict',
      'Content-Type': json,
    },
    '[1,2]',
  ],
  [
    'upsert that created rows',
    insert,
    { inserted: 1 },
    { preferences: { resolution: 'merge-duplicates' } },
    201,
    { 'Content-Length': '0', 'Content-Range': '*/*', 'Preference-Applied': 'resolution=merge-duplicates' },
    '',
  ],
  [
    'upsert that created no rows',
    insert,
    { inserted: 0 },
    { preferences: { resolution: 'merge-duplicates' } },
    200,
    { 'Content-Length': '0', 'Content-Range': '*/*', 'Preference-Applied': 'resolution=merge-duplicates' },
    '',
  ],
  [
    'upsert of no rows',
    insert,
    { inserted: null },
    { preferences: { resolution: 'merge-duplicates' } },
    200,
    { 'Content-Length': '0', 'Content-Range': '*/*', 'Preference-Applied': 'resolution=merge-duplicates' },
    '',
  ],
  [
    'insert that ignored all',
    insert,
    { inserted: 0, queryTotal: 0 },
    { preferences: { resolution: 'ignore-duplicates' } },
    201,
    { 'Content-Length': '0', 'Content-Range': '*/*', 'Preference-Applied': 'resolution=ignore-duplicates' },
    '',
  ],
  [
    'no key: no duplicates to resolve',
    keyless,
    { inserted: 1 },
    { preferences: { resolution: 'merge-duplicates' } },
    201,
    { 'Content-Length': '0', 'Content-Range': '*/*' },
    '',
  ],
  [
    'no primary key, but on_conflict',
    keyless,
    { inserted: 1 },
    { preferences: { resolution: 'merge-duplicates' }, onConflict: ['a'] },
    201,
    { 'Content-Length': '0', 'Content-Range': '*/*', 'Preference-Applied': 'resolution=merge-duplicates' },
    '',
  ],
  ['update', update, {}, {}, 204, { 'Content-Range': '0-1/*' }, ''],
  [
    'update of nothing',
    update,
    { queryTotal: 0 },
    { preferences: { count: 'exact' } },
    204,
    { 'Content-Range': '*/0', 'Preference-Applied': 'count=exact' },
    '',
  ],
  [
    'update, with the rows',
    update,
    {},
    { preferences: { ...full, count: 'exact', maxAffected: 5, handling: 'strict', transaction: 'rollback' } },
    200,
    {
      'Content-Range': '0-1/2',
      'Preference-Applied': 'return=representation, count=exact, tx=rollback, handling=strict, max-affected=5',
      'Content-Length': '5',
      'Content-Type': json,
    },
    '[1,2]',
  ],
  [
    'update, headers only',
    update,
    {},
    { preferences: { representation: 'headers-only', maxAffected: 5, handling: 'lenient' } },
    204,
    { 'Content-Range': '0-1/*', 'Preference-Applied': 'return=headers-only, handling=lenient' },
    '',
  ],
  ['PUT', put, { inserted: 1 }, {}, 204, {}, ''],
  [
    'PUT of a new row',
    put,
    { inserted: 1 },
    { preferences: { ...full, resolution: 'merge-duplicates' } },
    201,
    { 'Preference-Applied': 'return=representation', 'Content-Length': '5', 'Content-Type': json },
    '[1,2]',
  ],
  [
    'PUT of an old row',
    put,
    { inserted: 0 },
    { preferences: full },
    200,
    { 'Preference-Applied': 'return=representation', 'Content-Length': '5', 'Content-Type': json },
    '[1,2]',
  ],
  ['delete', remove, {}, {}, 204, { 'Content-Range': '*/*' }, ''],
  [
    'delete, with the rows',
    remove,
    {},
    { preferences: { ...full, count: 'estimated', missing: 'default' } },
    200,
    {
      'Content-Range': '*/2',
      'Preference-Applied': 'return=representation, count=estimated',
      'Content-Length': '5',
      'Content-Type': json,
    },
    '[1,2]',
  ],
  [
    'call',
    call,
    { queryTotal: 1, body: '42' },
    { preferences: { ...full, maxAffected: 3, handling: 'strict' } },
    200,
    {
      'Content-Range': '0-0/*',
      'Preference-Applied': 'handling=strict, max-affected=3',
      'Content-Length': '2',
      'Content-Type': json,
    },
    '42',
  ],
  ['call that returns nothing', nothing, { queryTotal: 1, body: 'null' }, {}, 204, { 'Content-Range': '0-0/*' }, ''],
  [
    'HEAD of a call',
    calling(callPlan('f'), routine('f'), { method: 'head' }),
    { body: '' },
    {},
    200,
    { 'Content-Range': '0-1/*', 'Content-Type': json },
    '',
  ],
  [
    'call, an offset beyond the end',
    call,
    { tableTotal: 0, queryTotal: 0, body: '[]' },
    offset(1),
    416,
    { 'Content-Range': '*/0', 'Content-Length': '144', 'Content-Type': json },
    '{"code":"PGRST103","details":"An offset of 1 was requested, but there are only 0 rows.","hint":null,' +
      '"message":"Requested range not satisfiable"}',
  ],
  [
    'execution plan',
    reading(readPlan('items'), {
      explain: true,
      mediaType: { kind: 'plan', for: { kind: 'csv' }, format: 'text', options: ['analyze', 'wal'] },
    }),
    { body: 'Aggregate\n' },
    { preferences: { count: 'exact' } },
    200,
    {
      'Content-Length': '10',
      'Content-Type': 'application/vnd.pgrst.plan+text; for="text/csv"; options=analyze|wal; charset=utf-8',
    },
    'Aggregate\n',
  ],
  [
    'status and headers set by the database',
    read,
    {
      statusSetting: '299',
      headersSetting: '[{"content-type":"text/x"},{"Set-Cookie":"a=b"},{"Set-Cookie":"c=d\\té"}]',
    },
    {},
    299,
    {
      'Content-Range': '0-1/*',
      'Content-Location': '/items',
      'Content-Length': '5',
      'content-type': 'text/x',
      'Set-Cookie': 'a=b, c=d\tÃ©',
    },
    '[1,2]',
  ],
]

for (const [title, plan, result, given, status, headers, body] of rows) {
  t.test(title, async (t) => {
    const response = answer(plan, result, given)
    const joined: Record<string, string> = {}
    for (const [name, value] of response.headers) joined[name] = name in joined ? `${joined[name]}, ${value}` : value
    t.strictSame({ status: response.status, headers: joined, body: response.body }, { status, headers, body })
  })
}

const unreadable: readonly (readonly [Partial<ResultRow>, string])[] = [
  [{ statusSetting: 'teapot' }, 'PGRST112'],
  [{ statusSetting: '' }, 'PGRST112'],
  [{ statusSetting: '-1' }, 'PGRST112'],
  [{ statusSetting: '101' }, 'PGRST112'],
  [{ statusSetting: '1000' }, 'PGRST112'],
  [{ statusSetting: 'x', headersSetting: 'x' }, 'PGRST112'],
  ...[
    'x',
    'null',
    '{}',
    '[1]',
    '[null]',
    '[[]]',
    '[{}]',
    '[{"a":1}]',
    '[{"a":"1","b":"2"}]',
    '[{"a b":"1"}]',
    '[{"":"1"}]',
    '[{"a\\r\\nb":"1"}]',
    '[{"Content-Length:":"1"}]',
    '[{"a":"1\\r\\nX: y"}]',
    '[{"a":"1\\u0000"}]',
    '[{"Content-Length":"1\\n"}]',
  ].map((headersSetting) => [{ headersSetting }, 'PGRST111'] as const),
]

for (const [settings, code] of unreadable) {
  t.test(`invalid: ${JSON.stringify(settings)}`, async (t) => {
    t.throws(() => answer(read, settings), { code, status: 500 })
    t.throws(() => answer(remove, settings), { code, status: 500 })
    t.throws(() => answer(call, settings), { code, status: 500 })
  })
}

t.test('the error about a header names it', async (t) => {
  for (const [name, value, details] of [
    ['X Y', 'a', '"X Y" is not a header name.'],
    ['X\r\nY', 'a', '"X\\r\\nY" is not a header name.'],
    ['X-Y', 'a\r\nSet-Cookie: b', 'The value of X-Y contains a control character.'],
    ['X-Y', 'a\u007f', 'The value of X-Y contains a control character.'],
  ] as const) {
    t.throws(() => answer(read, { headersSetting: JSON.stringify([{ [name]: value }]) }), { code: 'PGRST111', details })
  }
})

t.test('framing headers are left to the server', async (t) => {
  const names =
    'Content-Length,content-length,Transfer-Encoding,Connection,Keep-Alive,Proxy-Connection,Upgrade,Trailer,TE'
  for (const name of names.split(',')) {
    const set = [{ 'X-A': '1' }, { [name]: 'close' }]
    const response = answer(read, { headersSetting: JSON.stringify(set) })
    const plain = answer(read, { headersSetting: JSON.stringify(set.slice(0, 1)) })
    t.strictSame(response, {
      ...plain,
      warning: `response.headers must not set ${name}: reserved for the server; ignored`,
    })
  }
})

t.test('leading digits of a status are sufficient', async (t) => {
  t.equal(answer(read, { statusSetting: '404 not here' }).status, 404)
})

t.test('the description of a schema', async (t) => {
  const shape = requestShape({ negotiatedByProfile: true, schema: 'v1' })
  const plan = { kind: 'inspect', schema: 'v1', headersOnly: false, readOnly: true } as const
  const type = 'application/openapi+json; charset=utf-8'
  t.strictSame(respondInspect(plan, '{}', shape), {
    status: 200,
    headers: [
      ['Content-Type', type],
      ['Content-Length', '2'],
      ['Content-Profile', 'v1'],
    ],
    body: '{}',
  })
  t.strictSame(respondInspect({ ...plan, headersOnly: true }, '{}', requestShape()), {
    status: 200,
    headers: [['Content-Type', type]],
    body: '',
  })
})
