import { fault, type RequestTable } from '../../support/request-table.ts'

export const functions: RequestTable = {
  title: 'functions that read',
  rows: [
    { send: ['GET', '/rpc/add?a=1&b=2'], body: 3, range: '0-0/*' },
    { send: ['GET', '/rpc/add?a=1'], body: 11, range: '0-0/*' },
    {
      send: ['GET', '/rpc/add'],
      status: 404,
      body: fault(
        'PGRST202',
        'Could not find the function garage.add without parameters in the schema cache',
        'Searched for the function garage.add without parameters, but no matches were found in the schema cache.',
      ),
    },
    { send: ['GET', '/rpc/add?a=x'], status: 400, body: fault('22P02', 'invalid input syntax for type integer: "x"') },
    {
      send: ['GET', '/rpc/add?a=1&c=2'],
      status: 404,
      body: fault(
        'PGRST202',
        'Could not find the function garage.add(a, c) in the schema cache',
        'Searched for the function garage.add with parameters a, c, but no matches were found in the schema cache.',
        'Perhaps you meant to call the function garage.add(a, b)',
      ),
    },
    {
      send: ['GET', '/rpc/nothing_here'],
      status: 404,
      body: fault(
        'PGRST202',
        'Could not find the function garage.nothing_here without parameters in the schema cache',
        'Searched for the function garage.nothing_here without parameters, but no matches were found in the schema cache.',
      ),
    },
    {
      send: ['GET', '/rpc/ad?a=1'],
      status: 404,
      body: fault(
        'PGRST202',
        'Could not find the function garage.ad(a) in the schema cache',
        'Searched for the function garage.ad with parameter a, but no matches were found in the schema cache.',
      ),
    },
    { send: ['GET', '/rpc/nothing'], status: 204, range: '0-0/*' },
    { send: ['GET', '/rpc/totals'], body: [{ sold_cars: 2, all_cars: 5 }] },
    { send: ['GET', '/rpc/totals?select=all_cars'], body: [{ all_cars: 5 }] },
    { send: ['GET', '/rpc/levels'], body: [1, 2, 3, 4, 5] },
    {
      send: ['GET', '/rpc/levels?order=levels.desc&limit=2'],
      status: 400,
      body: fault('42703', 'column levels.levels does not exist'),
    },
    {
      send: ['GET', '/rpc/cars_under?limit_price=20000&select=id&mileage=gt.50000&order=id'],
      body: [{ id: 1 }, { id: 4 }],
    },
    {
      send: ['GET', '/rpc/cars_under?limit_price=20000&select=id&or=(id.eq.1,id.eq.2)&order=id.desc'],
      body: [{ id: 2 }, { id: 1 }],
    },
    { send: ['GET', '/rpc/cars_under?limit_price=20000&select=label&id=eq.1'], body: [{ label: 'red wagon' }] },
    { send: ['GET', '/rpc/join_words?words=a&words=b'], body: '"a-b"', range: '0-0/*' },
    { send: ['GET', '/rpc/join_words?words=a'], body: '"a"', range: '0-0/*' },
    { send: ['GET', '/rpc/teapot'], status: 418, body: fault('PT418', 'short and stout', 'a detail', 'a hint') },
    { send: ['GET', '/rpc/shouted?word=ah'], body: '"AH!"', range: '0-0/*' },
    {
      send: ['GET', '/rpc/with_headers'],
      status: 203,
      body: 1,
      range: '0-0/*',
      also: { 'X-Garage': 'open', Vary: 'X-Garage' },
    },
    { send: ['GET', '/rpc/first_car?select=id,label'], body: { id: 1, label: 'red wagon' }, range: '0-0/*' },
    {
      send: ['GET', '/rpc/shout?word=a'],
      status: 404,
      body: fault(
        'PGRST202',
        'Could not find the function garage.shout(word) in the schema cache',
        'Searched for the function garage.shout with parameter word, but no matches were found in the schema cache.',
      ),
    },
    { send: ['GET', '/rpc/a/b'], status: 404, body: fault('PGRST125', 'Invalid path specified in request URL') },
    { send: ['GET', '/cars/b/c'], status: 404, body: fault('PGRST125', 'Invalid path specified in request URL') },
    {
      send: ['GET', '/rpc/levels?select=levels&limit=1'],
      status: 400,
      body: fault('42703', 'column levels.levels does not exist'),
    },
    { send: ['GET', '/rpc/where_is?id=7'], headers: { 'Accept-Profile': 'depot' }, body: '"north"', range: '0-0/*' },
    {
      send: ['GET', '/rpc/where_is?id=7'],
      status: 404,
      body: fault(
        'PGRST202',
        'Could not find the function garage.where_is(id) in the schema cache',
        'Searched for the function garage.where_is with parameter id, but no matches were found in the schema cache.',
      ),
    },
    { send: ['HEAD', '/rpc/levels'], contentType: 'application/json; charset=utf-8', range: '0-4/*' },
    {
      send: ['HEAD', '/secrets'],
      status: 401,
      contentType: 'application/json; charset=utf-8',
      also: { 'Proxy-Status': 'PostgREST; error=42501', 'WWW-Authenticate': 'Bearer' },
    },
    {
      send: ['GET', '/secrets'],
      status: 401,
      body: fault('42501', 'permission denied for table secrets'),
      also: { 'WWW-Authenticate': 'Bearer' },
    },
  ],
}
