// Nested writes of rows that may exist already, by several users, with the privileges of each. Each request is rolled
// back. The rows that exist are those of `seed`.
import { user } from '../support/nested-service.ts'
import { fault, type Exchange, type RequestTable } from '../support/request-table.ts'

/** Rows of Alice and Bob. */
export const seed = `
  insert into store.customers (id, name, email) overriding system value values (1, 'Ada', 'ada@example.org');
  insert into store.orders (id, reference, owner) values (1, 'A', 'alice'), (2, 'B', 'bob');
  insert into store.lines (id, order_id, sku, price) overriding system value values (1000, 1, 'a', 1), (1001, 2, 'b', 1);
  insert into store.tags (id, name) values (1, 'red'), (2, 'blue'), (3, 'hidden'), (4, 'forbidden');
  insert into store.order_tags values (1, 1)`

const merge = 'resolution=merge-duplicates, return=representation'
const ignore = 'resolution=ignore-duplicates, return=representation'
const at = (code: string, message: string, path: string, hint: string | null = null) => fault(code, message, path, hint)
const unmatchedHint = 'A trigger may have left out or changed rows, or the rows may exist without being visible.'

const merging: readonly Exchange[] = [
  {
    name: 'an order that exists, with a line that exists and a new one',
    prefer: merge,
    status: 200,
    send: [
      'POST',
      '/orders?select=id,reference,lines(id,sku,price)&lines.order=sku',
      {
        id: 1,
        reference: 'A2',
        lines: [
          { id: 1000, sku: 'a', price: 5 },
          { id: 1002, sku: 'z', price: 6 },
        ],
      },
    ],
    body: [
      {
        id: 1,
        reference: 'A2',
        lines: [
          { id: 1000, sku: 'a', price: 5 },
          { id: 1002, sku: 'z', price: 6 },
        ],
      },
    ],
  },
  {
    name: 'one order that exists and a new one',
    prefer: merge,
    send: [
      'POST',
      '/orders?select=id,lines(sku)',
      [
        { id: 1, lines: [] },
        { id: 7, lines: [{ sku: 'n', price: 1 }] },
      ],
    ],
    body: [
      { id: 1, lines: [{ sku: 'a' }] },
      { id: 7, lines: [{ sku: 'n' }] },
    ],
  },
  {
    name: 'only the columns of an object are changed: tags by their key, new ones, and the same one twice',
    prefer: merge,
    send: [
      'POST',
      '/orders?select=id,tags(name)&tags.order=name',
      [
        { id: 8, tags: [{ id: 1 }, { id: 2, name: 'green' }] },
        { id: 9, tags: [{ name: 'new' }, { id: 1 }] },
      ],
    ],
    body: [
      { id: 8, tags: [{ name: 'green' }, { name: 'red' }] },
      { id: 9, tags: [{ name: 'new' }, { name: 'red' }] },
    ],
  },
  {
    name: 'a pair of the junction that exists',
    prefer: merge,
    status: 200,
    send: ['POST', '/orders?select=order_tags(tag_id)', { id: 1, tags: [{ id: 1 }] }],
    body: [{ order_tags: [{ tag_id: 1 }] }],
  },
  {
    name: 'rows are identified by on_conflict at the root',
    prefer: merge,
    status: 200,
    send: [
      'POST',
      '/orders?on_conflict=reference&select=id,lines(sku)',
      { reference: 'A', lines: [{ sku: 'm', price: 1 }] },
    ],
    body: [{ id: 1, lines: [{ sku: 'a' }, { sku: 'm' }] }],
  },
]

const ignoring: readonly Exchange[] = [
  {
    name: 'an object that exists is ignored with its related rows',
    prefer: ignore,
    send: [
      'POST',
      '/orders?select=id,lines(sku)',
      [
        { id: 1, lines: [{ sku: 'ignored', price: 1 }], tags: [{ name: 'ignored' }] },
        { id: 7, lines: [{ sku: 'n', price: 1 }], tags: [{ id: 2, name: 'ignored' }] },
      ],
    ],
    body: [{ id: 7, lines: [{ sku: 'n' }] }],
  },
  {
    name: 'rows that are no duplicates, because the column that identifies them is null',
    prefer: ignore,
    send: [
      'POST',
      '/orders?on_conflict=reference&select=id,lines(sku)&order=id',
      [
        { id: 7, reference: null, lines: [{ sku: 'seven', price: 1 }] },
        { id: 8, reference: 'A', lines: [{ sku: 'ignored', price: 1 }] },
        ...Array.from({ length: 20 }, (_, index) => ({ id: 20 + index, reference: `r${index}`, lines: [] })),
        { id: 90, reference: null, lines: [{ sku: 'nine', price: 1 }] },
      ],
    ],
    body: [
      { id: 7, lines: [{ sku: 'seven' }] },
      ...Array.from({ length: 20 }, (_, index) => ({ id: 20 + index, lines: [] })),
      { id: 90, lines: [{ sku: 'nine' }] },
    ],
  },
  {
    name: 'what others refer to is used as it is',
    prefer: ignore,
    send: [
      'POST',
      '/order_tags?select=orders(id),tags(id,name)',
      { orders: { id: 1, reference: 'ignored' }, tags: { id: 2, name: 'ignored' } },
    ],
    body: [{ orders: { id: 1 }, tags: { id: 2, name: 'blue' } }],
  },
]

const users: readonly Exchange[] = [
  {
    name: 'a line of an order of another user',
    prefer: merge,
    status: 403,
    send: ['POST', '/orders', { id: 1, lines: [{ id: 1001, sku: 'mine', price: 0 }] }],
    body: at('42501', 'new row violates row-level security policy (USING expression) for table "lines"', '/lines/0'),
  },
  {
    name: 'an order of another user',
    prefer: merge,
    status: 403,
    send: ['POST', '/orders', { id: 2, lines: [{ sku: 'x', price: 0 }] }],
    body: fault('42501', 'new row violates row-level security policy (USING expression) for table "orders"'),
  },
  {
    name: 'an order of another user, ignored with its lines',
    prefer: ignore,
    status: 201,
    send: ['POST', '/orders?select=id,lines(sku)', { id: 2, lines: [{ sku: 'x', price: 0 }] }],
    body: [],
  },
  {
    name: 'an order of another user that lines refer to',
    prefer: ignore,
    status: 409,
    send: ['POST', '/lines', { sku: 'x', price: 0, orders: { id: 2 } }],
    body: at('PGRSTX25', "Could not match the written rows of 'orders' with the body", '/orders', unmatchedHint),
  },
  {
    name: 'an order for another user',
    prefer: 'return=representation',
    status: 403,
    send: ['POST', '/customers', { name: 'x', orders: [{ owner: 'bob', lines: [] }] }],
    body: at('42501', 'new row violates row-level security policy for table "orders"', '/orders/0'),
  },
  {
    name: 'a row that is not visible',
    prefer: merge,
    status: 403,
    send: ['POST', '/orders', { id: 1, tags: [{ id: 3 }] }],
    body: at('42501', 'new row violates row-level security policy for table "tags"', '/tags/0'),
  },
  {
    name: 'a row that must not be changed',
    prefer: merge,
    status: 403,
    send: ['POST', '/orders', { id: 1, tags: [{ id: 4, name: 'changed' }] }],
    body: at('42501', 'new row violates row-level security policy (USING expression) for table "tags"', '/tags/0'),
  },
]

const grants = (guest: Exchange['headers'], writer: Exchange['headers']): readonly Exchange[] => [
  {
    name: 'no privilege on a related table',
    prefer: 'return=minimal',
    headers: guest ?? {},
    status: 403,
    send: ['POST', '/orders', { lines: [{ sku: 'a', price: 1 }] }],
    body: at('42501', 'permission denied for table lines', '/lines/0'),
  },
  {
    name: 'no privilege on the junction',
    prefer: 'return=minimal',
    headers: guest ?? {},
    status: 403,
    send: ['POST', '/shipments', { carrier: 'mail', orders: {} }],
    body: fault('42501', 'permission denied for table shipments'),
  },
  {
    name: 'privileges to insert, and to read nothing but keys',
    prefer: 'return=minimal',
    headers: writer ?? {},
    status: 201,
    send: ['POST', '/log', { message: 'x', tags: { name: 'new' } }],
  },
]

/** The tables, whose requests have tokens. */
export async function nestedUpsertTables(): Promise<readonly RequestTable[]> {
  const alice = await user('alice')
  const rows = (list: readonly Exchange[]): readonly Exchange[] =>
    list.map((row) => {
      const { status = 201, prefer = '' } = row
      const shared = { status, headers: row.headers ?? alice }
      return status < 300 ? { applied: prefer, ...row, ...shared } : { range: null, ...row, ...shared }
    })
  return [
    { title: 'merging', rows: rows(merging) },
    { title: 'ignoring', rows: rows(ignoring) },
    { title: 'two users', rows: rows(users) },
    {
      title: 'privileges',
      rows: rows(grants(await user('alice', 'nested_guest'), await user('alice', 'nested_writer'))),
    },
  ]
}
