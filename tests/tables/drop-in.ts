// Requests to the shop of `tests/fixtures/drop-in.sql`, whose responses are compared with PostgREST's.
import type { TableRequest } from '../support/request-table.ts'

export const reads: readonly TableRequest[] = [
  { send: ['GET', '/customers'] },
  { send: ['GET', '/customers?select=id,name&order=id.desc&limit=1'] },
  { send: ['GET', '/customers?id=eq.1'], accept: 'application/vnd.pgrst.object+json' },
  { send: ['GET', '/customers?id=eq.99'], accept: 'application/vnd.pgrst.object+json' },
  { send: ['GET', '/customers?select=id,name'], accept: 'text/csv' },
  { send: ['GET', '/customers?select=id'], accept: 'image/png' },
  { send: ['GET', '/customers?name=eq'] },
  { send: ['GET', '/customers?select=id,('] },
  { send: ['GET', '/customers?select=colour'] },
  { send: ['GET', '/customers?select=id,nowhere(*)'] },
  { send: ['HEAD', '/customers?id=lt.3'] },
  { send: ['GET', '/customers'], prefer: 'count=exact' },
  { send: ['GET', '/customers'], prefer: 'count=exact', headers: { Range: '0-0', 'Range-Unit': 'items' } },
  { send: ['GET', '/customers'], headers: { Range: '7-9', 'Range-Unit': 'items' } },
  { send: ['GET', '/customers'], prefer: 'count=exact', headers: { Range: '7-9' } },
  { send: ['GET', '/customers?limit=1'], prefer: 'handling=strict, nonsense=1' },
  { send: ['GET', '/open_orders?order=id'] },
  { send: ['GET', '/totals?order=status'] },
  { send: ['GET', '/totals?select=total.sum()'] },
  { send: ['GET', '/customers'], accept: 'application/vnd.pgrst.plan+text; options=verbose|costs' },
  { send: ['GET', '/ledger'] },
  { send: ['GET', '/nowhere'] },
  { send: ['GET', '/custmers'] },
  { send: ['GET', '/customers/1'] },
  { send: ['GET', '/shelves'], headers: { 'Accept-Profile': 'depot' } },
  { send: ['GET', '/shelves'] },
  { send: ['GET', '/shelves'], headers: { 'Accept-Profile': 'elsewhere' } },
  { send: ['GET', '/customers'], headers: { 'X-Refused': 'yes' } },
  { send: ['GET', '/customers?limit=1'], headers: { 'X-Trace': 'abc-1' } },
  { send: ['GET', '/nowhere'], headers: { 'X-Trace': 'abc-2' } },
  { send: ['GET', '/customers?limit=1'], prefer: 'timezone=Europe/Berlin' },
]

/** Calls of functions, with a token and without. */
export const calls: readonly TableRequest[] = [
  { send: ['GET', '/rpc/add?a=1&b=2'] },
  { send: ['GET', '/rpc/add?a=1'] },
  { send: ['GET', '/rpc/add?a=x'] },
  { send: ['GET', '/rpc/add?b=2'] },
  { send: ['HEAD', '/rpc/add?a=1&b=2'] },
  { send: ['POST', '/rpc/add', { a: 1, b: 2 }] },
  { send: ['POST', '/rpc/add', 'a=3&b=4'], type: 'application/x-www-form-urlencoded' },
  { send: ['POST', '/rpc/add', '{"a":'] },
  { send: ['POST', '/rpc/addd', { a: 1 }] },
  { send: ['PATCH', '/rpc/add', { a: 1 }] },
  { send: ['GET', '/rpc/nothing'] },
  { send: ['POST', '/rpc/nothing'] },
  { send: ['POST', '/rpc/answer'] },
  { send: ['POST', '/rpc/raised'] },
  { send: ['POST', '/rpc/fail', { state: 'P0001', word: 'plain' }] },
  { send: ['POST', '/rpc/fail', { state: 'PT402', word: 'Payment Required' }] },
  { send: ['POST', '/rpc/fail', { state: '23505', word: 'twice' }] },
  { send: ['POST', '/rpc/fail', { state: '42501', word: 'no' }] },
  { send: ['POST', '/rpc/fail', { state: '53400', word: 'full' }] },
  { send: ['GET', '/rpc/orders_of?customer=1&select=id'] },
  { send: ['GET', '/rpc/whoami'], headers: { Cookie: 'a=b; c=d', 'User-Agent': 'script' } },
]

/** Requests of a member. */
export const member: readonly TableRequest[] = [
  { send: ['GET', '/rpc/whoami'], headers: { 'User-Agent': 'script' } },
  { send: ['GET', '/customers?select=name,orders(id,status)&order=id'] },
  { send: ['GET', '/orders?select=id,customers!inner(name)&customers.name=eq.Ada&order=id'] },
  { send: ['GET', '/orders?select=id,total,tags,details,placed_at&order=id'] },
  { send: ['GET', '/orders?select=id&tags=cs.{b}&details->>gift=is.null'] },
  { send: ['GET', '/ledger'] },
  { send: ['GET', '/rpc/orders_of?customer=1&order=id.desc'] },
  { send: ['GET', '/customers'], prefer: 'count=estimated' },
  { send: ['GET', '/customers'], prefer: 'count=planned' },
  { send: ['POST', '/customers', { id: 4, name: 'Di' }] },
  { send: ['POST', '/customers', { id: 4, name: 'Di' }], prefer: 'return=representation' },
  { send: ['POST', '/customers?select=id', [{ id: 4, name: 'D' }, { id: 5, name: 'E' }]], prefer: 'return=representation' },
  { send: ['POST', '/customers', { id: 4, name: 'Di' }], prefer: 'return=headers-only' },
  { send: ['POST', '/customers', { id: 4, name: 'Di' }], prefer: 'tx=rollback' },
  { send: ['POST', '/customers', { id: 1, name: 'again' }] },
  { send: ['POST', '/customers', { id: 1, name: 'again' }], prefer: 'resolution=ignore-duplicates, return=representation' },
  { send: ['POST', '/customers', { id: 1, name: 'Eve' }], prefer: 'resolution=merge-duplicates, return=representation' },
  { send: ['POST', '/customers', { id: 4, name: null }] },
  { send: ['POST', '/customers', { id: 4, name: 'x', colour: 'red' }] },
  { send: ['POST', '/customers', { id: 13, name: 'unlucky' }] },
  { send: ['POST', '/customers', { id: 'four', name: 'x' }] },
  { send: ['POST', '/customers', [{ id: 4, name: 'x' }, { id: 5 }]] },
  { send: ['POST', '/customers', '[{'] },
  { send: ['POST', '/customers', 'id,name\n4,Di\n5,Ed\n'], type: 'text/csv' },
  { send: ['POST', '/customers', 'x'], type: 'image/png' },
  { send: ['POST', '/customers?columns=id,name', { id: 4, name: 'Di', colour: 'red' }] },
  { send: ['POST', '/orders', [{ id: 9, customer_id: 1 }]], prefer: 'return=representation, missing=default' },
  { send: ['POST', '/orders', { id: 9, customer_id: 99 }] },
  { send: ['POST', '/orders', { id: 9, customer_id: 1, total: -1 }] },
  { send: ['POST', '/orders', { id: 9, customer_id: 1, status: 'lost' }] },
  { send: ['POST', '/totals', { status: 'open' }] },
  { send: ['PATCH', '/customers?id=eq.1', { note: 'changed' }] },
  { send: ['PATCH', '/customers?id=eq.1', { note: 'changed' }], prefer: 'return=representation, count=exact' },
  { send: ['PATCH', '/customers?id=eq.99', { note: 'changed' }], prefer: 'return=representation' },
  { send: ['PATCH', '/customers?id=lt.3', { note: 'z' }], accept: 'application/vnd.pgrst.object+json', prefer: 'return=representation' },
  { send: ['PATCH', '/customers?id=eq.1', {}] },
  { send: ['PUT', '/customers?id=eq.1', { id: 1, name: 'Put', email: null, note: null }], prefer: 'return=representation' },
  { send: ['PUT', '/customers?id=eq.1', { id: 2, name: 'Put', email: null, note: null }] },
  { send: ['PUT', '/customers?name=eq.x', { id: 2, name: 'Put', email: null, note: null }] },
  { send: ['DELETE', '/orders?id=eq.1'] },
  { send: ['DELETE', '/orders?id=eq.1'], prefer: 'return=representation' },
  { send: ['DELETE', '/customers?id=eq.1'] },
  { send: ['DELETE', '/totals?status=eq.open'] },
  { send: ['POST', '/shelves', { id: 2, label: 'low' }], prefer: 'return=representation', headers: { 'Content-Profile': 'depot' } },
  { send: ['TRACE', '/customers'] },
] // prettier-ignore

export const anonymousWrites: readonly TableRequest[] = [
  { send: ['POST', '/customers', { id: 4, name: 'Di' }] },
  { send: ['PATCH', '/customers?id=eq.1', { note: 'x' }] },
  { send: ['DELETE', '/customers?id=eq.1'] },
]

const listed = { Origin: 'https://shop.test' }
const unlisted = { Origin: 'https://elsewhere.test' }
const preflight = { 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'Foo, Bar' }

const preflights: readonly TableRequest['headers'][] = [
  { 'Access-Control-Request-Method': 'GET' },
  { 'Access-Control-Request-Method': 'get' },
  { 'Access-Control-Request-Method': 'TRACE' },
  { 'Access-Control-Request-Headers': 'Foo' },
  ...['accept, AUTHORIZATION,x', 'Foo,,Bar', 'Foo Bar', 'a(b', ' ', 'Foo,Foo'].map((names) => ({
    ...preflight,
    'Access-Control-Request-Headers': names,
  })),
]

export const options: readonly TableRequest[] = [
  { send: ['OPTIONS', '/'] },
  { send: ['OPTIONS', '/customers'] },
  { send: ['OPTIONS', '/open_orders'] },
  { send: ['OPTIONS', '/totals'] },
  { send: ['OPTIONS', '/rpc/add'] },
  { send: ['OPTIONS', '/rpc/nothing'] },
  { send: ['OPTIONS', '/nowhere'] },
  ...[listed, unlisted].flatMap((origin): TableRequest[] => [
    { send: ['GET', '/customers?limit=1'], headers: origin },
    { send: ['GET', '/nowhere'], headers: origin },
    { send: ['OPTIONS', '/customers'], headers: origin },
    { send: ['OPTIONS', '/customers'], headers: { ...origin, ...preflight } },
    { send: ['OPTIONS', '/nowhere'], headers: { ...origin, ...preflight } },
    ...preflights.map((asked): TableRequest => ({ send: ['OPTIONS', '/customers'], headers: { ...origin, ...asked } })),
  ]),
]

/** Requests for the documents of the API root. */
export const documents: readonly TableRequest[] = [
  { send: ['HEAD', '/'] },
  { send: ['GET', '/'], accept: 'application/openapi+json' },
  { send: ['GET', '/'] },
  { send: ['GET', '/'], accept: 'text/csv' },
  { send: ['GET', '/'], headers: { 'Accept-Profile': 'depot' } },
  { send: ['POST', '/', {}] },
]
