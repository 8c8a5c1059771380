// Functions: how arguments are read from a request, and how the function is chosen.
// https://docs.postgrest.org/en/stable/references/api/functions.html
import { fault, type Exchange, type RequestTable } from '../support/request-table.ts'

const rpc = (method: string, rest: string, body?: unknown): Exchange['send'] => [method, `/rpc/${rest}`, body]
const ok = { status: 200, range: '0-0/*' } as const
const form = 'application/x-www-form-urlencoded'
const binary = 'application/octet-stream'

const named: readonly Exchange[] = [
  { send: rpc('GET', 'add?a=1&b=2'), ...ok, body: '3' },
  { send: rpc('POST', 'add', { a: 1, b: 2 }), ...ok, body: '3' },
  { send: rpc('POST', 'add', 'a=1&b=2'), type: form, ...ok, body: '3' },
  { send: rpc('HEAD', 'add?a=1&b=2'), ...ok, contentType: 'application/json; charset=utf-8' },
  { send: rpc('GET', 'greet'), ...ok, body: '"Hello, you!"' },
  { send: rpc('GET', 'greet?name=A%20%26+B'), ...ok, body: '"Hello, A & B!"' },
  { send: rpc('GET', 'greet?mark=.'), ...ok, body: '"Hello, you."' },
  { send: rpc('POST', 'greet', { mark: '?', name: null }), ...ok, body: 'null' },
  { send: rpc('POST', 'greet', {}), ...ok, body: '"Hello, you!"' },
  { name: 'an empty body means no arguments', send: rpc('POST', 'greet'), ...ok, body: '"Hello, you!"' },
  { send: rpc('POST', 'greet', ''), ...ok, body: '"Hello, you!"' },
  { send: rpc('POST', 'greet', 'name='), type: form, ...ok, body: '"Hello, !"' },
  { send: rpc('POST', 'required_and_default', { a: 2 }), ...ok, body: '20' },
  { send: rpc('POST', 'required_and_default', { a: 2, b: 3 }), ...ok, body: '6' },
  {
    name: 'the query parameters of a POST apply to the result',
    send: rpc('POST', 'add?select=x', { a: 1, b: 2 }),
    status: 400,
    body: fault('42703', 'column add.x does not exist'),
  },
  { name: 'of duplicate arguments the last one is used', send: rpc('GET', 'add?a=1&b=2&b=5'), ...ok, body: '6' },
  { send: rpc('POST', 'add?columns=a,b', { a: 1, b: 2, more: 3 }), ...ok, body: '3' },
  {
    send: rpc('POST', 'precise', '{"n": 0.10000000000000000000001, "big": 9007199254740993}'),
    ...ok,
    body: '{"n" : 0.10000000000000000000001, "big" : 9007199254740993}',
  },
  {
    send: rpc('GET', 'precise?n=1.10&big=-9223372036854775808'),
    ...ok,
    body: '{"n" : 1.10, "big" : -9223372036854775808}',
  },
  {
    name: 'an argument with the name of a query parameter',
    send: rpc('GET', 'Odd%20Function?the%20arg=1&select=2'),
    status: 400,
    body: fault('42703', 'column Odd Function.2 does not exist'),
  },
  { send: rpc('POST', 'Odd%20Function', { 'the arg': 1, select: 2 }), ...ok, body: '3' },
  { name: 'length modifiers do not truncate', send: rpc('GET', 'limited?name=abc'), ...ok, body: '"abc-zz"' },
  { send: rpc('GET', 'add?a=x&b=2'), status: 400, body: fault('22P02', 'invalid input syntax for type integer: "x"') },
  {
    send: rpc('POST', 'add', { a: 'x', b: 2 }),
    status: 400,
    body: fault('22P02', 'invalid input syntax for type integer: "x"'),
  },
  { send: rpc('POST', 'add', '{'), status: 400, body: fault('PGRST102', 'Empty or invalid json') },
  {
    send: rpc('POST', 'add', 'x'),
    type: 'application/xml',
    status: 400,
    body: fault('PGRST102', 'Content-Type not acceptable: application/xml'),
  },
]

const arraysAndRows: readonly Exchange[] = [
  { send: rpc('GET', 'named_json?doc={"a": 1.0}'), ...ok, body: '{"a": 1.0}' },
  { send: rpc('POST', 'named_json', 'doc=[1]'), type: form, ...ok, body: '[1]' },
  {
    send: rpc('GET', 'named_json?doc=text'),
    status: 400,
    body: fault('22P02', 'invalid input syntax for type json', 'Token "text" is invalid.'),
  },
  { send: rpc('GET', 'sorted?list={3,1,2}'), ...ok, body: '[1,2,3]' },
  { send: rpc('POST', 'sorted', { list: [3, 1, 2] }), ...ok, body: '[1,2,3]' },
  { send: rpc('POST', 'sorted', { list: '{3,1}' }), ...ok, body: '[1,3]' },
  { send: rpc('GET', 'total?numbers=1&numbers=2&numbers=3'), ...ok, body: '6' },
  { send: rpc('GET', 'total?numbers=5'), ...ok, body: '5' },
  {
    send: rpc('GET', 'total?numbers={1,2}'),
    status: 400,
    body: fault('22P02', 'invalid input syntax for type integer: "{1,2}"'),
  },
  { send: rpc('POST', 'total', { numbers: [1, 2] }), ...ok, body: '3' },
  { send: rpc('POST', 'total', { numbers: '{1,2,4}' }), ...ok, body: '7' },
  { send: rpc('POST', 'total', 'numbers=1&numbers=2'), type: form, ...ok, body: '3' },
  { send: rpc('GET', 'joined?glue=-&words=a&words=b,c'), ...ok, body: '"a-b,c"' },
  {
    name: 'PostgreSQL does not find a variadic function by name without its last argument',
    send: rpc('GET', 'joined?glue=-'),
    status: 404,
    body: fault(
      '42883',
      'function garage.joined(glue => text) does not exist',
      null,
      'No function matches the given name and argument types. You might need to add explicit type casts.',
    ),
  },
  { send: rpc('GET', 'area?of=(2,3)'), ...ok, body: '6' },
  { send: rpc('POST', 'area', { of: { width: 2, height: 4 } }), ...ok, body: '8' },
  { send: rpc('POST', 'area', { of: '(2,5)' }), ...ok, body: '10' },
  { send: rpc('POST', 'plate_of', { v: { id: 1, plate: 'P' } }), ...ok, body: '"P"' },
  { send: rpc('POST', 'plates_of', { v: [{ plate: 'P' }, { plate: 'Q' }] }), ...ok, body: '["P","Q"]' },
]

const unnamed: readonly Exchange[] = [
  { send: rpc('POST', 'whole_json', '{"a": 1.0, "a": [2]}'), ...ok, body: '{"a": 1.0, "a": [2]}' },
  {
    send: rpc('POST', 'whole_json', '[1, {"b": 2}]'),
    status: 400,
    body: fault('PGRST102', 'All object keys must match'),
  },
  { send: rpc('POST', 'whole_json', '[{"b": 2}]'), ...ok, body: '[{"b": 2}]' },
  { send: rpc('POST', 'whole_jsonb', '{"b": 1, "a": 2}'), ...ok, body: '{"a": 2, "b": 1}' },
  { name: 'scalars are treated as an empty array', send: rpc('POST', 'whole_json', '"text"'), ...ok, body: '[]' },
  { send: rpc('POST', 'whole_text', 'a "b"\nä'), type: 'text/plain', ...ok, body: '"a \\"b\\"\\nä"' },
  {
    send: rpc('POST', 'whole_text', 'plain'),
    type: 'text/plain',
    accept: 'text/plain',
    status: 406,
    body: fault('PGRST107', 'None of these media types are available: text/plain'),
  },
  { send: rpc('POST', 'whole_bytea', new Uint8Array([0, 255, 16])), type: binary, ...ok, body: '"00ff10"' },
  { send: rpc('POST', 'length_of', new Uint8Array(0)), type: binary, ...ok, body: '0' },
  {
    send: rpc('POST', 'whole_text', '{"a": 1}'),
    status: 404,
    body: fault(
      'PGRST202',
      'Could not find the function garage.whole_text(a) in the schema cache',
      'Searched for the function garage.whole_text with parameter a or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.',
      null,
    ),
  },
  {
    name: 'a named parameter does not receive the whole body',
    send: rpc('POST', 'named_json', { a: 1 }),
    status: 404,
    body: fault(
      'PGRST202',
      'Could not find the function garage.named_json(a) in the schema cache',
      'Searched for the function garage.named_json with parameter a or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.',
      null,
    ),
  },
  { send: rpc('POST', 'named_json', { doc: { a: 1 } }), ...ok, body: '{"a":1}' },
  {
    name: 'params=single-object was removed, and has no effect',
    send: rpc('POST', 'named_json', { a: 1 }),
    prefer: 'params=single-object',
    status: 404,
    body: fault(
      'PGRST202',
      'Could not find the function garage.named_json(a) in the schema cache',
      'Searched for the function garage.named_json with parameter a or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.',
      null,
    ),
  },
  {
    name: 'and is an unknown preference',
    send: rpc('POST', 'add', { a: 1, b: 2 }),
    prefer: 'params=single-object, handling=strict',
    status: 400,
    body: fault(
      'PGRST122',
      'Invalid preferences given with handling=strict',
      'Invalid preferences: params=single-object',
    ),
  },
  {
    send: rpc('POST', 'whole_json', 'x'),
    type: 'text/plain',
    status: 404,
    body: fault(
      'PGRST202',
      'Could not find the function garage.whole_json in the schema cache',
      'Searched for the function garage.whole_json with a single unnamed text parameter, but no matches were found in the schema cache.',
    ),
  },
  {
    name: 'all parameters have defaults: called without the body',
    send: rpc('POST', 'greet', '<x/>'),
    type: 'text/xml',
    ...ok,
    body: '"Hello, you!"',
  },
  {
    send: rpc('POST', 'add', 'x'),
    type: binary,
    status: 404,
    body: fault(
      'PGRST202',
      'Could not find the function garage.add in the schema cache',
      'Searched for the function garage.add with a single unnamed bytea parameter, but no matches were found in the schema cache.',
    ),
  },
]

const choice: readonly Exchange[] = [
  { send: rpc('GET', 'price?vehicle=1'), ...ok, body: '"by number 1"' },
  { send: rpc('GET', 'price?plate=A'), ...ok, body: '"by plate A"' },
  { send: rpc('POST', 'price', { discount: 1.5, vehicle: 2 }), ...ok, body: '"by number 2 less 1.5"' },
  {
    send: rpc('GET', 'price?discount=1'),
    status: 404,
    body: fault(
      'PGRST202',
      'Could not find the function garage.price(discount) in the schema cache',
      'Searched for the function garage.price with parameter discount, but no matches were found in the schema cache.',
      'Perhaps you meant to call the function garage.price(discount, vehicle)',
    ),
  },
  {
    send: rpc('GET', 'pick?a=1'),
    status: 300,
    body: fault(
      'PGRST203',
      'Could not choose the best candidate function between: garage.pick(a => integer), garage.pick(a => text)',
      null,
      'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
    ),
  },
  {
    send: rpc('POST', 'either', {}),
    status: 300,
    body: fault(
      'PGRST203',
      'Could not choose the best candidate function between: garage.either(a => integer), garage.either(b => text)',
      null,
      'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
    ),
  },
  { send: rpc('POST', 'either', { b: 'x' }), ...ok, body: '"b"' },
  {
    send: rpc('GET', 'addd?a=1&b=2'),
    status: 404,
    body: fault(
      'PGRST202',
      'Could not find the function garage.addd(a, b) in the schema cache',
      'Searched for the function garage.addd with parameters a, b, but no matches were found in the schema cache.',
      'Perhaps you meant to call the function garage.add',
    ),
  },
  {
    send: rpc('GET', 'add?a=1'),
    status: 404,
    body: fault(
      'PGRST202',
      'Could not find the function garage.add(a) in the schema cache',
      'Searched for the function garage.add with parameter a, but no matches were found in the schema cache.',
      'Perhaps you meant to call the function garage.add(a, b)',
    ),
  },
  {
    send: rpc('POST', 'unheard_of', {}),
    status: 404,
    body: fault(
      'PGRST202',
      'Could not find the function garage.unheard_of without parameters in the schema cache',
      'Searched for the function garage.unheard_of without parameters or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.',
    ),
  },
  {
    send: rpc('PUT', 'add', {}),
    status: 405,
    body: fault('PGRST101', 'Cannot use the PUT method on RPC'),
  },
  { send: rpc('PATCH', 'add', {}), status: 405, body: fault('PGRST101', 'Cannot use the PATCH method on RPC') },
  { send: rpc('DELETE', 'add'), status: 405, body: fault('PGRST101', 'Cannot use the DELETE method on RPC') },
  {
    send: rpc('OPTIONS', 'write_volatile'),
    status: 200,
    also: { 'Access-Control-Allow-Origin': '*', Allow: 'OPTIONS,POST' },
  },
  {
    send: rpc('OPTIONS', 'greet'),
    status: 200,
    also: { 'Access-Control-Allow-Origin': '*', Allow: 'OPTIONS,GET,HEAD,POST' },
  },
]

export const argumentTables: readonly RequestTable[] = [
  { title: 'named', rows: named },
  { title: 'arrays and rows', rows: arraysAndRows },
  { title: 'unnamed', rows: unnamed },
  { title: 'choice', rows: choice },
]
