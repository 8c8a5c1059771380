// POST to tables and views.
// https://docs.postgrest.org/en/stable/references/api/tables_views.html#insert
import { fault, type Exchange, type RequestTable } from '../support/request-table.ts'

const csv = 'text/csv'
const form = 'application/x-www-form-urlencoded'
const back = 'return=representation'
const applied = back
const notJson = fault('PGRST102', 'Empty or invalid json')
const notUniform = fault('PGRST102', 'All object keys must match')
const unknownColumn = (column: string, table: string) =>
  fault('PGRST204', `Could not find the '${column}' column of '${table}' in the schema cache`)

const bodies: readonly Exchange[] = [
  { send: ['POST', '/tags', { name: 'new' }], status: 201, also: { 'Content-Length': '0' } },
  { send: ['POST', '/tags', [{ name: 'new' }, { name: 'newer' }]], status: 201 },
  { send: ['POST', '/tags', '[]'], status: 201 },
  { send: ['POST', '/tags', '[]'], prefer: back, status: 201, body: [], applied },
  { send: ['POST', '/notes', '{}'], prefer: back, status: 201, body: [{ message: null, level: 0 }], applied },
  {
    send: ['POST', '/notes', '[{},{}]'],
    prefer: back,
    status: 201,
    body: [
      { message: null, level: 0 },
      { message: null, level: 0 },
    ],
    applied,
  },
  { send: ['POST', '/notes', ''], status: 400, body: notJson },
  { send: ['POST', '/notes'], status: 400, body: notJson },
  { send: ['POST', '/notes', '{'], status: 400, body: notJson },
  { send: ['POST', '/notes', '{"message": "x"} x'], status: 400, body: notJson },
  { name: 'scalars are not rows', send: ['POST', '/notes', '"text"'], prefer: back, status: 201, body: [], applied },
  { send: ['POST', '/notes', 'null'], prefer: back, status: 201, body: [], applied },
  { send: ['POST', '/notes', '[1]'], status: 400, body: notUniform },
  { send: ['POST', '/notes', '[{"message": "a"}, 1]'], status: 400, body: notUniform },
  { send: ['POST', '/notes', '[{"message": "a"}, {"level": 1}]'], status: 400, body: notUniform },
  { send: ['POST', '/notes', '[{"message": "a"}, {"message": "b", "level": 1}]'], status: 400, body: notUniform },
  {
    name: 'the order of keys is irrelevant',
    send: ['POST', '/notes', '[{"message": "a", "level": 1}, {"level": 2, "message": "b"}]'],
    prefer: back,
    status: 201,
    body: [
      { message: 'a', level: 1 },
      { message: 'b', level: 2 },
    ],
    applied,
  },
  { send: ['POST', '/notes', { unknown: 1 }], status: 400, body: unknownColumn('unknown', 'notes') },
  { send: ['POST', '/notes', '{"__proto__": 1}'], status: 400, body: unknownColumn('__proto__', 'notes') },
  {
    name: 'of duplicate keys the last value is used',
    send: ['POST', '/notes', '{"level": 1, "level": 2}'],
    prefer: back,
    status: 201,
    body: [{ message: null, level: 2 }],
    applied,
  },
  {
    send: ['POST', '/nothing', {}],
    status: 404,
    body: fault('PGRST205', "Could not find the table 'garage.nothing' in the schema cache"),
  },
  {
    send: ['POST', '/note', {}],
    status: 404,
    body: fault(
      'PGRST205',
      "Could not find the table 'garage.note' in the schema cache",
      null,
      "Perhaps you meant the table 'garage.notes'",
    ),
  },
  {
    send: ['POST', '/tags', 'x'],
    type: 'application/xml',
    status: 400,
    body: fault('PGRST102', 'Content-Type not acceptable: application/xml'),
  },
  {
    send: ['POST', '/tags', '{"name": "x"}'],
    type: 'application/json; charset=utf-8',
    status: 201,
  },
  { send: ['POST', '/tags', { name: 'x' }], as: 'garage_clerk', status: 201 },
]

const csvAndForms: readonly Exchange[] = [
  {
    send: ['POST', '/notes', 'message,level\n"a, b",1\nNULL,2\n,3\n'],
    type: csv,
    prefer: back,
    status: 201,
    body: [
      { message: 'a, b', level: 1 },
      { message: null, level: 2 },
      { message: '', level: 3 },
    ],
    applied,
  },
  {
    send: ['POST', '/notes', 'message\nx'],
    type: csv,
    prefer: back,
    status: 201,
    body: [{ message: 'x', level: 0 }],
    applied,
  },
  {
    name: 'a header line only',
    send: ['POST', '/notes', 'message,level\n'],
    type: csv,
    prefer: back,
    status: 201,
    body: [],
    applied,
  },
  {
    name: 'a line shorter than the preceding ones',
    send: ['POST', '/notes', 'message,level\ny,1\nx\n'],
    type: csv,
    status: 400,
    body: fault('PGRST102', 'All lines must have same number of fields'),
  },
  {
    name: 'fields missing from all lines are omitted',
    send: ['POST', '/notes', 'message,level\nx\ny\n'],
    type: csv,
    prefer: back,
    status: 201,
    body: [
      { message: 'x', level: 0 },
      { message: 'y', level: 0 },
    ],
    applied,
  },
  { send: ['POST', '/notes', 'unknown\nx'], type: csv, status: 400, body: unknownColumn('unknown', 'notes') },
  {
    send: ['POST', '/notes', 'level\nmany'],
    type: csv,
    status: 400,
    body: fault('22P02', 'invalid input syntax for type integer: "many"'),
  },
  {
    send: ['POST', '/notes', 'message=a+b%26c&level=7'],
    type: form,
    prefer: back,
    status: 201,
    body: [{ message: 'a b&c', level: 7 }],
    applied,
  },
  {
    send: ['POST', '/notes', 'message='],
    type: form,
    prefer: back,
    status: 201,
    body: [{ message: '', level: 0 }],
    applied,
  },
  {
    name: 'in CSV out',
    send: ['POST', '/notes?select=level,message', 'message,level\n"say ""hi""",1'],
    type: csv,
    accept: csv,
    prefer: back,
    status: 201,
    body: 'level,message\n1,"say ""hi"""',
    contentType: 'text/csv; charset=utf-8',
    applied,
  },
]

const columns: readonly Exchange[] = [
  {
    send: ['POST', '/notes?columns=message', '{"message": "x", "level": 5, "more": 1}'],
    prefer: back,
    status: 201,
    body: [{ message: 'x', level: 0 }],
    applied,
  },
  {
    name: 'missing values are null',
    send: ['POST', '/notes?columns=message,level', '[{"message": "a"}, {"level": 3}]'],
    prefer: back,
    status: 201,
    body: [
      { message: 'a', level: null },
      { message: null, level: 3 },
    ],
    applied,
  },
  {
    send: ['POST', '/notes?columns=message,level', '[{"message": "a"}, {"level": 3}, {"level": null}]'],
    prefer: 'missing=default, return=representation',
    status: 201,
    body: [
      { message: 'a', level: 0 },
      { message: null, level: 3 },
      { message: null, level: null },
    ],
    applied: 'missing=default, return=representation',
  },
  {
    name: 'the default of an identity column',
    send: ['POST', '/vehicles?columns=id,plate&select=plate,colour', '[{"plate": "D-1"}, {"id": 5, "plate": "D-2"}]'],
    prefer: 'missing=default, return=representation',
    status: 201,
    body: [
      { plate: 'D-1', colour: 'grey' },
      { plate: 'D-2', colour: 'grey' },
    ],
    applied: 'missing=default, return=representation',
  },
  {
    send: ['POST', '/notes?columns=message', '{}'],
    prefer: 'missing=null, return=minimal',
    status: 201,
    applied: 'missing=null, return=minimal',
  },
  {
    send: ['POST', '/notes?columns=message', '5'],
    status: 400,
    body: fault('22023', 'cannot call json_to_recordset on a scalar'),
  },
  { send: ['POST', '/notes?columns=unknown', '{"unknown": 1}'], status: 400, body: unknownColumn('unknown', 'notes') },
  {
    name: 'PostgreSQL parses the body',
    send: ['POST', '/notes?columns=message', '{"message": '],
    status: 400,
    body: fault('22P02', 'invalid input syntax for type json', 'The input string ended unexpectedly.'),
  },
  {
    send: ['POST', '/notes?columns=', '{}'],
    status: 400,
    body: fault(
      'PGRST100',
      '"failed to parse columns parameter ()" (line 1, column 1)',
      'unexpected end of input expecting field name (* or [a..z0..9_$])',
    ),
  },
  {
    send: ['POST', `/Odd%20Names?columns="the key","a,b"&select="the key",b:"a,b"`, '{"the key": 2, "a,b": "z"}'],
    prefer: back,
    status: 201,
    body: [{ 'the key': 2, b: 'z' }],
    applied,
  },
]

export const insertBodyTables: readonly RequestTable[] = [
  { title: 'bodies', rows: bodies },
  { title: 'csv and forms', rows: csvAndForms },
  { title: 'columns', rows: columns },
]
