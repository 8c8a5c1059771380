// Functions: return types, and parameters that apply to the result.
// https://docs.postgrest.org/en/stable/references/api/functions.html
import { fault, type Exchange, type RequestTable } from '../support/request-table.ts'

const rpc = (method: string, rest: string, body?: unknown): Exchange['send'] => [method, `/rpc/${rest}`, body]
const one = { status: 200, range: '0-0/*' } as const
const two = { status: 200, range: '0-1/*' } as const
const json = 'application/json; charset=utf-8'
const vehicle = { id: 1, plate: 'AA-1', make_id: 1, colour: 'red', doors: 3, state: 'new', label: 'AA-1/red' }

const kinds: readonly Exchange[] = [
  { send: rpc('POST', 'gives_void', {}), status: 204, range: '0-0/*', also: { 'Content-Length': null } },
  { send: rpc('GET', 'gives_void'), status: 204, range: '0-0/*' },
  { send: rpc('GET', 'gives_null'), ...one, body: 'null' },
  { send: rpc('GET', 'gives_text'), ...one, body: '"a \\"text\\""' },
  { send: rpc('GET', 'gives_bool'), ...one, body: 'true' },
  { send: rpc('GET', 'gives_json'), ...one, body: '{"a": [1, 2]}' },
  { send: rpc('GET', 'gives_array'), ...one, body: '[1,2]' },
  { send: rpc('GET', 'gives_state'), ...one, body: '"used"' },
  { send: rpc('GET', 'gives_size'), ...one, body: '{"width":2,"height":3}' },
  {
    send: rpc('GET', 'gives_sizes'),
    ...two,
    body: [
      { width: 1, height: 2 },
      { width: 3, height: 4 },
    ],
  },
  { send: rpc('GET', 'gives_vehicle?key=1'), ...one, body: vehicle },
  {
    name: 'no row of a single composite: all fields are null',
    send: rpc('GET', 'gives_no_row'),
    ...one,
    body: { id: null, plate: null, make_id: null, colour: null, doors: null, state: null, label: null },
  },
  {
    send: rpc('GET', 'gives_vehicles?select=id'),
    status: 200,
    range: '0-2/*',
    body: [{ id: 1 }, { id: 2 }, { id: 3 }],
  },
  { send: rpc('GET', 'gives_numbers?n=3'), status: 200, range: '0-2/*', body: '[1, 2, 3]' },
  { send: rpc('GET', 'gives_numbers?n=0'), status: 200, range: '*/*', body: '[]' },
  {
    send: rpc('GET', 'gives_table'),
    ...two,
    body: [
      { i: 1, square: 1 },
      { i: 2, square: 4 },
    ],
  },
  { send: rpc('GET', 'gives_out?a=3'), ...one, body: { sum: 6, product: 9 } },
  { send: rpc('GET', 'gives_one_out?a=3'), ...one, body: { double: 6 } },
  { send: rpc('GET', 'gives_inout?a=3'), ...one, body: { a: 4 } },
  { send: rpc('GET', 'gives_record'), ...one, body: { a: 1, b: 2 } },
  {
    send: rpc('GET', 'gives_set_of_out'),
    ...two,
    body: [
      { a: 1, b: 'x' },
      { a: 2, b: 'y' },
    ],
  },
  { send: rpc('POST', 'add_tag', { name: 'x' }), ...one, body: { name: 'x' } },
]

const asked: readonly Exchange[] = [
  {
    send: rpc('GET', 'gives_vehicle?key=1&select=plate,makes(name)'),
    ...one,
    body: { plate: 'AA-1', makes: { name: 'Fiat' } },
  },
  {
    send: rpc('GET', 'gives_vehicles?select=id,fittings(part)&id=lt.3&order=id.desc&fittings.order=part'),
    ...two,
    body: [
      { id: 2, fittings: [{ part: 'radio' }] },
      { id: 1, fittings: [{ part: 'hook' }, { part: 'radio' }] },
    ],
  },
  { send: rpc('POST', 'gives_vehicles?select=id&colour=eq.blue', {}), ...one, body: [{ id: 2 }] },
  { send: rpc('POST', 'gives_vehicles?select=id&colour=is.null&id=gt.5', {}), status: 200, range: '*/*', body: [] },
  {
    send: rpc('GET', 'gives_vehicles?select=loud_plate,i:id::text&loud_plate=eq.BB-2!'),
    ...one,
    body: [{ loud_plate: 'BB-2!', i: '2' }],
  },
  {
    send: rpc('GET', 'gives_vehicles?select=id,makes!inner(name)&makes.name=eq.Volvo'),
    ...two,
    body: [
      { id: 2, makes: { name: 'Volvo' } },
      { id: 3, makes: { name: 'Volvo' } },
    ],
  },
  {
    send: rpc('GET', 'gives_table?n=5&i=gt.2&order=square.desc&limit=2&select=square'),
    ...two,
    body: [{ square: 25 }, { square: 16 }],
  },
  {
    name: 'order columns must be selected',
    send: rpc('GET', 'gives_table?order=i&select=square'),
    status: 400,
    body: fault('42703', 'column record.i does not exist'),
  },
  {
    send: rpc('GET', 'gives_table?n=5&limit=2&offset=1&select=i'),
    status: 200,
    range: '1-2/*',
    body: [{ i: 2 }, { i: 3 }],
  },
  {
    send: rpc('GET', 'gives_table?n=5&limit=2'),
    prefer: 'count=exact',
    status: 206,
    range: '0-1/5',
    body: [
      { i: 1, square: 1 },
      { i: 2, square: 4 },
    ],
    applied: 'count=exact',
  },
  {
    send: rpc('POST', 'gives_table?limit=1&offset=4&select=i', { n: 5 }),
    prefer: 'count=exact',
    status: 206,
    range: '4-4/5',
    body: [{ i: 5 }],
    applied: 'count=exact',
  },
  {
    send: rpc('GET', 'gives_table?n=5'),
    prefer: 'count=exact',
    headers: { Range: '1-2' },
    status: 206,
    range: '1-2/5',
    body: [
      { i: 2, square: 4 },
      { i: 3, square: 9 },
    ],
    applied: 'count=exact',
  },
  {
    name: 'the Range header applies to GET only',
    send: rpc('POST', 'gives_table?select=i', { n: 2 }),
    headers: { Range: '0-0' },
    ...two,
    body: [{ i: 1 }, { i: 2 }],
  },
  {
    send: rpc('GET', 'gives_table?n=2&offset=7'),
    prefer: 'count=exact',
    status: 416,
    range: '*/2',
    also: { 'Proxy-Status': null },
    body: fault(
      'PGRST103',
      'Requested range not satisfiable',
      'An offset of 7 was requested, but there are only 2 rows.',
    ),
    applied: 'count=exact',
  },
  { send: rpc('GET', 'gives_table?n=2&offset=7'), status: 200, range: '*/*', body: [] },
  {
    send: rpc('HEAD', 'gives_table?n=5&limit=2'),
    prefer: 'count=exact',
    status: 206,
    range: '0-1/5',
    contentType: json,
    applied: 'count=exact',
  },
  {
    send: rpc('GET', 'add?a=1&b=2'),
    prefer: 'count=exact',
    status: 200,
    range: '0-0/1',
    body: '3',
    applied: 'count=exact',
  },
  {
    send: rpc('GET', 'gives_table?n=2'),
    prefer: 'count=planned',
    ...two,
    body: [
      { i: 1, square: 1 },
      { i: 2, square: 4 },
    ],
    applied: 'count=planned',
  },
  {
    send: rpc('GET', 'gives_table?select=unknown'),
    status: 400,
    body: fault('42703', 'column pgrst_call.unknown does not exist'),
  },
  {
    send: rpc('GET', 'gives_table?select=i,makes(name)'),
    status: 400,
    body: fault(
      'PGRST200',
      "Could not find a relationship between 'record' and 'makes' in the schema cache",
      "Searched for a foreign key relationship between 'record' and 'makes' in the schema 'garage', but no matches were found.",
    ),
  },
  {
    send: rpc('GET', 'gives_table?n=2&i=eq.2&select=square'),
    accept: 'application/vnd.pgrst.object+json',
    ...one,
    body: { square: 4 },
    contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
  },
  {
    send: rpc('GET', 'gives_table'),
    accept: 'application/vnd.pgrst.object+json',
    status: 406,
    body: fault('PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 2 rows'),
  },
  {
    send: rpc('GET', 'gives_table'),
    accept: 'text/csv',
    ...two,
    body: 'i,square\n1,1\n2,4',
    contentType: 'text/csv; charset=utf-8',
  },
]

const tooMany = fault('PGRST124', 'Query result exceeds max-affected preference constraint', 'The query affects 2 rows')
const notASet = fault(
  'PGRST128',
  'Function must return SETOF or TABLE when max-affected preference is used with handling=strict',
)
const strict = (rows: number) => `handling=strict, max-affected=${rows}`

const affected: readonly Exchange[] = [
  {
    send: rpc('POST', 'delete_fittings?select=part&order=part', { vehicle: 1 }),
    prefer: strict(2),
    ...two,
    body: [{ part: 'hook' }, { part: 'radio' }],
    applied: strict(2),
  },
  { send: rpc('POST', 'delete_fittings', { vehicle: 1 }), prefer: strict(1), status: 400, body: tooMany },
  {
    send: rpc('POST', 'delete_fittings?part=eq.hook&select=part', { vehicle: 1 }),
    prefer: strict(1),
    ...one,
    body: [{ part: 'hook' }],
    applied: strict(1),
  },
  {
    send: rpc('POST', 'delete_fittings?select=part&limit=1&order=part', { vehicle: 1 }),
    prefer: 'max-affected=1',
    ...one,
    body: [{ part: 'hook' }],
  },
  { send: rpc('GET', 'gives_table'), prefer: strict(1), status: 400, body: tooMany },
  { send: rpc('POST', 'add', { a: 1, b: 2 }), prefer: strict(1), status: 400, body: notASet },
  { send: rpc('POST', 'gives_void', {}), prefer: strict(1), status: 400, body: notASet },
  { send: rpc('POST', 'add_tag', { name: 'x' }), prefer: strict(1), status: 400, body: notASet },
  {
    send: rpc('POST', 'add', { a: 1, b: 2 }),
    prefer: 'handling=lenient, max-affected=1',
    ...one,
    body: '3',
    applied: 'handling=lenient',
  },
]

const media: readonly Exchange[] = [
  {
    name: 'binary results are unchanged',
    send: rpc('GET', 'picture'),
    accept: 'image/png',
    ...one,
    body: Buffer.from('89504e470d0a1a0aff', 'hex'),
    contentType: 'image/png',
    also: { 'Content-Length': '9' },
  },
  { send: rpc('GET', 'page'), ...one, body: '"<p>é</p>"' },
  { send: rpc('GET', 'page'), accept: 'text/html', ...one, body: '<p>é</p>', contentType: 'text/html' },
  { send: rpc('GET', 'page'), accept: 'text/*;q=0.5, text/html', ...one, body: '<p>é</p>', contentType: 'text/html' },
  {
    send: rpc('GET', 'page'),
    accept: 'image/png',
    status: 406,
    body: fault('PGRST107', 'None of these media types are available: image/png'),
  },
  {
    send: rpc('GET', 'picture'),
    accept: 'text/html',
    status: 406,
    body: fault('PGRST107', 'None of these media types are available: text/html'),
  },
  { send: rpc('GET', 'anything'), accept: 'video/mp4', ...one, body: 'raw', contentType: 'application/octet-stream' },
  { send: rpc('GET', 'anything'), ...one, body: 'raw', contentType: 'application/octet-stream' },
  {
    send: rpc('GET', 'gives_text'),
    accept: 'text/plain',
    status: 406,
    body: fault('PGRST107', 'None of these media types are available: text/plain'),
  },
  {
    send: rpc('GET', 'gives_text'),
    accept: 'application/octet-stream',
    status: 406,
    body: fault('PGRST107', 'None of these media types are available: application/octet-stream'),
  },
]

export const resultTables: readonly RequestTable[] = [
  { title: 'kinds', rows: kinds },
  { title: 'asked', rows: asked },
  { title: 'affected', rows: affected },
  { title: 'media', rows: media },
]
