// PATCH and DELETE.
// https://docs.postgrest.org/en/v14/references/api/tables_views.html#update
import t from 'tap'
import { exchangeAll, fault, type Exchange } from './support/request-table.ts'
import { startWrites } from './support/writes-service.ts'

const { call } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })

const back = 'return=representation'
const applied = back
const object = 'application/vnd.pgrst.object+json'
const objectType = `${object}; charset=utf-8`
const strict = (rows: number) => `handling=strict, max-affected=${rows}`
const tooMany = (rows: number) =>
  fault('PGRST124', 'Query result exceeds max-affected preference constraint', `The query affects ${rows} rows`)
const notOne = (rows: number) =>
  fault('PGRST116', 'Cannot coerce the result to a single JSON object', `The result contains ${rows} rows`)
const plates = (...list: string[]) => list.map((plate) => ({ plate }))

/** Which vehicles a filter reaches, by PATCH and by DELETE alike. */
const filters: readonly (readonly [filter: string, plates: readonly string[]])[] = [
  ['id=eq.1', ['AA-1']],
  ['id=neq.1', ['BB-2', 'CC-3']],
  ['id=gt.1&id=lt.3', ['BB-2']],
  ['id=gte.2', ['BB-2', 'CC-3']],
  ['id=lte.2', ['AA-1', 'BB-2']],
  ['id=in.(1,3)', ['AA-1', 'CC-3']],
  ['id=not.in.(1,3)', ['BB-2']],
  ['plate=like.A*', ['AA-1']],
  ['plate=ilike.*c-*', ['CC-3']],
  ['plate=like(any).{A*,B*}', ['AA-1', 'BB-2']],
  ['plate=match.^[AB]', ['AA-1', 'BB-2']],
  ['colour=is.null', ['CC-3']],
  ['colour=not.is.null', ['AA-1', 'BB-2']],
  ['colour=isdistinct.red', ['BB-2', 'CC-3']],
  ['state=eq.used', ['BB-2']],
  ['or=(id.eq.1,plate.eq.CC-3)', ['AA-1', 'CC-3']],
  ['and=(id.gt.1,not.or(id.eq.3,colour.is.null))', ['BB-2']],
  ['colour=fts.blue', ['BB-2']],
  ['loud_plate=eq.AA-1!', ['AA-1']],
  ['id=eq.99', []],
]

t.test('filters', async (t) => {
  const rows = filters.flatMap(([filter, reached]): Exchange[] => [
    {
      send: ['PATCH', `/vehicles?${filter}&select=plate`, { doors: 2 }],
      prefer: back,
      status: 200,
      range: reached.length === 0 ? '*/*' : `0-${reached.length - 1}/*`,
      body: plates(...reached),
      applied,
    },
    {
      send: ['DELETE', `/vehicles?${filter}&select=plate`],
      prefer: back,
      status: 200,
      body: plates(...reached),
      applied,
    },
  ])
  await exchangeAll(t, call, rows)
})

const updates: readonly Exchange[] = [
  {
    send: ['PATCH', '/notes?level=eq.1', { message: 'x' }],
    status: 204,
    range: '0-0/*',
    also: { 'content-length': null },
  },
  { send: ['PATCH', '/notes', { level: 9 }], status: 204, range: '0-1/*' },
  { send: ['PATCH', '/notes?level=eq.7', { level: 9 }], status: 204, range: '*/*' },
  {
    send: ['PATCH', '/notes', { level: 9 }],
    prefer: 'count=exact',
    status: 204,
    range: '0-1/2',
    applied: 'count=exact',
  },
  {
    send: ['PATCH', '/notes?level=eq.7', { level: 9 }],
    prefer: 'count=exact',
    status: 204,
    range: '*/0',
    applied: 'count=exact',
  },
  {
    send: ['PATCH', '/notes', { level: 9 }],
    prefer: 'count=planned',
    status: 204,
    range: '0-1/*',
    applied: 'count=planned',
  },
  {
    send: ['PATCH', '/notes', { level: 9 }],
    prefer: 'return=minimal',
    status: 204,
    range: '0-1/*',
    applied: 'return=minimal',
  },
  {
    send: ['PATCH', '/notes', { level: 9 }],
    prefer: 'return=headers-only',
    status: 204,
    range: '0-1/*',
    applied: 'return=headers-only',
  },
  {
    send: ['PATCH', '/notes?level=eq.1', { level: 9 }],
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: [{ message: 'first', level: 9 }],
    applied,
  },
  { send: ['PATCH', '/notes?level=eq.7', { level: 9 }], prefer: back, status: 200, range: '*/*', body: [], applied },
  {
    name: 'limit and offset do not count, order does for what comes back',
    send: ['PATCH', '/notes?limit=1&offset=1&order=message.desc', { level: 9 }],
    prefer: back,
    status: 200,
    range: '0-1/*',
    body: [
      { message: 'second', level: 9 },
      { message: 'first', level: 9 },
    ],
    applied,
  },
  {
    send: ['PATCH', '/vehicles?id=eq.2&select=colour,makes(name),fittings(part)', { make_id: 3, colour: null }],
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: [{ colour: null, makes: { name: 'Škoda' }, fittings: [{ part: 'radio' }] }],
    applied,
  },
  {
    name: 'filters of an embed do not choose rows to write',
    send: ['PATCH', '/vehicles?select=id,fittings(part)&fittings.part=eq.hook&id=lte.2&order=id', { doors: 1 }],
    prefer: back,
    status: 200,
    range: '0-1/*',
    body: [
      { id: 1, fittings: [{ part: 'hook' }] },
      { id: 2, fittings: [] },
    ],
    applied,
  },
  { name: 'nothing to set', send: ['PATCH', '/notes', {}], status: 204, range: '*/*' },
  { send: ['PATCH', '/notes', '[]'], prefer: back, status: 200, range: '*/*', body: [], applied },
  {
    send: ['PATCH', '/vehicles?id=eq.1&select=id,makes(name)', '[{}]'],
    prefer: back,
    status: 200,
    range: '*/*',
    body: [],
    applied,
  },
  { send: ['PATCH', '/notes', {}], prefer: 'count=exact', status: 204, range: '*/0', applied: 'count=exact' },
  { send: ['PATCH', '/notes', ''], status: 400, body: fault('PGRST102', 'Empty or invalid json') },
  {
    send: ['PATCH', '/notes', '[{"level": 1}, {"message": "x"}]'],
    status: 400,
    body: fault('PGRST102', 'All object keys must match'),
  },
  {
    name: 'of an array, the first row is written',
    send: ['PATCH', '/notes?level=eq.1', '[{"level": 5}]'],
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: [{ message: 'first', level: 5 }],
    applied,
  },
  {
    send: ['PATCH', '/notes?level=eq.1&columns=message', { message: 'm', level: 5, more: 1 }],
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: [{ message: 'm', level: 1 }],
    applied,
  },
  {
    send: ['PATCH', '/notes?level=eq.1&columns=message,level', { message: 'm' }],
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: [{ message: 'm', level: null }],
    applied,
  },
  {
    send: ['PATCH', '/notes?level=eq.1&columns=message,level', { message: 'm' }],
    prefer: `missing=default, ${back}`,
    status: 200,
    range: '0-0/*',
    body: [{ message: 'm', level: 0 }],
    applied: `missing=default, ${back}`,
  },
  {
    send: ['PATCH', '/notes?level=eq.1', 'message=m&level=4'],
    type: 'application/x-www-form-urlencoded',
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: [{ message: 'm', level: 4 }],
    applied,
  },
  {
    send: ['PATCH', '/notes?level=eq.1', 'message,level\nNULL,4'],
    type: 'text/csv',
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: [{ message: null, level: 4 }],
    applied,
  },
  {
    send: [
      'PATCH',
      '/ledger?big=eq.7&select=amount,big',
      '{"amount": 0.1000000000000000000000001, "big": 9007199254740993}',
    ],
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: '[{"amount":0.1000000000000000000000001,"big":9007199254740993}]',
    applied,
  },
  {
    send: ['PATCH', '/notes', { unknown: 1 }],
    status: 400,
    body: fault('PGRST204', "Could not find the 'unknown' column of 'notes' in the schema cache"),
  },
  {
    send: ['PATCH', '/notes?unknown=eq.1', { level: 1 }],
    status: 400,
    body: fault('42703', 'column notes.unknown does not exist'),
  },
  {
    send: ['PATCH', '/vehicles?id=eq.1', { label: 'x' }],
    status: 400,
    body: fault('428C9', 'column "label" can only be updated to DEFAULT', 'Column "label" is a generated column.'),
  },
  {
    send: ['PATCH', '/makes?id=eq.1', { id: 2 }],
    status: 409,
    body: fault('23505', 'duplicate key value violates unique constraint "makes_pkey"', 'Key (id)=(2) already exists.'),
  },
  {
    send: ['PATCH', '/plates?id=eq.1', { name: 'P' }],
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: [{ id: 1, name: 'P' }],
    applied,
  },
  {
    send: ['PATCH', '/red_vehicles?id=eq.1', { colour: 'blue' }],
    status: 400,
    body: fault(
      '44000',
      'new row violates check option for view "red_vehicles"',
      'Failing row contains (1, AA-1, 1, blue, 3, new, AA-1/blue).',
    ),
  },
  { send: ['PATCH', '/secrets', { value: 'x' }], as: 'garage_clerk', status: 204, range: '*/*' },
  {
    send: ['PATCH', '/secrets', { value: 'x' }],
    status: 401,
    body: fault('42501', 'permission denied for table secrets'),
    also: { 'www-authenticate': 'Bearer' },
  },
  {
    send: ['PATCH', '/Odd%20Names?%22the%20key%22=eq.1', { 'tag=x': 'new' }],
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: [{ 'the key': 1, 'a,b': 'x', 'tag=x': 'new' }],
    applied,
  },
]

const deletes: readonly Exchange[] = [
  { send: ['DELETE', '/notes?level=eq.1'], status: 204, also: { 'content-length': null } },
  { send: ['DELETE', '/notes'], status: 204 },
  { send: ['DELETE', '/notes?level=eq.7'], status: 204 },
  { send: ['DELETE', '/notes'], prefer: 'count=exact', status: 204, range: '*/2', applied: 'count=exact' },
  { send: ['DELETE', '/notes?level=eq.7'], prefer: 'count=exact', status: 204, range: '*/0', applied: 'count=exact' },
  { send: ['DELETE', '/notes'], prefer: 'return=minimal', status: 204, applied: 'return=minimal' },
  { send: ['DELETE', '/notes'], prefer: 'return=headers-only', status: 204, applied: 'return=headers-only' },
  { send: ['DELETE', '/notes?level=eq.1'], prefer: back, status: 200, body: [{ message: 'first', level: 1 }], applied },
  { send: ['DELETE', '/notes?level=eq.7'], prefer: back, status: 200, body: [], applied },
  {
    send: ['DELETE', '/notes?order=level.desc&limit=1&select=level'],
    prefer: `${back}, count=exact`,
    status: 200,
    range: '*/2',
    body: [{ level: 2 }, { level: 1 }],
    applied: `${back}, count=exact`,
  },
  {
    send: ['DELETE', '/fittings?vehicle_id=eq.2&select=part,vehicles(plate)'],
    prefer: back,
    status: 200,
    body: [{ part: 'radio', vehicles: { plate: 'BB-2' } }],
    applied,
  },
  { name: 'a body is not looked at', send: ['DELETE', '/notes?level=eq.1', '{'], status: 204 },
  {
    name: 'missing and resolution are not for DELETE',
    send: ['DELETE', '/tags'],
    prefer: 'missing=default, resolution=merge-duplicates, return=minimal',
    status: 204,
    applied: 'return=minimal',
  },
  {
    send: ['DELETE', '/makes?id=eq.1'],
    status: 409,
    body: fault(
      '23503',
      'update or delete on table "makes" violates foreign key constraint "vehicles_make_id_fkey" on table "vehicles"',
      'Key (id)=(1) is still referenced from table "vehicles".',
    ),
  },
  { send: ['DELETE', '/plates?id=eq.3'], prefer: back, status: 200, body: [{ id: 3, name: 'CC-3' }], applied },
  {
    send: ['DELETE', '/notes?level=eq.x'],
    status: 400,
    body: fault('22P02', 'invalid input syntax for type integer: "x"'),
  },
  { send: ['DELETE', '/secrets'], as: 'garage_clerk', prefer: back, status: 200, body: [], applied },
]

const limits: readonly Exchange[] = [
  { send: ['PATCH', '/notes', { level: 9 }], prefer: strict(2), status: 204, range: '0-1/*', applied: strict(2) },
  { send: ['PATCH', '/notes', { level: 9 }], prefer: strict(1), status: 400, body: tooMany(2) },
  { send: ['PATCH', '/notes', { level: 9 }], prefer: `${strict(0)}, ${back}`, status: 400, body: tooMany(2) },
  { send: ['DELETE', '/notes'], prefer: strict(1), status: 400, body: tooMany(2) },
  { send: ['DELETE', '/notes?level=eq.1'], prefer: strict(1), status: 204, applied: strict(1) },
  { send: ['DELETE', '/notes'], prefer: 'handling=lenient, max-affected=1', status: 204, applied: 'handling=lenient' },
  { send: ['DELETE', '/notes'], prefer: 'max-affected=1', status: 204 },
  {
    name: 'not for inserts',
    send: ['POST', '/tags', [{ name: 'x' }, { name: 'y' }]],
    prefer: strict(1),
    status: 201,
    applied: 'handling=strict',
  },
  {
    name: 'nor PUT',
    send: ['PUT', '/tags?name=eq.x', { name: 'x' }],
    prefer: strict(0),
    status: 204,
    applied: 'handling=strict',
  },
  {
    send: ['PATCH', '/notes?level=eq.1', { level: 9 }],
    accept: object,
    prefer: back,
    status: 200,
    range: '0-0/*',
    body: { message: 'first', level: 9 },
    contentType: objectType,
    applied,
  },
  { send: ['PATCH', '/notes', { level: 9 }], accept: object, status: 406, body: notOne(2) },
  { send: ['PATCH', '/notes?level=eq.7', { level: 9 }], accept: object, status: 406, body: notOne(0) },
  { send: ['PATCH', '/notes?level=eq.1', { level: 9 }], accept: object, status: 204, range: '0-0/*' },
  { send: ['PATCH', '/notes', {}], accept: object, status: 406, body: notOne(0) },
  { send: ['DELETE', '/notes'], accept: object, prefer: back, status: 406, body: notOne(2) },
  {
    name: 'singular comes before max-affected',
    send: ['DELETE', '/notes'],
    accept: object,
    prefer: strict(1),
    status: 406,
    body: notOne(2),
  },
  {
    send: ['DELETE', '/notes?level=eq.2'],
    accept: object,
    prefer: back,
    status: 200,
    body: { message: 'second', level: 2 },
    contentType: objectType,
    applied,
  },
]

for (const [title, rows] of Object.entries({ updates, deletes, limits })) {
  t.test(title, (t) => exchangeAll(t, call, rows))
}

t.test('what is refused for its result is undone', async (t) => {
  const { call } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage', PGRST_DB_TX_END: 'commit' })
  const untouched: Exchange = {
    send: ['GET', '/notes?order=level'],
    status: 200,
    range: '0-1/*',
    body: [
      { message: 'first', level: 1 },
      { message: 'second', level: 2 },
    ],
  }
  await exchangeAll(t, call, [
    { send: ['PATCH', '/notes', { level: 9 }], prefer: strict(1), status: 400, body: tooMany(2) },
    untouched,
    { send: ['DELETE', '/notes'], prefer: strict(1), status: 400, body: tooMany(2) },
    untouched,
    { send: ['PATCH', '/notes', { level: 9 }], accept: object, status: 406, body: notOne(2) },
    untouched,
    { send: ['DELETE', '/notes'], accept: object, status: 406, body: notOne(2) },
    untouched,
    { send: ['POST', '/notes', [{ level: 8 }, { level: 9 }]], accept: object, status: 406, body: notOne(2) },
    untouched,
    { send: ['POST', '/rpc/delete_fittings', { vehicle: 1 }], prefer: strict(1), status: 400, body: tooMany(2) },
    { send: ['POST', '/rpc/delete_fittings', { vehicle: 1 }], accept: object, status: 406, body: notOne(2) },
    {
      send: ['GET', '/fittings?vehicle_id=eq.1&select=part&order=part'],
      status: 200,
      range: '0-1/*',
      body: [{ part: 'hook' }, { part: 'radio' }],
    },
    { send: ['PATCH', '/notes?level=eq.1', { level: 9 }], accept: object, status: 204, range: '0-0/*' },
    { send: ['DELETE', '/notes?level=eq.2'], prefer: strict(1), status: 204, applied: strict(1) },
    { send: ['GET', '/notes'], status: 200, range: '0-0/*', body: [{ message: 'first', level: 9 }] },
  ])
})
