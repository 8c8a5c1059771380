// Upserts: POST with a resolution, and PUT.
// https://docs.postgrest.org/en/stable/references/api/tables_views.html#upsert
import { fault, type Exchange, type RequestTable } from '../support/request-table.ts'

const back = 'return=representation'
const merge = `resolution=merge-duplicates, ${back}`
const ignore = `resolution=ignore-duplicates, ${back}`
const fitting = { vehicle_id: 1, part: 'radio', quantity: 1, note: 'old' }

const merging: readonly Exchange[] = [
  {
    name: 'one row is new: 201',
    send: ['POST', '/makes', '[{"id": 1, "name": "FIAT"}, {"id": 7, "name": "Seat"}]'],
    prefer: merge,
    status: 201,
    body: [
      { id: 1, name: 'FIAT' },
      { id: 7, name: 'Seat' },
    ],
    applied: merge,
  },
  {
    name: 'all rows exist: 200',
    send: ['POST', '/makes', { id: 1, name: 'FIAT' }],
    prefer: merge,
    status: 200,
    body: [{ id: 1, name: 'FIAT' }],
    applied: merge,
  },
  {
    send: ['POST', '/makes', { id: 1, name: 'FIAT' }],
    prefer: 'resolution=merge-duplicates',
    status: 200,
    applied: 'resolution=merge-duplicates',
  },
  { send: ['POST', '/makes', '[]'], prefer: merge, status: 200, body: [], applied: merge },
  {
    name: 'other columns are kept',
    send: ['POST', '/fittings', { vehicle_id: 1, part: 'radio', quantity: 9 }],
    prefer: merge,
    status: 200,
    body: [{ ...fitting, quantity: 9 }],
    applied: merge,
  },
  {
    send: [
      'POST',
      '/fittings?columns=vehicle_id,part,note',
      '[{"vehicle_id": 1, "part": "radio"}, {"vehicle_id": 3, "part": "radio", "note": "x"}]',
    ],
    prefer: 'resolution=merge-duplicates, missing=default, return=representation',
    status: 201,
    body: [
      { ...fitting, note: 'none' },
      { vehicle_id: 3, part: 'radio', quantity: 1, note: 'x' },
    ],
    applied: 'resolution=merge-duplicates, missing=default, return=representation',
  },
  {
    name: 'key columns only',
    send: ['POST', '/tags', [{ name: 'fast' }, { name: 'slow' }]],
    prefer: merge,
    status: 201,
    body: [{ name: 'fast' }, { name: 'slow' }],
    applied: merge,
  },
  { send: ['POST', '/pairs', { a: 1, b: 1 }], prefer: merge, status: 200, body: [{ a: 1, b: 1 }], applied: merge },
  {
    name: 'a table without a key has no conflicts to resolve',
    send: ['POST', '/notes', { message: 'first', level: 1 }],
    prefer: merge,
    status: 201,
    body: [{ message: 'first', level: 1 }],
    applied: back,
  },
  {
    send: ['POST', '/makes?on_conflict=name', { id: 8, name: 'Fiat' }],
    prefer: merge,
    status: 409,
    body: fault(
      '23503',
      'update or delete on table "makes" violates foreign key constraint "vehicles_make_id_fkey" on table "vehicles"',
      'Key (id)=(1) is still referenced from table "vehicles".',
    ),
  },
  {
    send: ['POST', '/makes?on_conflict=name', { id: 30, name: 'Škoda' }],
    prefer: merge,
    status: 200,
    body: [{ id: 30, name: 'Škoda' }],
    applied: merge,
  },
  {
    send: ['POST', '/vehicles?on_conflict=plate&select=id,plate,colour', { plate: 'BB-2', colour: 'pink' }],
    prefer: merge,
    status: 200,
    body: [{ id: 2, plate: 'BB-2', colour: 'pink' }],
    applied: merge,
  },
  {
    send: ['POST', '/fittings?on_conflict=part,vehicle_id', fitting],
    prefer: merge,
    status: 200,
    body: [fitting],
    applied: merge,
  },
  {
    send: ['POST', '/vehicles?on_conflict=colour', { plate: 'x' }],
    prefer: merge,
    status: 400,
    body: fault('42P10', 'there is no unique or exclusion constraint matching the ON CONFLICT specification'),
  },
  {
    send: ['POST', '/vehicles?on_conflict=unknown', { plate: 'x' }],
    prefer: merge,
    status: 400,
    body: fault('42703', 'column "unknown" does not exist'),
  },
  {
    name: 'without a resolution it is a plain insert',
    send: ['POST', '/makes?on_conflict=id', { id: 1, name: 'x' }],
    status: 409,
    body: fault('23505', 'duplicate key value violates unique constraint "makes_pkey"', 'Key (id)=(1) already exists.'),
  },
  {
    name: 'a duplicate row',
    send: ['POST', '/makes', '[{"id": 9, "name": "a"}, {"id": 9, "name": "b"}]'],
    prefer: merge,
    status: 500,
    body: fault(
      '21000',
      'ON CONFLICT DO UPDATE command cannot affect row a second time',
      null,
      'Ensure that no rows proposed for insertion within the same command have duplicate constrained values.',
    ),
  },
  {
    name: 'a conflict with another constraint',
    send: ['POST', '/makes', { id: 9, name: 'Fiat' }],
    prefer: merge,
    status: 409,
    body: fault(
      '23505',
      'duplicate key value violates unique constraint "makes_name_key"',
      'Key (name)=(Fiat) already exists.',
    ),
  },
  {
    send: ['POST', '/makes', { id: 1, name: 'F' }],
    prefer: 'resolution=merge-duplicates, return=headers-only',
    status: 200,
    location: '/rest/v1/makes?id=eq.1',
    applied: 'resolution=merge-duplicates, return=headers-only',
  },
  {
    send: ['POST', '/makes', 'id,name\n1,F\n10,G'],
    type: 'text/csv',
    prefer: 'resolution=merge-duplicates, count=exact',
    status: 201,
    range: '*/2',
    applied: 'resolution=merge-duplicates, count=exact',
  },
]

const ignoring: readonly Exchange[] = [
  {
    send: ['POST', '/makes', '[{"id": 1, "name": "FIAT"}, {"id": 7, "name": "Seat"}]'],
    prefer: ignore,
    status: 201,
    body: [{ id: 7, name: 'Seat' }],
    applied: ignore,
  },
  {
    name: 'no row is new, and still 201',
    send: ['POST', '/makes', { id: 1, name: 'FIAT' }],
    prefer: ignore,
    status: 201,
    body: [],
    applied: ignore,
  },
  {
    send: ['POST', '/tags', [{ name: 'fast' }, { name: 'slow' }]],
    prefer: ignore,
    status: 201,
    body: [{ name: 'slow' }],
    applied: ignore,
  },
  {
    send: ['POST', '/pairs', '[{"a": 1, "b": 1}, {"a": 2, "b": 1}]'],
    prefer: ignore,
    status: 201,
    body: [{ a: 2, b: 1 }],
    applied: ignore,
  },
  {
    send: ['POST', '/vehicles?on_conflict=plate&select=plate', '[{"plate": "BB-2"}, {"plate": "N"}]'],
    prefer: ignore,
    status: 201,
    body: [{ plate: 'N' }],
    applied: ignore,
  },
  {
    send: ['POST', '/makes', { id: 1, name: 'F' }],
    prefer: 'resolution=ignore-duplicates, return=headers-only, count=exact',
    status: 201,
    range: '*/0',
    applied: 'resolution=ignore-duplicates, return=headers-only, count=exact',
  },
  {
    name: 'of two resolutions the first is used',
    send: ['POST', '/makes', { id: 1, name: 'F' }],
    prefer: 'resolution=ignore-duplicates, resolution=merge-duplicates',
    status: 201,
    applied: 'resolution=ignore-duplicates',
  },
]

const filters = fault('PGRST105', "Filters must include all and only primary key columns with 'eq' operators")
const limits = fault('PGRST114', 'limit/offset querystring parameters are not allowed for PUT')
export const mismatch = fault('PGRST115', 'Payload values do not match URL in primary key column(s)')

const putting: readonly Exchange[] = [
  {
    send: ['PUT', '/makes?id=eq.7', { id: 7, name: 'Seat' }],
    prefer: back,
    status: 201,
    body: [{ id: 7, name: 'Seat' }],
    applied: back,
  },
  {
    send: ['PUT', '/makes?id=eq.1', { id: 1, name: 'F' }],
    prefer: back,
    status: 200,
    body: [{ id: 1, name: 'F' }],
    applied: back,
  },
  { send: ['PUT', '/makes?id=eq.1', [{ id: 1, name: 'F' }]], status: 204 },
  { send: ['PUT', '/makes?id=eq.7', { id: 7, name: 'Seat' }], status: 204 },
  {
    send: ['PUT', '/makes?id=eq.7', { id: 7, name: 'S' }],
    prefer: 'return=minimal',
    status: 204,
    applied: 'return=minimal',
  },
  {
    name: 'no Location, no Content-Range',
    send: ['PUT', '/makes?id=eq.7', { id: 7, name: 'S' }],
    prefer: 'return=headers-only, count=exact',
    status: 204,
    applied: 'return=headers-only, count=exact',
  },
  {
    name: 'resolution does not apply to PUT',
    send: ['PUT', '/makes?id=eq.1', { id: 1, name: 'F' }],
    prefer: `resolution=ignore-duplicates, missing=default, ${back}`,
    status: 200,
    body: [{ id: 1, name: 'F' }],
    applied: back,
  },
  {
    send: ['PUT', '/fittings?vehicle_id=eq.1&part=eq.radio', { vehicle_id: 1, part: 'radio', quantity: 3 }],
    prefer: back,
    status: 200,
    body: [{ ...fitting, quantity: 3 }],
    applied: back,
  },
  {
    send: ['PUT', '/fittings?part=eq.x&vehicle_id=eq.2&select=part,vehicles(plate)', { vehicle_id: 2, part: 'x' }],
    prefer: back,
    status: 201,
    body: [{ part: 'x', vehicles: { plate: 'BB-2' } }],
    applied: back,
  },
  {
    send: ['PUT', '/tags?name=eq.fast', { name: 'fast' }],
    prefer: back,
    status: 200,
    body: [{ name: 'fast' }],
    applied: back,
  },
  {
    send: ['PUT', '/tags?name=eq.new', { name: 'new' }],
    prefer: back,
    status: 201,
    body: [{ name: 'new' }],
    applied: back,
  },
  {
    send: ['PUT', '/makes?id=eq.1', { id: 1, name: 'F' }],
    accept: 'application/vnd.pgrst.object+json',
    prefer: back,
    status: 200,
    body: { id: 1, name: 'F' },
    contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
    applied: back,
  },
  { send: ['PUT', '/makes?id=eq.2', { id: 1, name: 'F' }], status: 400, body: mismatch },
  {
    send: [
      'PUT',
      '/makes?id=eq.1',
      [
        { id: 1, name: 'F' },
        { id: 2, name: 'V' },
      ],
    ],
    prefer: back,
    status: 200,
    body: [{ id: 1, name: 'F' }],
    applied: back,
  },
  { send: ['PUT', '/makes?id=eq.1', '[]'], status: 400, body: fault('42703', 'column pgrst_body.id does not exist') },
  {
    send: ['PUT', '/makes?id=eq.1', { name: 'x' }],
    status: 400,
    body: fault('42703', 'column pgrst_body.id does not exist'),
  },
  { send: ['PUT', '/makes?id=eq.1', ''], status: 400, body: fault('PGRST102', 'Empty or invalid json') },
  { send: ['PUT', '/makes', { id: 1, name: 'x' }], status: 405, body: filters },
  { send: ['PUT', '/makes?name=eq.Fiat', { id: 1, name: 'x' }], status: 405, body: filters },
  { send: ['PUT', '/makes?id=eq.1&name=eq.Fiat', { id: 1, name: 'x' }], status: 405, body: filters },
  { send: ['PUT', '/makes?id=gt.1', { id: 1, name: 'x' }], status: 405, body: filters },
  { send: ['PUT', '/makes?id=in.(1)', { id: 1, name: 'x' }], status: 405, body: filters },
  { send: ['PUT', '/makes?id=not.eq.1', { id: 1, name: 'x' }], status: 405, body: filters },
  { send: ['PUT', '/makes?id=eq(any).{1}', { id: 1, name: 'x' }], status: 405, body: filters },
  { send: ['PUT', '/makes?and=(id.eq.1)', { id: 1, name: 'x' }], status: 405, body: filters },
  { send: ['PUT', '/makes?id=eq.1&or=(id.eq.1,id.eq.2)', { id: 1, name: 'x' }], status: 405, body: filters },
  { send: ['PUT', '/fittings?vehicle_id=eq.1', fitting], status: 405, body: filters },
  { send: ['PUT', '/notes?message=eq.first', { message: 'first' }], status: 405, body: filters },
  { send: ['PUT', '/makes?id=eq.1&limit=1', { id: 1, name: 'x' }], status: 400, body: limits },
  { send: ['PUT', '/makes?id=eq.1&offset=1', { id: 1, name: 'x' }], status: 400, body: limits },
  {
    name: 'limits are checked before filters',
    send: ['PUT', '/makes?limit=1', { id: 1, name: 'x' }],
    status: 400,
    body: limits,
  },
  {
    name: 'the Range header applies to GET only',
    send: ['PUT', '/makes?id=eq.1', { id: 1, name: 'F' }],
    headers: { Range: '0-1' },
    status: 204,
  },
]

export const upsertTables: readonly RequestTable[] = [
  { title: 'merging', rows: merging },
  { title: 'ignoring', rows: ignoring },
  { title: 'putting', rows: putting },
]
