// Requests with distinct rows, distinct aggregates and conditions on groups, over `fixtures/sales.sql`.
import type { Exchange, RequestTable } from '../support/request-table.ts'
import { fault, notParsed } from '../support/request-table.ts'
import { bearer } from '../support/token.ts'

const get = (path: string, body: unknown, more: Partial<Exchange> = {}): Exchange => ({
  send: ['GET', path],
  body,
  ...more,
})
const refused = (path: string, body: unknown, more: Partial<Exchange> = {}): Exchange =>
  get(path, body, { status: 400, ...more })

/** An error whose body matches a pattern. */
const rejected = (path: string, code: string, body = new RegExp(code), status = 400): Exchange =>
  get(path, body, { status, also: { 'Proxy-Status': `PostgREST; error=${code}` } })

const havingHint = "Use the parameter 'having' to filter by aggregates, as in having=amount.sum().gt.100."

const rows: RequestTable = {
  title: 'distinct rows',
  rows: [
    get('/clients?select=city&distinct=on.*&order=city', [{ city: 'Oslo' }, { city: 'Rome' }, { city: null }]),
    get('/clients?select=city&distinct=on.*&order=city.desc.nullslast', [
      { city: 'Rome' },
      { city: 'Oslo' },
      { city: null },
    ]),
    get(
      '/orders?select=seller,status&distinct=on.*&order=seller,status&limit=2&offset=1',
      [
        { seller: 'ann', status: 'paid' },
        { seller: 'ben', status: 'open' },
      ],
      { range: '1-2/*' },
    ),
    // By a column that is not selected: a row is where the first of its equals is.
    get('/orders?select=status&distinct=on.*&order=id', [{ status: 'paid' }, { status: 'open' }, { status: 'void' }]),
    get('/orders?select=status&distinct=on.*&order=id.desc', [
      { status: 'void' },
      { status: 'open' },
      { status: 'paid' },
    ]),
    get('/clients?distinct=on.*&order=id&limit=1', [{ id: 1, name: 'Ada', city: 'Oslo' }]),
    get('/clients?select=*&distinct=on.*&order=name.desc&limit=1', [{ id: 4, name: 'Di', city: null }]),
    get('/cities?select=city&distinct=on.*&order=city', [{ city: 'Oslo' }, { city: 'Rome' }, { city: null }]),
    get('/cities?select=city&city=not.is.null&distinct=on.*&order=city', [{ city: 'Oslo' }, { city: 'Rome' }]),
    get('/orders?select=day:placed::date&distinct=on.*&order=placed.desc', [
      { day: '2024-01-03' },
      { day: '2024-01-02' },
      { day: '2024-01-01' },
    ]),
    get('/orders?select=size:data->>size&distinct=on.*&order=data->>size', [
      { size: 'l' },
      { size: 'm' },
      { size: 's' },
      { size: null },
    ]),
    get('/orders?select=data&distinct=on.*&data=not.is.null&order=id&limit=2', [
      { data: { size: 's' } },
      { data: { size: 'm' } },
    ]),
    get('/orders?select=weekday&distinct=on.*&order=id', [
      { weekday: 'Monday' },
      { weekday: 'Tuesday' },
      { weekday: 'Wednesday' },
    ]),
    get('/orders?select=clients(city)&distinct=on.*&order=id', [
      { clients: { city: 'Oslo' } },
      { clients: { city: 'Rome' } },
    ]),
    get('/orders?select=...clients(city)&distinct=on.*&order=id', [{ city: 'Oslo' }, { city: 'Rome' }]),
    get('/clients?select=city,orders(status)&orders.order=id&orders.limit=1&distinct=on.*&order=id', [
      { city: 'Oslo', orders: [{ status: 'paid' }] },
      { city: 'Rome', orders: [{ status: 'paid' }] },
      { city: 'Oslo', orders: [{ status: 'open' }] },
      { city: null, orders: [] },
    ]),
    get('/clients?select=&distinct=on.*&order=name.desc&limit=1', [{ id: 4, name: 'Di', city: null }]),
    get('/orders?select=status,count()&distinct=on.*&order=status', [
      { status: 'open', count: 2 },
      { status: 'paid', count: 3 },
      { status: 'void', count: 1 },
    ]),
    get('/orders?select=count()&seller=eq.ann&distinct=on.*', [{ count: 3 }]),
    {
      send: ['HEAD', '/clients?select=city&distinct=on.*'],
      contentType: 'application/json; charset=utf-8',
      range: '0-2/*',
    },
    get('/clients?select=city&distinct=on.*&order=city', 'city\nOslo\nRome\n', {
      accept: 'text/csv',
      contentType: 'text/csv; charset=utf-8',
      range: '0-2/*',
    }),
    get(
      '/orders?select=seller&distinct=on.*&seller=eq.ben',
      { seller: 'ben' },
      {
        accept: 'application/vnd.pgrst.object+json',
        contentType: 'application/vnd.pgrst.object+json; charset=utf-8',
        range: '0-0/*',
      },
    ),
  ],
}

const on: RequestTable = {
  title: 'distinct on columns',
  rows: [
    // The first row of each group in the requested order; the rows in the requested order.
    get('/orders?select=id,seller&distinct=on.(seller)&order=amount.desc.nullslast,id', [
      { id: 4, seller: 'ben' },
      { id: 2, seller: 'ann' },
    ]),
    get('/orders?select=id,seller&distinct=on.(seller)&order=placed', [
      { id: 1, seller: 'ann' },
      { id: 4, seller: 'ben' },
    ]),
    get('/orders?select=id,seller&distinct=on.(seller)&order=seller.desc,id.desc', [
      { id: 6, seller: 'ben' },
      { id: 3, seller: 'ann' },
    ]),
    get('/orders?select=id&distinct=on.(seller,status)&order=status.desc,seller,id', [
      { id: 6 },
      { id: 1 },
      { id: 4 },
      { id: 2 },
      { id: 5 },
    ]),
    get('/orders?select=id&distinct=on.(seller,status)&order=seller', /^\[/, { range: '0-4/*' }),
    get('/orders?select=id&distinct=on.(status)&order=id&limit=1&offset=1', [{ id: 2 }], { range: '1-1/*' }),
    get('/orders?select=id,placed&distinct=on.(placed::date)&order=placed.desc&limit=1', [
      { id: 6, placed: '2024-01-03T09:00:00+00:00' },
    ]),
    get('/orders?select=id,day:placed::date&distinct=on.(day)&order=id', [
      { id: 1, day: '2024-01-01' },
      { id: 3, day: '2024-01-02' },
      { id: 5, day: '2024-01-03' },
    ]),
    get('/orders?select=id&distinct=on.(data->>size)&order=data->>size,id', [
      { id: 4 },
      { id: 2 },
      { id: 1 },
      { id: 5 },
    ]),
    get('/orders?select=id&distinct=on.(weekday)&order=id', [{ id: 1 }, { id: 3 }, { id: 5 }]),
    get('/orders?select=id,clients(name,city)&distinct=on.(clients(city))&order=clients(name),id', [
      { id: 1, clients: { name: 'Ada', city: 'Oslo' } },
      { id: 3, clients: { name: 'Bo', city: 'Rome' } },
    ]),
    get('/orders?select=status,sum:amount.sum()&distinct=on.(status)&order=status', [
      { status: 'open', sum: 100 },
      { status: 'paid', sum: 100 },
      { status: 'void', sum: null },
    ]),
    get('/orders?select=status,n:count()&distinct=on.(n)&order=n,status.desc'.replace('order=n,', 'order='), [
      { status: 'void', n: 1 },
      { status: 'paid', n: 3 },
      { status: 'open', n: 2 },
    ]),
    get('/orders?select=*,id,again:id&distinct=on.(status)&order=id&limit=1', /^\[\{"id":1,.*"id":1,"again":1\}\]$/, {
      range: '0-0/*',
    }),
    get('/orders?select=id,note::jsonb&distinct=on.(note::jsonb)&order=id', [
      { id: 1, note: { a: 1 } },
      { id: 2, note: null },
    ]),
  ],
}

const counted: RequestTable = {
  title: 'the count of distinct rows and of groups',
  rows: [
    get('/clients?select=city&distinct=on.*&order=city&limit=1', [{ city: 'Oslo' }], {
      prefer: 'count=exact',
      applied: 'count=exact',
      status: 206,
      range: '0-0/3',
    }),
    get('/clients?select=city&distinct=on.*&order=city', [{ city: 'Oslo' }, { city: 'Rome' }, { city: null }], {
      prefer: 'count=exact',
      applied: 'count=exact',
      range: '0-2/3',
    }),
    get('/orders?select=id&distinct=on.(seller)&order=id&limit=1', [{ id: 1 }], {
      prefer: 'count=exact',
      applied: 'count=exact',
      status: 206,
      range: '0-0/2',
    }),
    get('/orders?select=status&having=count().gt.1&order=status&limit=1', [{ status: 'open' }], {
      prefer: 'count=exact',
      applied: 'count=exact',
      status: 206,
      range: '0-0/2',
    }),
    get('/clients?select=name,orders!inner(status)&orders.having=count().gt.2&order=id&limit=5', [], {
      prefer: 'count=exact',
      applied: 'count=exact',
      range: '*/0',
    }),
    get(
      '/clients?select=name,orders!inner(client_id)&orders.having=count().gt.1&order=id&limit=1',
      [{ name: 'Ada', orders: [{ client_id: 1 }] }],
      { prefer: 'count=exact', applied: 'count=exact', status: 206, range: '0-0/3' },
    ),
  ],
}

const embeds: RequestTable = {
  title: 'embeds',
  rows: [
    get('/clients?select=name,orders(status)&orders.distinct=on.*&orders.order=status&order=id&limit=2', [
      { name: 'Ada', orders: [{ status: 'open' }, { status: 'paid' }] },
      { name: 'Bo', orders: [{ status: 'paid' }] },
    ]),
    get('/clients?select=name,latest:orders(id,seller)&latest.distinct=on.(seller)&latest.order=id.desc&id=eq.2', [
      {
        name: 'Bo',
        latest: [
          { id: 4, seller: 'ben' },
          { id: 3, seller: 'ann' },
        ],
      },
    ]),
    get(
      '/clients?select=name,...orders(status)&orders.distinct=on.(status)&orders.order=id.desc&id=in.(1,2)&order=id',
      [
        { name: 'Ada', status: ['open', 'paid'] },
        { name: 'Bo', status: ['paid'] },
      ],
    ),
    get('/clients?select=name,orders(status,amount.sum())&orders.having=amount.sum().gt.25&order=id', [
      { name: 'Ada', orders: [{ status: 'open', sum: 30 }] },
      { name: 'Bo', orders: [{ status: 'paid', sum: 90 }] },
      { name: 'Cy', orders: [{ status: 'open', sum: 70 }] },
      { name: 'Di', orders: [] },
    ]),
    get('/clients?select=name,orders(seller,status.count(distinct))&orders.order=seller&id=lt.3&order=id', [
      { name: 'Ada', orders: [{ seller: 'ann', count: 2 }] },
      {
        name: 'Bo',
        orders: [
          { seller: 'ann', count: 1 },
          { seller: 'ben', count: 1 },
        ],
      },
    ]),
    get('/orders?select=seller,...clients(city.count(distinct))&order=seller', [
      { seller: 'ann', count: 2 },
      { seller: 'ben', count: 2 },
    ]),
    rejected('/clients?select=name,...orders(status)&orders.having=count().gt.1', 'PGRSTX33'),
    refused(
      '/orders?select=id,...clients(name)&clients.having=count().gt.1',
      fault(
        'PGRSTX33',
        "The parameter 'having' cannot be applied to the spread embed 'clients'",
        null,
        "Embed it without '...', or use 'having' of the relation that it is embedded in.",
      ),
    ),
    refused(
      '/clients?select=name&orders.distinct=on.*',
      fault(
        'PGRST108',
        "'orders' is not an embedded resource in this request",
        null,
        "Verify that 'orders' is included in the 'select' query parameter.",
      ),
    ),
  ],
}

const aggregates: RequestTable = {
  title: 'aggregates of distinct values',
  rows: [
    get('/orders?select=client_id.count(distinct)', [{ count: 3 }]),
    get('/orders?select=buyers:client_id.count(distinct),count()', [{ buyers: 3, count: 6 }]),
    get('/orders?select=seller,amount.sum(distinct),amount.avg(distinct)::int&order=seller', [
      { seller: 'ann', sum: 60, avg: 20 },
      { seller: 'ben', sum: 70, avg: 70 },
    ]),
    get('/orders?select=amount.min(distinct),amount.max(distinct)', [{ min: 10, max: 70 }]),
    get('/orders?select=n:placed::date.count(distinct)::text', [{ n: '3' }]),
    get('/orders?select=data->>size.count(distinct)', [{ count: 3 }]),
    rejected('/orders?select=count(distinct)', 'PGRST100'),
  ],
}

const having: RequestTable = {
  title: 'conditions on groups',
  rows: [
    get('/orders?select=status,count()&having=count().gt.1&order=status', [
      { status: 'open', count: 2 },
      { status: 'paid', count: 3 },
    ]),
    get('/orders?select=status&having=count().gt.1&order=status', [{ status: 'open' }, { status: 'paid' }]),
    get('/orders?select=status&having=amount.sum().is.null', [{ status: 'void' }]),
    get('/orders?select=status&having=amount.sum().not.is.null&order=status', [{ status: 'open' }, { status: 'paid' }]),
    get('/orders?select=status&having=count().in.(1,2)&order=status', [{ status: 'open' }, { status: 'void' }]),
    get('/orders?select=status&having=count().not.in.(1,2)&order=status', [{ status: 'paid' }]),
    get('/orders?select=status&having=seller.max().like.*nn', []),
    get('/orders?select=status&having=seller.min().like.*nn&order=status', [{ status: 'open' }, { status: 'paid' }]),
    get('/orders?select=status&having=count().gte(any).{3,4}', [{ status: 'paid' }]),
    get('/orders?select=status&having=client_id.count(distinct).eq.2&order=status', [
      { status: 'open' },
      { status: 'paid' },
    ]),
    get('/orders?select=status&having=placed::date.max()::text.eq.2024-01-02', [{ status: 'paid' }]),
    get('/orders?select=status&having=data->>size.max().eq.s', [{ status: 'paid' }]),
    get('/orders?select=status&having=count().gt.1&having=status.neq.open', [{ status: 'paid' }]),
    get('/orders?select=status&having=or.(count().eq.1,amount.max().lt.50)&order=status', [{ status: 'void' }]),
    get('/orders?select=status&having=or(count().eq.1,and(amount.max().gt.50,status.eq.open))&order=status', [
      { status: 'open' },
      { status: 'void' },
    ]),
    get('/orders?select=status&having=(count().gt.1,status.eq.open)', [{ status: 'open' }]),
    get('/orders?select=status&having=not.and.(count().gt.1,status.eq.open)&order=status', [
      { status: 'paid' },
      { status: 'void' },
    ]),
    get('/orders?select=amount.sum()&having=count().gt.100', []),
    get('/clients?select=*&having=count().gt.1', []),
    rejected('/orders?select=*&having=count().gt.1', 'PGRSTX31'),
    get('/orders?select=status,count()&seller=eq.ann&having=count().gt.1', [{ status: 'paid', count: 2 }]),
    {
      send: ['HEAD', '/orders?select=status&having=count().gt.1'],
      contentType: 'application/json; charset=utf-8',
      range: '0-1/*',
    },
    refused(
      '/orders?select=status&having=seller.eq.ann',
      fault('42803', 'column "orders.seller" must appear in the GROUP BY clause or be used in an aggregate function'),
    ),
    refused('/orders?select=status&having=count().gt.x', fault('22P02', 'invalid input syntax for type bigint: "x"')),
    rejected('/orders?select=status&having=count()', 'PGRST100', /failed to parse having parameter \(count\(\)\)/),
    rejected('/orders?select=status&having=or.(count().gt.1', 'PGRST100', /failed to parse having parameter/),
    rejected('/orders?select=status&having=(count().gt.1)x', 'PGRST100', /failed to parse having parameter/),
    // Aggregates in a filter of rows.
    refused('/orders?select=status&amount.sum()=gt.100', {
      ...notParsed('tree path (amount.sum())', 11, 'x'),
      details: 'unexpected \'(\' expecting delimiter (.), "->>", "->" or end of input',
      hint: havingHint,
    }),
    refused('/orders?select=status&and=(amount.sum().gt.100)', {
      ...notParsed('logic tree ((amount.sum().gt.100))', 12, 'x'),
      details: 'unexpected "s" expecting "not" or operator (eq, gt, ...)',
      hint: havingHint,
    }),
  ],
}

const functions: RequestTable = {
  title: 'functions',
  rows: [
    get('/rpc/orders_of?seller=ben&select=status&distinct=on.*&order=status', [
      { status: 'open' },
      { status: 'paid' },
      { status: 'void' },
    ]),
    get('/rpc/orders_of?seller=ann&select=id&distinct=on.(status)&order=id', [{ id: 1 }, { id: 2 }]),
    get('/rpc/orders_of?seller=ann&distinct=on.(status)&order=id&limit=1', /"id":1/, { range: '0-0/*' }),
    get('/rpc/orders_of?seller=ann&select=status,count()&having=count().gt.1', [{ status: 'paid', count: 2 }]),
    {
      send: ['POST', '/rpc/orders_of?select=id&distinct=on.(status)&order=id', { seller: 'ann' }],
      body: [{ id: 1 }, { id: 2 }],
      range: '0-1/*',
    },
    get('/rpc/totals?distinct=on.(status)&order=status,total.desc.nullslast', [
      { status: 'open', total: 70 },
      { status: 'paid', total: 70 },
      { status: 'void', total: null },
    ]),
    get('/rpc/totals?select=status&having=total.sum().gte.100&order=status', [{ status: 'open' }, { status: 'paid' }]),
    // Arguments of these names.
    get('/rpc/echo?word=a&distinct=on.*&having=count().gt.1', '"a|on.*|count().gt.1"', { range: '0-0/*' }),
    get('/rpc/echo?word=a&distinct=x&having=y', '"a|x|y"', { range: '0-0/*' }),
    get(
      '/rpc/orders_of?seller=ann&distinct=x',
      fault(
        'PGRST202',
        'Could not find the function sales.orders_of(distinct, seller) in the schema cache',
        'Searched for the function sales.orders_of with parameters distinct, seller, but no matches were found in the schema cache.',
        'Perhaps you meant to call the function sales.orders_of(seller)',
      ),
      { status: 404 },
    ),
  ],
}

const names: RequestTable = {
  title: 'columns with the names of the parameters',
  rows: [
    get('/words?select=id&distinct=eq.a&order=id', [{ id: 1 }, { id: 2 }]),
    get('/words?select=id&having=in.(y)&distinct=not.eq.b', [{ id: 2 }]),
    get('/words?select=distinct&distinct=on.*&order=distinct', [{ distinct: 'a' }, { distinct: 'b' }]),
    get('/words?select=id&distinct=eq.a&distinct=on.(distinct)&order=id', [{ id: 1 }]),
    get('/words?select=having&having=distinct.count().gt.1&having=eq.y', [{ having: 'y' }]),
    get('/clients?select=id&distinct&order=id&limit=1', [{ id: 1 }]),
    refused('/clients?select=id&distinct=eq.1', fault('42703', 'column clients.distinct does not exist')),
    refused('/clients?distinct=city', {
      ...notParsed('filter (city)', 1, 'x'),
      details: 'unexpected "c" expecting "not" or operator (eq, gt, ...)',
    }),
  ],
}

const errors: RequestTable = {
  title: 'errors',
  rows: [
    refused(
      '/orders?select=note&distinct=on.*',
      fault(
        'PGRSTX31',
        "Values of 'note' cannot be compared, because the type json has no equality operator",
        null,
        'Cast it to a type that has one, as in note::jsonb.',
      ),
    ),
    rejected('/orders?distinct=on.*', 'PGRSTX31', /note::jsonb/),
    rejected('/orders?select=id&distinct=on.(note)', 'PGRSTX31'),
    rejected('/orders?select=id&distinct=on.(note->a)', 'PGRSTX31', /note->a/),
    refused('/orders?select=id&distinct=on.(nothing)', fault('42703', 'column orders.nothing does not exist')),
    rejected('/orders?select=id&distinct=on.()', 'PGRST100', /failed to parse distinct parameter \(on\.\(\)\)/),
    rejected('/orders?select=id&distinct=on.(id', 'PGRST100'),
    rejected('/orders?select=id&distinct=on.*x', 'PGRST100'),
    rejected('/orders?select=id&distinct=on.(id%22;--)', 'PGRST100'),
    rejected('/clients?select=id,orders(id)&distinct=on.(orders(id))', 'PGRST118'),
    rejected('/clients?select=id&distinct=on.(orders(id))', 'PGRST108'),
    ...(
      [
        ['PATCH', { price: 1 }],
        ['POST', { price: 1 }],
        ['DELETE', undefined],
      ] as const
    ).map(([method, body]): Exchange => ({
      send: [method, '/owned?select=id&id=eq.0&distinct=on.*', body],
      status: 400,
      body: fault(
        'PGRSTX32',
        "The parameter 'distinct' cannot be applied to the rows of a write",
        null,
        'Use it when reading, or for an embed of the representation, as in embed.distinct=….',
      ),
    })),
    {
      ...rejected('/owned?id=eq.0&having=count().gt.0', 'PGRSTX32'),
      send: ['DELETE', '/owned?id=eq.0&having=count().gt.0'],
    },
  ],
}

/** The requests of a signed-in user, who sees only the rows that the user owns. */
async function ofUser(sub: string, kinds: readonly string[], sums: readonly unknown[]): Promise<readonly Exchange[]> {
  const headers = { Authorization: await bearer('authenticated', { sub }) }
  const found = kinds.map((kind) => ({ kind }))
  return [
    get('/owned?select=kind&distinct=on.*&order=kind', found, { headers }),
    get('/owned?select=kind,price.sum()&having=count().gt.1', sums, { headers }),
    get('/owned?select=kind.count(distinct)', [{ count: 2 }], { headers }),
    get('/owned?select=kind&distinct=on.(kind)&order=kind&limit=1', found.slice(0, 1), {
      headers,
      prefer: 'count=exact',
      applied: 'count=exact',
      status: 206,
      range: '0-0/2',
    }),
  ]
}

const policies: RequestTable = {
  title: 'row-level security',
  rows: [
    get('/owned?select=kind&distinct=on.*', []),
    ...(await ofUser('u1', ['ink', 'pen'], [{ kind: 'pen', sum: 3 }])),
    ...(await ofUser('u2', ['box', 'pen'], [])),
  ],
}

const disabled: RequestTable = {
  title: 'without aggregates',
  settings: { PGRST_DB_AGGREGATES_ENABLED: 'false' },
  rows: [
    get('/clients?select=city&distinct=on.*&order=city&limit=1', [{ city: 'Oslo' }]),
    ...['select=id.count(distinct)', 'select=status&having=count().gt.1', 'select=status&having=status.eq.paid'].map(
      (query) => refused(`/orders?${query}`, fault('PGRST123', 'Use of aggregate functions is not allowed')),
    ),
    refused(
      '/clients?select=id,orders(status)&orders.having=count().gt.1',
      fault('PGRST123', 'Use of aggregate functions is not allowed'),
    ),
  ],
}

export const distinctTables: readonly RequestTable[] = [
  rows,
  on,
  counted,
  embeds,
  aggregates,
  having,
  functions,
  names,
  errors,
  policies,
  disabled,
]
