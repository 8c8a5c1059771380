// POST to tables and views: values, and the response.
// https://docs.postgrest.org/en/stable/references/api/tables_views.html#insert
import { fault, type Exchange, type RequestTable } from '../support/request-table.ts'

const back = 'return=representation'
const applied = back
const vehicle = { plate: null, make_id: null, colour: 'grey', doors: 4, state: 'new', label: '?/grey' }

const values: readonly Exchange[] = [
  {
    name: 'numbers keep their digits, and JSON its text',
    send: [
      'POST',
      '/ledger?select=amount,big,raw,list',
      '{"amount": 123456789012345678901234567890.12345678901234567890, "big": 9223372036854775807, "raw": {"b": 1.0, "a": 1e2, "b": 12345678901234567890}, "list": [1, 2]}',
    ],
    prefer: back,
    status: 201,
    body: '[{"amount":123456789012345678901234567890.12345678901234567890,"big":9223372036854775807,"raw":{"b": 1.0, "a": 1e2, "b": 12345678901234567890},"list":[1,2]}]',
    applied,
  },
  {
    send: [
      'POST',
      '/ledger?select=amount,big',
      '[{"amount": 1.10, "big": -9223372036854775808}, {"amount": 0.10e1, "big": 0}]',
    ],
    prefer: back,
    status: 201,
    body: '[{"amount":1.10,"big":-9223372036854775808}, \n {"amount":1.0,"big":0}]',
    applied,
  },
  {
    send: ['POST', '/ledger', '{"big": 9223372036854775808}'],
    status: 400,
    body: fault('22003', 'value "9223372036854775808" is out of range for type bigint'),
  },
  {
    name: 'jsonb accepts nested values',
    send: ['POST', '/ledger?select=doc', '{"doc": {"a": [1, {"b": null}]}}'],
    prefer: back,
    status: 201,
    body: [{ doc: { a: [1, { b: null }] } }],
    applied,
  },
  {
    send: ['POST', '/ledger?select=doc,list', '{"doc": "text", "list": "{3,4}"}'],
    prefer: back,
    status: 201,
    body: [{ doc: 'text', list: [3, 4] }],
    applied,
  },
  {
    send: ['POST', '/ledger', '{"doc": "\\u0000"}'],
    status: 400,
    body: fault('22P05', 'unsupported Unicode escape sequence', '\\u0000 cannot be converted to text.'),
  },
  {
    send: ['POST', '/ledger', '{"n": 1}'],
    status: 400,
    body: fault(
      '428C9',
      'cannot insert a non-DEFAULT value into column "n"',
      'Column "n" is an identity column defined as GENERATED ALWAYS.',
      'Use OVERRIDING SYSTEM VALUE to override.',
    ),
  },
  {
    send: ['POST', '/vehicles', '{"label": "x"}'],
    status: 400,
    body: fault(
      '428C9',
      'cannot insert a non-DEFAULT value into column "label"',
      'Column "label" is a generated column.',
    ),
  },
  {
    send: ['POST', '/vehicles?select=id,label,state', { id: 50, plate: 'Q', colour: 'red', state: 'scrap' }],
    prefer: back,
    status: 201,
    body: [{ id: 50, label: 'Q/red', state: 'scrap' }],
    applied,
  },
  {
    send: ['POST', '/vehicles', { state: 'lost' }],
    status: 400,
    body: fault('22P02', 'invalid input value for enum state: "lost"'),
  },
  {
    send: ['POST', '/vehicles', { id: 1 }],
    status: 409,
    body: fault(
      '23505',
      'duplicate key value violates unique constraint "vehicles_pkey"',
      'Key (id)=(1) already exists.',
    ),
  },
  {
    send: ['POST', '/vehicles', { id: 60, make_id: 9 }],
    status: 409,
    body: fault(
      '23503',
      'insert or update on table "vehicles" violates foreign key constraint "vehicles_make_id_fkey"',
      'Key (make_id)=(9) is not present in table "makes".',
    ),
  },
  {
    send: ['POST', '/makes', { id: 9 }],
    status: 400,
    body: fault(
      '23502',
      'null value in column "name" of relation "makes" violates not-null constraint',
      'Failing row contains (9, null).',
    ),
  },
  {
    send: ['POST', '/vehicles', { id: 61, doors: -1 }],
    status: 400,
    body: fault(
      '23514',
      'new row for relation "vehicles" violates check constraint "vehicles_doors_check"',
      'Failing row contains (61, null, null, grey, -1, new, ?/grey).',
    ),
  },
]

const views: readonly Exchange[] = [
  {
    name: 'INSTEAD OF trigger',
    send: ['POST', '/plates', { name: 'V-1' }],
    prefer: back,
    status: 201,
    body: [{ id: 999, name: 'V-1' }],
    applied,
  },
  {
    name: 'the key of a view is that of its table',
    send: ['POST', '/plates', { id: 77, name: 'V-2' }],
    prefer: 'return=headers-only',
    status: 201,
    location: '/rest/v1/plates?id=eq.77',
    applied: 'return=headers-only',
  },
  {
    send: ['POST', '/red_vehicles', { id: 70, plate: 'R', colour: 'red' }],
    prefer: back,
    status: 201,
    body: [{ id: 70, plate: 'R', colour: 'red' }],
    applied,
  },
  {
    send: ['POST', '/red_vehicles', { id: 71, colour: 'blue' }],
    status: 400,
    body: fault(
      '44000',
      'new row violates check option for view "red_vehicles"',
      'Failing row contains (71, null, null, blue, 4, new, ?/blue).',
    ),
  },
  {
    send: ['POST', '/colours', { colour: 'x' }],
    status: 500,
    body: fault(
      '55000',
      'cannot insert into view "colours"',
      'Views containing GROUP BY are not automatically updatable.',
      'To enable inserting into the view, provide an INSTEAD OF INSERT trigger or an unconditional ON INSERT DO INSTEAD rule.',
    ),
  },
]

const answers: readonly Exchange[] = [
  { send: ['POST', '/tags', { name: 'x' }], prefer: 'return=minimal', status: 201, applied: 'return=minimal' },
  {
    name: 'select is ignored if nothing is returned',
    send: ['POST', '/tags?select=unknown', { name: 'x' }],
    status: 201,
  },
  {
    send: ['POST', '/tags?select=name', { name: 'a b&c=ü' }],
    prefer: 'return=headers-only',
    status: 201,
    location: '/rest/v1/tags?name=eq.a%20b%26c%3D%C3%BC',
    applied: 'return=headers-only',
    also: { 'Content-Length': '0' },
  },
  {
    send: ['POST', '/fittings', { vehicle_id: 3, part: 'roof, rack' }],
    prefer: 'return=headers-only',
    status: 201,
    location: '/rest/v1/fittings?vehicle_id=eq.3&part=eq.roof%2C%20rack',
    applied: 'return=headers-only',
  },
  {
    name: 'several rows have no Location',
    send: ['POST', '/tags', [{ name: 'x' }, { name: 'y' }]],
    prefer: 'return=headers-only',
    status: 201,
    applied: 'return=headers-only',
  },
  { send: ['POST', '/tags', '[]'], prefer: 'return=headers-only', status: 201, applied: 'return=headers-only' },
  {
    name: 'without a key, there is no Location',
    send: ['POST', '/notes', { message: 'x' }],
    prefer: 'return=headers-only',
    status: 201,
    applied: 'return=headers-only',
  },
  {
    send: ['POST', '/tags', [{ name: 'x' }, { name: 'y' }]],
    prefer: 'count=exact',
    status: 201,
    range: '*/2',
    applied: 'count=exact',
  },
  { send: ['POST', '/tags', '[]'], prefer: 'count=exact', status: 201, range: '*/0', applied: 'count=exact' },
  { send: ['POST', '/tags', { name: 'x' }], prefer: 'count=planned', status: 201, applied: 'count=planned' },
  {
    send: ['POST', '/tags', { name: 'x' }],
    prefer: 'count=estimated',
    status: 201,
    range: '*/1',
    applied: 'count=estimated',
  },
  {
    name: 'embeds of inserted rows',
    send: ['POST', '/vehicles?select=id,makes(name),fittings(part)', { id: 80, make_id: 3 }],
    prefer: `${back}, count=exact`,
    status: 201,
    range: '*/1',
    body: [{ id: 80, makes: { name: 'Škoda' }, fittings: [] }],
    applied: `${back}, count=exact`,
  },
  {
    send: [
      'POST',
      '/fittings?select=part,vehicles(plate,makes(name))&vehicles.makes.name=eq.none',
      { vehicle_id: 2, part: 'x' },
    ],
    prefer: back,
    status: 201,
    body: [{ part: 'x', vehicles: { plate: 'BB-2', makes: null } }],
    applied,
  },
  {
    send: [
      'POST',
      '/vehicles?select=key:id::text,loud_plate,...makes(make:name)',
      { id: 81, plate: 'low', make_id: 1 },
    ],
    prefer: back,
    status: 201,
    body: [{ key: '81', loud_plate: 'LOW!', make: 'Fiat' }],
    applied,
  },
  {
    name: 'filters and limits do not apply to inserted rows',
    send: ['POST', '/tags?name=eq.other&limit=0&order=name.desc', [{ name: 'x' }, { name: 'y' }]],
    prefer: back,
    status: 201,
    body: [{ name: 'y' }, { name: 'x' }],
    applied,
  },
  {
    send: ['POST', '/vehicles', { id: 90 }],
    accept: 'application/vnd.pgrst.object+json',
    prefer: back,
    status: 201,
    body: { id: 90, ...vehicle },
    contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
    applied,
  },
  {
    send: ['POST', '/vehicles?select=id,plate', { id: 91 }],
    accept: 'application/vnd.pgrst.object+json;nulls=stripped',
    prefer: back,
    status: 201,
    body: { id: 91 },
    contentType: 'application/vnd.pgrst.object+json;nulls=stripped; charset=utf-8',
    applied,
  },
  {
    send: ['POST', '/vehicles?select=id,plate', { id: 92 }],
    accept: 'application/vnd.pgrst.array+json;nulls=stripped',
    prefer: back,
    status: 201,
    body: [{ id: 92 }],
    contentType: 'application/vnd.pgrst.array+json;nulls=stripped; charset=utf-8',
    applied,
  },
  {
    send: ['POST', '/vehicles', [{ id: 93 }, { id: 94 }]],
    accept: 'application/vnd.pgrst.object+json',
    status: 406,
    body: fault('PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 2 rows'),
  },
  {
    send: ['POST', '/tags', { name: 'x' }],
    accept: 'image/png',
    prefer: back,
    status: 406,
    body: fault('PGRST107', 'None of these media types are available: image/png'),
  },
  {
    send: ['POST', '/vehicles?select=unknown', { id: 95 }],
    prefer: back,
    status: 400,
    body: fault('42703', 'column vehicles.unknown does not exist'),
  },
  {
    send: ['POST', '/vehicles?select=id,tags(*)', { id: 95 }],
    prefer: back,
    status: 400,
    body: fault(
      'PGRST200',
      "Could not find a relationship between 'vehicles' and 'tags' in the schema cache",
      "Searched for a foreign key relationship between 'vehicles' and 'tags' in the schema 'garage', but no matches were found.",
      "Perhaps you meant 'fittings' instead of 'tags'.",
    ),
  },
]

const rights: readonly Exchange[] = [
  {
    send: ['POST', '/secrets', { id: 2 }],
    status: 401,
    body: fault('42501', 'permission denied for table secrets'),
    also: { 'WWW-Authenticate': 'Bearer' },
  },
  {
    send: ['POST', '/secrets', { id: 2 }],
    as: 'garage_clerk',
    status: 403,
    body: fault('42501', 'new row violates row-level security policy for table "secrets"'),
    also: { 'WWW-Authenticate': null },
  },
  {
    name: 'a write-only table',
    send: ['POST', '/notes', { message: 'x' }],
    as: 'garage_auditor',
    status: 201,
  },
  {
    send: ['POST', '/notes', { message: 'x' }],
    as: 'garage_auditor',
    prefer: back,
    status: 403,
    body: fault('42501', 'permission denied for table notes'),
  },
]

export const insertRowTables: readonly RequestTable[] = [
  { title: 'values', rows: values },
  { title: 'views', rows: views },
  { title: 'answers', rows: answers },
  { title: 'rights', rows: rights },
]
