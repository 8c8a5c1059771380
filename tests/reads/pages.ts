import { fault, type Topic } from '../support/exchange.ts'

export const pages: Topic = {
  title: 'pagination and counts',
  exchanges: [
    // limit and offset
    ['/tickets?select=id&order=id&limit=2', { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/*' } }],
    [
      '/tickets?select=id&order=id&limit=2&offset=3',
      { json: [{ id: 4 }, { id: 5 }], headers: { 'Content-Range': '3-4/*' } },
    ],
    [
      '/tickets?select=id&order=id&offset=98',
      { json: [{ id: 99 }, { id: 100 }], headers: { 'Content-Range': '98-99/*' } },
    ],
    ['/tickets?select=id&order=id&limit=0', { json: [], headers: { 'Content-Range': '*/*' } }],
    ['/tickets?select=id&order=id&limit=2&offset=99', { json: [{ id: 100 }], headers: { 'Content-Range': '99-99/*' } }],
    ['/tickets?select=id&order=id&offset=200', { json: [], headers: { 'Content-Range': '*/*' } }],
    [
      '/tickets?select=id&order=id&limit=0&offset=5',
      fault(416, 'PGRST103', 'Requested range not satisfiable', 'Limit should be greater than or equal to zero.'),
    ],
    ['/tickets?select=id&order=id&id=lt.3', { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/*' } }],
    ['/empty_lot', { json: [], headers: { 'Content-Range': '*/*' } }],
    [
      '/tickets?select=id&order=id&limit=-1',
      fault(416, 'PGRST103', 'Requested range not satisfiable', 'Limit should be greater than or equal to zero.'),
    ],
    ['/tickets?select=id&order=id&limit=2&offset=-1', { json: [{ id: 1 }], headers: { 'Content-Range': '0-0/*' } }],

    // the Range header
    [
      { path: '/tickets?select=id&order=id', headers: { Range: '0-1' } },
      { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id', headers: { Range: '98-' } },
      { json: [{ id: 99 }, { id: 100 }], headers: { 'Content-Range': '98-99/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id', headers: { Range: '98-200' } },
      { json: [{ id: 99 }, { id: 100 }], headers: { 'Content-Range': '98-99/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id', headers: { Range: '0-1', 'Range-Unit': 'items' } },
      { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id&id=lt.3', headers: { Range: '0-99' } },
      { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id', headers: { Range: '3-1' } },
      fault(
        416,
        'PGRST103',
        'Requested range not satisfiable',
        'The lower boundary must be lower than or equal to the upper boundary in the Range header.',
      ),
    ],
    [
      { path: '/tickets?select=id&order=id', headers: { Range: '200-300' } },
      { json: [], headers: { 'Content-Range': '*/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id&id=lt.3', headers: { Range: 'rows=0-1' } },
      { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id&id=lt.3', headers: { Range: '-1' } },
      { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id&limit=5&offset=2', headers: { Range: '3-4' } },
      { json: [{ id: 4 }, { id: 5 }], headers: { 'Content-Range': '3-4/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id&limit=2', headers: { Range: '5-6' } },
      fault(416, 'PGRST103', 'Requested range not satisfiable', 'Limit should be greater than or equal to zero.'),
    ],
    [
      { path: '/tickets?select=id&order=id&limit=0', headers: { Range: '0-1' } },
      { json: [], headers: { 'Content-Range': '*/*' } },
    ],
    [
      { path: '/empty_lot', headers: { Range: '0-9' } },
      { json: [], headers: { 'Content-Range': '*/*' } },
    ],

    // counts
    [
      { path: '/tickets?select=id&order=id&limit=2', headers: { Prefer: 'count=exact' } },
      { status: 206, json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/100' } },
    ],
    [
      { path: '/tickets?select=id&order=id&id=lt.3', headers: { Prefer: 'count=exact' } },
      { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/2' } },
    ],
    [
      { path: '/tickets?select=id&order=id&limit=2&id=lt.3', headers: { Prefer: 'count=exact' } },
      { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/2' } },
    ],
    [
      { path: '/tickets?select=id&order=id&offset=98', headers: { Prefer: 'count=exact' } },
      { status: 206, json: [{ id: 99 }, { id: 100 }], headers: { 'Content-Range': '98-99/100' } },
    ],
    [
      { path: '/tickets?select=id&order=id&offset=200', headers: { Prefer: 'count=exact' } },
      {
        status: 416,
        json: {
          code: 'PGRST103',
          details: 'An offset of 200 was requested, but there are only 100 rows.',
          hint: null,
          message: 'Requested range not satisfiable',
        },
        headers: { 'Content-Range': '*/100' },
      },
    ],
    [
      { path: '/tickets?select=id&order=id&offset=100', headers: { Prefer: 'count=exact' } },
      { status: 206, json: [], headers: { 'Content-Range': '*/100' } },
    ],
    [
      { path: '/tickets?select=id&order=id&limit=0', headers: { Prefer: 'count=exact' } },
      { status: 206, json: [], headers: { 'Content-Range': '*/100' } },
    ],
    [
      { path: '/empty_lot', headers: { Prefer: 'count=exact' } },
      { json: [], headers: { 'Content-Range': '*/0' } },
    ],
    [
      { path: '/empty_lot?offset=1', headers: { Prefer: 'count=exact' } },
      {
        status: 416,
        json: {
          code: 'PGRST103',
          details: 'An offset of 1 was requested, but there are only 0 rows.',
          hint: null,
          message: 'Requested range not satisfiable',
        },
        headers: { 'Content-Range': '*/0' },
      },
    ],
    [
      { path: '/tickets?select=id&order=id', headers: { Range: '0-1', Prefer: 'count=exact' } },
      { status: 206, json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/100' } },
    ],
    [
      { path: '/tickets?select=id&order=id', headers: { Range: '200-300', Prefer: 'count=exact' } },
      {
        status: 416,
        json: {
          code: 'PGRST103',
          details: 'An offset of 200 was requested, but there are only 100 rows.',
          hint: null,
          message: 'Requested range not satisfiable',
        },
        headers: { 'Content-Range': '*/100' },
      },
    ],
    [
      { path: '/tickets?select=id&order=id&limit=2', headers: { Prefer: 'count=planned' } },
      { status: 206, json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/100' } },
    ],
    [
      { path: '/tickets?select=id&order=id&limit=2', headers: { Prefer: 'count=estimated' } },
      { status: 206, json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/100' } },
    ],
    [
      { path: '/tickets?select=id&order=id&limit=2', headers: { Prefer: 'count=wrong' } },
      { json: [{ id: 1 }, { id: 2 }], headers: { 'Content-Range': '0-1/*' } },
    ],
    [
      { path: '/tickets?select=id&order=id&offset=200', headers: { Prefer: 'count=planned' } },
      {
        status: 416,
        json: {
          code: 'PGRST103',
          details: 'An offset of 200 was requested, but there are only 100 rows.',
          hint: null,
          message: 'Requested range not satisfiable',
        },
        headers: { 'Content-Range': '*/100' },
      },
    ],
    [
      { path: '/workshops?select=id,cars!inner(id)&cars.id=eq.1&order=id&limit=1', headers: { Prefer: 'count=exact' } },
      { status: 206, json: [{ id: 1, cars: [{ id: 1 }] }], headers: { 'Content-Range': '0-0/2' } },
    ],
    [
      { path: '/cars?select=count()', headers: { Prefer: 'count=exact' } },
      { json: [{ count: 5 }], headers: { 'Content-Range': '0-0/1' } },
    ],
    [
      { method: 'HEAD', path: '/tickets?select=id&order=id', headers: { Prefer: 'count=exact' } },
      { text: '', headers: { 'Content-Range': '0-99/100' } },
    ],
    [
      { method: 'HEAD', path: '/tickets?select=id&order=id&limit=2', headers: { Prefer: 'count=exact' } },
      { status: 206, text: '', headers: { 'Content-Range': '0-1/100' } },
    ],
    [
      { method: 'HEAD', path: '/tickets?select=id&order=id', headers: { Range: '0-1' } },
      { text: '', headers: { 'Content-Range': '0-99/*' } },
    ],
    [
      { method: 'HEAD', path: '/tickets?select=id&order=id&offset=200', headers: { Prefer: 'count=exact' } },
      { status: 416, text: '', headers: { 'Content-Range': '*/100' } },
    ],

    // an inner embed without rows filters out all rows
    [
      { path: '/makers?select=id,models!inner(id)&models.limit=0', headers: { Prefer: 'count=exact' } },
      { json: [], headers: { 'Content-Range': '*/0' } },
    ],

    // functions
    ['/rpc/levels?limit=2', { json: [1, 2], headers: { 'Content-Range': '0-1/*' } }],
    [
      { path: '/rpc/levels?limit=2&offset=1', headers: { Prefer: 'count=exact' } },
      { status: 206, json: [2, 3], headers: { 'Content-Range': '1-2/5' } },
    ],
    [
      { path: '/rpc/levels', headers: { Range: '1-2', Prefer: 'count=exact' } },
      { status: 206, json: [2, 3], headers: { 'Content-Range': '1-2/5' } },
    ],
    [
      { path: '/rpc/levels', headers: { Prefer: 'count=exact' } },
      { json: [1, 2, 3, 4, 5], headers: { 'Content-Range': '0-4/5' } },
    ],
    [
      { path: '/rpc/levels?offset=9', headers: { Prefer: 'count=exact' } },
      {
        status: 416,
        json: {
          code: 'PGRST103',
          details: 'An offset of 9 was requested, but there are only 5 rows.',
          hint: null,
          message: 'Requested range not satisfiable',
        },
        headers: { 'Content-Range': '*/5' },
      },
    ],
    [
      { path: '/rpc/cars_under?limit_price=50000&select=id&order=id&limit=1', headers: { Prefer: 'count=exact' } },
      { status: 206, json: [{ id: 1 }], headers: { 'Content-Range': '0-0/4' } },
    ],
    [
      { path: '/rpc/cars_under?limit_price=50000&select=id&order=id&limit=1', headers: { Prefer: 'count=planned' } },
      { json: [{ id: 1 }], headers: { 'Content-Range': '0-0/*' } },
    ],
    [
      { path: '/rpc/cars_under?limit_price=50000&select=id&limit=1', headers: { Prefer: 'count=estimated' } },
      { status: 206, json: [{ id: 1 }], headers: { 'Content-Range': '0-0/4' } },
    ],
    [
      { path: '/rpc/add?a=1', headers: { Prefer: 'count=exact' } },
      { json: 11, headers: { 'Content-Range': '0-0/1' } },
    ],
    [
      { path: '/rpc/first_car?select=id', headers: { Prefer: 'count=exact' } },
      { json: { id: 1 }, headers: { 'Content-Range': '0-0/1' } },
    ],
    [
      { method: 'HEAD', path: '/rpc/levels?limit=1', headers: { Prefer: 'count=exact' } },
      { status: 206, text: '', headers: { 'Content-Range': '0-0/5' } },
    ],
  ],
}
