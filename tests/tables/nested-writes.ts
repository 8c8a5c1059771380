// Nested writes: requests with related rows, and their complete responses. Each request is rolled back.
import { user } from '../support/nested-service.ts'
import { fault, type Exchange, type RequestTable } from '../support/request-table.ts'

const returned = 'return=representation'

/** Rows whose requests are sent by Alice, and whose successful writes have the status 201 and return their rows. */
async function rowsOf(rows: readonly Exchange[]): Promise<readonly Exchange[]> {
  const headers = await user('alice')
  return rows.map((row) => ({ prefer: returned, applied: applied(row), status: 201, headers, ...row }))
}

const applied = ({ prefer = returned }: Exchange): string =>
  prefer
    .split(', ')
    .sort((a, b) => order.findIndex((it) => a.startsWith(it)) - order.findIndex((it) => b.startsWith(it)))
    .join(', ')
const order = ['resolution', 'missing', 'return', 'count', 'tx', 'handling']

const relationships: readonly Exchange[] = [
  {
    name: 'to-one and to-many',
    send: [
      'POST',
      '/orders?select=id,reference,owner,total,customers(name,note),lines(id,order_id,sku,price)',
      {
        id: 1,
        reference: 'A-1',
        customers: { name: 'Ada' },
        lines: [
          { id: 10, sku: 'nut', price: 1.5, quantity: 4 },
          { id: 11, sku: 'bolt', price: 2 },
        ],
      },
    ],
    // The total is the work of a trigger on the lines.
    body: [
      {
        id: 1,
        reference: 'A-1',
        owner: 'alice',
        total: 8,
        customers: { name: 'Ada', note: 'new' },
        lines: [
          { id: 10, order_id: 1, sku: 'nut', price: 1.5 },
          { id: 11, order_id: 1, sku: 'bolt', price: 2 },
        ],
      },
    ],
  },
  {
    name: 'several rows, three levels',
    send: [
      'POST',
      '/orders?select=reference,lines(sku,line_notes(number,message))&lines.order=sku',
      [
        { reference: 'one', lines: [{ sku: 'a', price: 1, line_notes: [{ number: 1, message: 'x' }] }] },
        { reference: 'two', lines: [] },
        {
          reference: 'three',
          lines: [
            { sku: 'b', price: 2 },
            { sku: 'c', price: 3, line_notes: [{ number: 1 }, { number: 2, message: 'z' }] },
          ],
        },
      ],
    ],
    body: [
      { reference: 'one', lines: [{ sku: 'a', line_notes: [{ number: 1, message: 'x' }] }] },
      { reference: 'two', lines: [] },
      {
        reference: 'three',
        lines: [
          { sku: 'b', line_notes: [] },
          {
            sku: 'c',
            line_notes: [
              { number: 1, message: null },
              { number: 2, message: 'z' },
            ],
          },
        ],
      },
    ],
  },
  {
    name: 'a to-one relationship that is null for some rows',
    send: [
      'POST',
      '/orders?select=reference,customers(name)',
      [
        { reference: 'one', customers: null },
        { reference: 'two', customers: { name: 'Bo' } },
        { reference: 'three', customers: { name: 'Cy', note: null } },
      ],
    ],
    body: [
      { reference: 'one', customers: null },
      { reference: 'two', customers: { name: 'Bo' } },
      { reference: 'three', customers: { name: 'Cy' } },
    ],
  },
  {
    name: 'many-to-many with the rows of the junction',
    send: [
      'POST',
      '/orders?select=reference,tags(name),order_tags(order_id)',
      { id: 2, reference: 'T', tags: [{ name: 'red' }, { name: 'blue' }] },
    ],
    body: [
      { reference: 'T', tags: [{ name: 'red' }, { name: 'blue' }], order_tags: [{ order_id: 2 }, { order_id: 2 }] },
    ],
  },
  {
    name: 'one-to-one from both sides',
    send: ['POST', '/orders?select=reference,shipments(carrier)', { reference: 'S', shipments: { carrier: 'mail' } }],
    body: [{ reference: 'S', shipments: { carrier: 'mail' } }],
  },
  {
    send: ['POST', '/shipments?select=carrier,orders(reference)', { carrier: 'mail', orders: { reference: 'S' } }],
    body: [{ carrier: 'mail', orders: { reference: 'S' } }],
  },
  {
    send: ['POST', '/orders?select=reference,shipments(carrier)', { reference: 'S', shipments: null }],
    body: [{ reference: 'S', shipments: null }],
  },
  {
    name: 'a relation to itself, with keys from defaults',
    send: [
      'POST',
      '/categories?select=name,categories(name,categories(name))',
      { name: 'root', categories: [{ name: 'branch', categories: [{ name: 'leaf' }] }, { name: 'other' }] },
    ],
    body: [
      {
        name: 'root',
        categories: [
          { name: 'branch', categories: [{ name: 'leaf' }] },
          { name: 'other', categories: [] },
        ],
      },
    ],
  },
  {
    name: 'the other direction, by an alias for the name of the column',
    send: [
      'POST',
      '/categories?select=name,above:parent_id(name)',
      { name: 'leaf', 'above:parent_id': { name: 'branch' } },
    ],
    body: [{ name: 'leaf', above: { name: 'branch' } }],
  },
  {
    name: 'a composite key',
    send: [
      'POST',
      '/plots?select=area,readings(tenant,number,at)',
      { tenant: 1, number: 2, area: 3, readings: [{ at: '2024-01-01', value: 1 }, { at: '2024-01-02' }] },
    ],
    body: [
      {
        area: 3,
        readings: [
          { tenant: 1, number: 2, at: '2024-01-01' },
          { tenant: 1, number: 2, at: '2024-01-02' },
        ],
      },
    ],
  },
  {
    name: 'part of a composite key in the body',
    send: [
      'POST',
      '/readings?select=tenant,number,plots(area)',
      { tenant: 1, at: '2024-01-01', plots: { tenant: 1, number: 5, area: 6 } },
    ],
    body: [{ tenant: 1, number: 5, plots: { area: 6 } }],
  },
  {
    name: 'a key that a trigger changes, and hints',
    send: [
      'POST',
      '/trips?select=origin,destination,from:places!origin(name)',
      { id: 1, 'places!trips_origin_fkey': { code: 'ber', name: 'Berlin' }, 'to:places!destination': { code: 'zrh' } },
    ],
    body: [{ origin: 'BER', destination: 'ZRH', from: { name: 'Berlin' } }],
  },
  {
    name: 'a view',
    send: ['POST', '/order_view?select=reference,customers(name)', { reference: 'V', customers: { name: 'Di' } }],
    body: [{ reference: 'V', customers: { name: 'Di' } }],
  },
  {
    name: 'all digits of numbers',
    send: [
      'POST',
      '/orders?select=customers(credit),lines(price,doc)',
      '{"customers":{"name":"Eve","credit":12345678901234567890.12345},"lines":[{"sku":"s","price":1.50,"doc":{"n":12345678901234567890,"t":"]}\\""}}]}',
    ],
    body: '[{"customers":{"credit": 12345678901234567890.12345},"lines":[{"doc": {"n": 12345678901234567890, "t": "]}\\""}, "price": 1.50}]}]',
  },
  {
    name: 'the same relationship twice, under two aliases',
    send: [
      'POST',
      '/orders?select=lines(sku)',
      { 'cheap:lines': [{ sku: 'a', price: 1 }], 'dear:lines': [{ sku: 'b', price: 99 }] },
    ],
    body: [{ lines: [{ sku: 'a' }, { sku: 'b' }] }],
  },
  {
    name: 'a key that is JSON',
    send: [
      'POST',
      '/drawings?select=id,shapes(outline,drawings(id))&shapes.drawings.order=id',
      { id: 1, shapes: { outline: { points: [1, 2.5] }, drawings: [{ id: 2 }] } },
    ],
    body: [{ id: 1, shapes: { outline: { points: [1, 2.5] }, drawings: [{ id: 1 }, { id: 2 }] } }],
  },
  {
    name: 'a key that is a column stays a column',
    send: ['POST', '/boxes?select=items', { id: 1, items: [{ id: 1 }] }],
    body: [{ items: [{ id: 1 }] }],
  },
]

const preferences: readonly Exchange[] = [
  {
    prefer: 'return=minimal',
    send: ['POST', '/orders', { id: 5, customers: { name: 'Ada' }, lines: [{ sku: 'a', price: 1 }] }],
  },
  {
    prefer: 'return=headers-only, count=exact',
    send: ['POST', '/orders', { id: 5, lines: [{ sku: 'a', price: 1 }] }],
    location: '/rest/v1/orders?id=eq.5',
    range: '*/1',
  },
  {
    prefer: 'return=representation, count=exact',
    send: [
      'POST',
      '/orders?select=id',
      [
        { id: 5, lines: [{ sku: 'a', price: 1 }] },
        { id: 6, lines: [] },
      ],
    ],
    body: [{ id: 5 }, { id: 6 }],
    range: '*/2',
  },
  {
    name: 'one object',
    accept: 'application/vnd.pgrst.object+json',
    contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
    send: ['POST', '/orders?select=id,lines(sku)', { id: 5, lines: [{ sku: 'a', price: 1 }] }],
    body: { id: 5, lines: [{ sku: 'a' }] },
  },
  {
    accept: 'application/vnd.pgrst.object+json',
    send: [
      'POST',
      '/orders?select=id',
      [
        { id: 5, lines: [{ sku: 'a', price: 1 }] },
        { id: 6, lines: [] },
      ],
    ],
    status: 406,
    body: fault('PGRST116', 'Cannot coerce the result to a single JSON object', 'The result contains 2 rows'),
    range: null,
    applied: undefined,
  },
  {
    name: 'columns as supabase-js sends them',
    send: [
      'POST',
      '/orders?select=id,reference,customers(name),lines(sku)&columns="id","reference","customers","lines"',
      [
        { id: 5, lines: [{ sku: 'a', price: 1 }], unknown: 1 },
        { id: 6, reference: 'x', customers: { name: 'Ada' } },
      ],
    ],
    body: [
      { id: 5, reference: null, customers: null, lines: [{ sku: 'a' }] },
      { id: 6, reference: 'x', customers: { name: 'Ada' }, lines: [] },
    ],
  },
  {
    prefer: 'return=representation, missing=default',
    send: [
      'POST',
      '/orders?select=id,owner,customer_id,lines(sku)&columns=id,owner,customer_id,customers,lines',
      [
        { id: 5, lines: [{ sku: 'a', price: 1 }] },
        { id: 6, owner: 'alice', customers: null },
      ],
    ],
    body: [
      { id: 5, owner: 'alice', customer_id: null, lines: [{ sku: 'a' }] },
      { id: 6, owner: 'alice', customer_id: null, lines: [] },
    ],
  },
  {
    name: 'no rows at all, as in PostgREST',
    send: ['POST', '/orders?select=id,lines(sku)&columns=id,lines', []],
    body: [],
  },
  {
    name: 'a relationship that the columns parameter does not name is left out, as in PostgREST',
    send: ['POST', '/orders?select=id,lines(sku)&columns=id', [{ id: 5, lines: [{ sku: 'a', price: 1 }] }]],
    body: [{ id: 5, lines: [] }],
  },
]

const at = (code: string, message: string, path: string, hint: string | null = null) => fault(code, message, path, hint)

const manyAliases = Object.fromEntries(Array.from({ length: 501 }, (_, index) => [`a${index}:order_tags`, []]))

const refusals: readonly Exchange[] = [
  {
    send: ['POST', '/orders', { lines: [{ sku: 'a', price: 1, colour: 'red' }] }],
    body: at('PGRST204', "Could not find the 'colour' column of 'lines' in the schema cache", '/lines/0/colour'),
  },
  {
    send: ['POST', '/orders', { colour: 'red', lines: [] }],
    body: fault('PGRST204', "Could not find the 'colour' column of 'orders' in the schema cache"),
  },
  {
    name: 'a relation without a relationship',
    send: ['POST', '/orders', { boxes: [] }],
    body: fault('PGRST204', "Could not find the 'boxes' column of 'orders' in the schema cache"),
  },
  {
    send: ['POST', '/trips', { id: 1, places: { code: 'ber' } }],
    status: 300,
    body: fault(
      'PGRST201',
      "Could not embed because more than one relationship was found for 'trips' and 'places', at /places",
      [
        {
          cardinality: 'many-to-one',
          embedding: 'trips with places',
          relationship: 'trips_destination_fkey using trips(destination) and places(code)',
        },
        {
          cardinality: 'many-to-one',
          embedding: 'trips with places',
          relationship: 'trips_origin_fkey using trips(origin) and places(code)',
        },
      ],
      "Try changing 'places' to one of the following: 'places!trips_destination_fkey', 'places!trips_origin_fkey'. Find the desired relationship in the 'details' key.",
    ),
  },
  {
    send: ['POST', '/orders', { lines: { sku: 'a' } }],
    body: at('PGRSTX20', "The value of 'lines' must be an array of objects", '/lines'),
  },
  {
    send: ['POST', '/orders', [{ lines: null }]],
    body: at('PGRSTX20', "The value of 'lines' must be an array of objects", '/0/lines'),
  },
  {
    send: ['POST', '/orders', { lines: [{ sku: 'a' }, null] }],
    body: at('PGRSTX20', "The value of 'lines' must be an array of objects", '/lines/1'),
  },
  {
    send: ['POST', '/orders', { tags: ['red'] }],
    body: at('PGRSTX20', "The value of 'tags' must be an array of objects", '/tags/0'),
  },
  {
    send: ['POST', '/orders', { customers: [{ name: 'x' }] }],
    body: at('PGRSTX20', "The value of 'customers' must be an object or null", '/customers'),
  },
  {
    send: ['POST', '/orders', { shipments: 'mail' }],
    body: at('PGRSTX20', "The value of 'shipments' must be an object or null", '/shipments'),
  },
  ...(['PATCH', 'PUT'] as const).map((method): Exchange => ({
    send: [method, '/orders?id=eq.1', { id: 1, lines: [] }],
    body: fault(
      'PGRSTX21',
      `Cannot write the related rows of 'lines' with ${method}`,
      null,
      'Related rows can be written with POST, which also updates existing rows with Prefer: resolution=merge-duplicates.',
    ),
  })),
  {
    send: ['POST', '/orders', { latest_line: { sku: 'a' } }],
    body: at('PGRSTX22', "Cannot write to 'latest_line', because a function computes the relationship", '/latest_line'),
  },
  {
    send: ['POST', '/orders', { lines: [{ order_id: 7, sku: 'a', price: 1 }] }],
    body: at(
      'PGRSTX23',
      "'order_id' is set by the relationship 'lines'",
      '/lines/0/order_id',
      "Leave out 'order_id' or 'lines'.",
    ),
  },
  {
    send: ['POST', '/orders', { customer_id: 7, customers: { name: 'x' } }],
    body: at(
      'PGRSTX23',
      "'customer_id' is set by the relationship 'customers'",
      '/customer_id',
      "Leave out 'customer_id' or 'customers'.",
    ),
  },
  {
    name: 'two relationships with the same foreign key',
    send: ['POST', '/orders', { 'first:customers': { name: 'x' }, 'second:customers': { name: 'y' } }],
    body: at(
      'PGRSTX23',
      "'customer_id' is set by the relationships 'first:customers' and 'second:customers'",
      '/second:customers',
      "Leave out 'first:customers' or 'second:customers'.",
    ),
  },
  {
    name: 'a row that refers to another parent than the one that it is nested in',
    send: ['POST', '/orders', { lines: [{ sku: 'a', price: 1, orders: { id: 8 } }] }],
    body: at(
      'PGRSTX23',
      "'order_id' is set by the relationships 'lines' and 'orders'",
      '/lines/0/orders',
      "Leave out 'lines' or 'orders'.",
    ),
  },
  ...[manyAliases, { tags: [{ name: 'x', ...manyAliases }] }].map((body): Exchange => ({
    name: 'many aliases',
    send: ['POST', '/orders', body],
    body: fault(
      'PGRSTX24',
      'Too many different kinds of related rows: at most 500 statements are allowed',
      null,
      'Rows with the same keys are written by one statement.',
    ),
  })),
  {
    name: 'a trigger leaves out a row that related rows refer to',
    send: [
      'POST',
      '/gaps',
      [
        { name: 'a', gap_parts: [{ name: 'x' }] },
        { name: 'left out', gap_parts: [] },
      ],
    ],
    status: 409,
    body: at(
      'PGRSTX25',
      "Could not match the written rows of 'gaps' with the body",
      '/1',
      'A trigger may have left out or changed rows, or the rows may exist without being visible.',
    ),
  },
  {
    accept: 'application/vnd.pgrst.plan+json',
    send: ['POST', '/orders', { lines: [] }],
    body: fault('PGRSTX26', 'Cannot explain a nested write, because it has several statements'),
  },
  {
    name: 'the representation of a relation without a primary key',
    send: ['POST', '/log', { message: 'x', tags: { name: 'red' } }],
    body: fault(
      'PGRSTX26',
      "Cannot return the nested rows of 'log', because it has no primary key",
      null,
      'Use Prefer: return=minimal.',
    ),
  },
]

const forbidden = fault('42501', 'new row violates row-level security policy for table "tags"', '/tags/1')
const twentyOne = Array.from({ length: 21 }, (_, index) => ({ sku: `s${index}`, price: index }))

const located: readonly Exchange[] = [
  {
    name: 'a value of another type',
    send: [
      'POST',
      '/orders',
      {
        lines: [
          { sku: 'a', price: 1 },
          { sku: 'b', price: 'cheap' },
        ],
      },
    ],
    body: at('22P02', 'invalid input syntax for type numeric: "cheap"', '/lines/1/price'),
  },
  ...(
    [
      ['a number in another notation', '1.50', '1.50'],
      ['an object', '{"a": [1,  2]}', '{"a": [1,  2]}'],
      ['quotation marks', '"a \\"b\\" c"', 'a "b" c'],
    ] as const
  ).map(([name, value, quoted]): Exchange => ({
    name: `a value of another type: ${name}`,
    send: ['POST', '/orders', `{"lines": [{"sku": "a", "price": 1, "quantity": ${value}}]}`],
    body: at('22P02', `invalid input syntax for type integer: "${quoted}"`, '/lines/0/quantity'),
  })),
  {
    name: 'a column that is always generated',
    send: ['POST', '/orders', { customers: { id: 1, name: 'x' } }],
    body: at(
      '428C9',
      'cannot insert a non-DEFAULT value into column "id"',
      '/customers/id: Column "id" is an identity column defined as GENERATED ALWAYS.',
      'Use OVERRIDING SYSTEM VALUE to override.',
    ),
  },
  {
    name: 'a column that has no value',
    send: [
      'POST',
      '/orders',
      [
        { lines: [] },
        {
          lines: [
            { sku: 'a', price: 1 },
            { sku: 'b', price: null },
          ],
        },
      ],
    ],
    body: at(
      '23502',
      'null value in column "price" of relation "lines" violates not-null constraint',
      '/1/lines/1/price',
    ),
  },
  {
    name: 'a check',
    send: [
      'POST',
      '/orders',
      {
        lines: [
          { sku: 'a', price: 1 },
          { sku: 'b', price: -7 },
        ],
      },
    ],
    body: at('23514', 'new row for relation "lines" violates check constraint "lines_price_check"', '/lines/1/price'),
  },
  {
    name: 'a row twice',
    send: [
      'POST',
      '/orders',
      {
        id: 3,
        lines: [
          { sku: 'a', price: 1 },
          { sku: 'a', price: 2 },
        ],
      },
    ],
    status: 409,
    body: at('23505', 'duplicate key value violates unique constraint "lines_order_id_sku_key"', '/lines/1'),
  },
  {
    name: 'a foreign key',
    send: ['POST', '/customers', { name: 'x', orders: [{ order_tags: [{ tag_id: 1 }, { tag_id: 2 }] }] }],
    status: 409,
    body: at(
      '23503',
      'insert or update on table "order_tags" violates foreign key constraint "order_tags_tag_id_fkey"',
      '/orders/0/order_tags/0/tag_id: Key (tag_id)=(1) is not present in table "tags".',
    ),
  },
  {
    name: 'a policy',
    send: ['POST', '/orders', { tags: [{ name: 'red' }, { name: 'forbidden' }] }],
    status: 403,
    body: forbidden,
  },
  {
    name: 'a text that is too long',
    send: [
      'POST',
      '/orders',
      { lines: [{ sku: 'a', price: 1, line_notes: [{ number: 1, message: 'x'.repeat(13) }] }] },
    ],
    body: at('22001', 'value too long for type character varying(12)', '/lines/0/line_notes/0'),
  },
  {
    name: 'the root',
    send: [
      'POST',
      '/orders',
      [
        { placed: '2024-01-01', lines: [] },
        { placed: 'soon', lines: [] },
      ],
    ],
    body: at('22007', 'invalid input syntax for type date: "soon"', '/1/placed'),
  },
  {
    name: 'many rows: a value that the message quotes',
    send: ['POST', '/orders', { lines: [...twentyOne, { sku: 'b', price: 'cheap' }] }],
    body: at('22P02', 'invalid input syntax for type numeric: "cheap"', '/lines/21/price'),
  },
  {
    name: 'many rows: a column that has no value',
    send: ['POST', '/orders', { lines: [...twentyOne, { sku: 'b', price: null }] }],
    body: at(
      '23502',
      'null value in column "price" of relation "lines" violates not-null constraint',
      '/lines/21/price',
    ),
  },
  {
    name: 'many rows: a key that the details have',
    send: ['POST', '/orders', { tags: [...twentyOne.map(({ sku }) => ({ name: sku })), { name: 's3' }] }],
    status: 409,
    body: at('23505', 'duplicate key value violates unique constraint "tags_name_key"', '/tags'),
  },
  {
    name: 'many rows: what PostgreSQL does not tell',
    send: ['POST', '/orders', [{ lines: [...twentyOne, { sku: 'b', price: -7 }] }, { lines: twentyOne }]],
    body: at('23514', 'new row for relation "lines" violates check constraint "lines_price_check"', '/*/lines'),
  },
]

/** The tables, whose requests have tokens. */
export async function nestedWriteTables(): Promise<readonly RequestTable[]> {
  const refused = (rows: readonly Exchange[]): readonly Exchange[] =>
    rows.map((row) => ({ status: 400, range: null, ...row, applied: undefined as never }))
  return [
    { title: 'relationships', rows: await rowsOf(relationships) },
    { title: 'preferences', rows: await rowsOf(preferences) },
    { title: 'refusals', rows: await rowsOf(refused(refusals)) },
    { title: 'errors of the database have pointers into the body', rows: await rowsOf(refused(located)) },
  ]
}
