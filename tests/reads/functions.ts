import { fault, type Topic } from '../support/exchange.ts'

export const functions: Topic = {
  title: 'functions that read',
  exchanges: [
    ['/rpc/add?a=1&b=2', { json: 3 }],
    ['/rpc/add?a=1', { json: 11 }],
    [
      '/rpc/add',
      fault(
        404,
        'PGRST202',
        'Could not find the function garage.add without parameters in the schema cache',
        'Searched for the function garage.add without parameters, but no matches were found in the schema cache.',
      ),
    ],
    ['/rpc/add?a=x', fault(400, '22P02', 'invalid input syntax for type integer: "x"')],
    [
      '/rpc/add?a=1&c=2',
      fault(
        404,
        'PGRST202',
        'Could not find the function garage.add(a, c) in the schema cache',
        'Searched for the function garage.add with parameters a, c, but no matches were found in the schema cache.',
        'Perhaps you meant to call the function garage.add(a, b)',
      ),
    ],
    [
      '/rpc/nothing_here',
      fault(
        404,
        'PGRST202',
        'Could not find the function garage.nothing_here without parameters in the schema cache',
        'Searched for the function garage.nothing_here without parameters, but no matches were found in the schema cache.',
      ),
    ],
    [
      '/rpc/ad?a=1',
      fault(
        404,
        'PGRST202',
        'Could not find the function garage.ad(a) in the schema cache',
        'Searched for the function garage.ad with parameter a, but no matches were found in the schema cache.',
      ),
    ],
    ['/rpc/nothing', { status: 204, text: '', headers: { 'Content-Type': null, 'Content-Range': '0-0/*' } }],
    ['/rpc/totals', [{ sold_cars: 2, all_cars: 5 }]],
    ['/rpc/totals?select=all_cars', [{ all_cars: 5 }]],
    ['/rpc/levels', [1, 2, 3, 4, 5]],
    ['/rpc/levels?order=levels.desc&limit=2', fault(400, '42703', 'column levels.levels does not exist')],
    ['/rpc/cars_under?limit_price=20000&select=id&mileage=gt.50000&order=id', [{ id: 1 }, { id: 4 }]],
    ['/rpc/cars_under?limit_price=20000&select=id&or=(id.eq.1,id.eq.2)&order=id.desc', [{ id: 2 }, { id: 1 }]],
    ['/rpc/cars_under?limit_price=20000&select=label&id=eq.1', [{ label: 'red wagon' }]],
    ['/rpc/join_words?words=a&words=b', { json: 'a-b' }],
    ['/rpc/join_words?words=a', { json: 'a' }],
    ['/rpc/teapot', fault(418, 'PT418', 'short and stout', 'a detail', 'a hint')],
    ['/rpc/shouted?word=ah', { json: 'AH!' }],
    ['/rpc/with_headers', { status: 203, json: 1, headers: { 'X-Garage': 'open', Vary: 'X-Garage' } }],
    ['/rpc/first_car?select=id,label', { json: { id: 1, label: 'red wagon' } }],
    [
      '/rpc/shout?word=a',
      fault(
        404,
        'PGRST202',
        'Could not find the function garage.shout(word) in the schema cache',
        'Searched for the function garage.shout with parameter word, but no matches were found in the schema cache.',
      ),
    ],
    ['/rpc/a/b', fault(404, 'PGRST125', 'Invalid path specified in request URL')],
    ['/cars/b/c', fault(404, 'PGRST125', 'Invalid path specified in request URL')],
    ['/rpc/levels?select=levels&limit=1', fault(400, '42703', 'column levels.levels does not exist')],
    [{ path: '/rpc/where_is?id=7', headers: { 'Accept-Profile': 'depot' } }, { json: 'north' }],
    [
      '/rpc/where_is?id=7',
      fault(
        404,
        'PGRST202',
        'Could not find the function garage.where_is(id) in the schema cache',
        'Searched for the function garage.where_is with parameter id, but no matches were found in the schema cache.',
      ),
    ],
    [
      { method: 'HEAD', path: '/rpc/levels' },
      { text: '', headers: { 'Content-Range': '0-4/*', 'Content-Type': 'application/json; charset=utf-8' } },
    ],
    [
      { method: 'HEAD', path: '/secrets' },
      {
        status: 401,
        text: '',
        headers: {
          'WWW-Authenticate': 'Bearer',
          'Proxy-Status': 'PostgREST; error=42501',
          'Content-Type': 'application/json; charset=utf-8',
        },
      },
    ],
    [
      '/secrets',
      {
        status: 401,
        json: { code: '42501', details: null, hint: null, message: 'permission denied for table secrets' },
        headers: { 'WWW-Authenticate': 'Bearer', 'Proxy-Status': 'PostgREST; error=42501' },
      },
    ],
  ],
}
