import { fault, type RequestTable } from '../../support/request-table.ts'

/** The values of two headers. */
const variesBy = 'Accept, Prefer, Range, Accept-Profile, Authorization, apikey, Cookie'

export const headers: RequestTable = {
  title: 'headers, schemas, preferences',
  rows: [
    {
      send: ['GET', '/plates?select=plate&car_id=eq.1'],
      body: [{ plate: 'AB 12' }],
      also: {
        'Content-Length': '19',
        'Content-Location': '/rest/v1/plates?car_id=eq.1&select=plate',
        'Content-Profile': 'garage',
        Vary: variesBy,
      },
    },
    {
      send: ['HEAD', '/plates?select=plate&car_id=eq.1'],
      contentType: 'application/json; charset=utf-8',
      range: '0-0/*',
      also: {
        'Content-Length': null,
        'Content-Location': '/rest/v1/plates?car_id=eq.1&select=plate',
        'Content-Profile': 'garage',
        Vary: variesBy,
      },
    },
    {
      send: ['GET', '/plates?order=car_id&select=plate&car_id=in.(1,2)&limit=1'],
      prefer: 'count=exact',
      status: 206,
      body: [{ plate: 'AB 12' }],
      range: '0-0/2',
      applied: 'count=exact',
      also: {
        'Content-Length': '19',
        'Content-Location': '/rest/v1/plates?car_id=in.%281%2C2%29&limit=1&order=car_id&select=plate',
        'Content-Profile': 'garage',
        Vary: variesBy,
      },
    },
    {
      send: ['GET', '/plates?select=plate&car_id=eq.1'],
      accept: 'text/csv',
      body: 'plate\n"AB 12"',
      contentType: 'text/csv; charset=utf-8',
      range: '0-0/*',
      also: {
        'Content-Length': '13',
        'Content-Location': '/rest/v1/plates?car_id=eq.1&select=plate',
        'Content-Profile': 'garage',
        Vary: variesBy,
      },
    },
    {
      send: ['HEAD', '/plates?select=plate&car_id=eq.1'],
      accept: 'text/csv',
      contentType: 'text/csv; charset=utf-8',
      range: '0-0/*',
      also: {
        'Content-Length': null,
        'Content-Location': '/rest/v1/plates?car_id=eq.1&select=plate',
        'Content-Profile': 'garage',
        Vary: variesBy,
      },
    },
    {
      send: ['GET', '/empty_lot'],
      body: [],
      also: {
        'Content-Length': '2',
        'Content-Location': '/rest/v1/empty_lot',
        'Content-Profile': 'garage',
        Vary: variesBy,
      },
    },
    {
      send: ['HEAD', '/empty_lot'],
      contentType: 'application/json; charset=utf-8',
      range: '*/*',
      also: {
        'Content-Length': null,
        'Content-Location': '/rest/v1/empty_lot',
        'Content-Profile': 'garage',
        Vary: variesBy,
      },
    },
    {
      send: ['GET', '/größe, länge?select=kür zel&kür zel=eq.1'],
      body: [{ 'kür zel': 1 }],
      also: { 'Content-Location': '/rest/v1/größe, länge?k%C3%83%C2%BCr%20zel=eq.1&select=k%C3%83%C2%BCr%20zel' },
    },
    {
      send: ['GET', '/plates?car_id=eq.1&select=plate'],
      body: [{ plate: 'AB 12' }],
      also: { 'Content-Location': '/rest/v1/plates?car_id=eq.1&select=plate' },
    },
    {
      send: ['GET', '/plates?select=plate&plate=eq.AB+12'],
      body: [{ plate: 'AB 12' }],
      also: { 'Content-Location': '/rest/v1/plates?plate=eq.AB%2012&select=plate' },
    },
    {
      send: ['GET', '/plates?select=plate&plate=like.%25%26*'],
      body: [],
      also: { 'Content-Location': '/rest/v1/plates?plate=like.%25%26%2A&select=plate' },
    },
    {
      send: ['GET', '/rpc/add?b=2&a=1'],
      body: 3,
      range: '0-0/*',
      also: { 'Content-Location': null, 'Content-Profile': 'garage', Vary: variesBy },
    },

    // schemas
    {
      send: ['GET', '/cars?select=*'],
      headers: { 'Accept-Profile': 'depot' },
      body: [{ id: 7, bay: 'north' }],
      also: { 'Content-Profile': 'depot', 'Content-Location': '/rest/v1/cars?select=%2A' },
    },
    {
      send: ['GET', '/cars?select=id&id=eq.1'],
      headers: { 'Accept-Profile': 'garage' },
      body: [{ id: 1 }],
      also: { 'Content-Profile': 'garage' },
    },
    {
      send: ['GET', '/cars'],
      headers: { 'Accept-Profile': 'vault' },
      status: 406,
      body: fault('PGRST106', 'Invalid schema: vault', null, 'Only the following schemas are exposed: garage, depot'),
    },
    {
      send: ['GET', '/cars'],
      headers: { 'Accept-Profile': '' },
      status: 406,
      body: fault('PGRST106', 'Invalid schema: ', null, 'Only the following schemas are exposed: garage, depot'),
    },
    {
      send: ['GET', '/cars'],
      headers: { 'Accept-Profile': 'tools' },
      status: 406,
      body: fault('PGRST106', 'Invalid schema: tools', null, 'Only the following schemas are exposed: garage, depot'),
    },
    {
      send: ['GET', '/cars?select=id&id=eq.1'],
      headers: { 'Content-Profile': 'depot' },
      body: [{ id: 1 }],
      also: { 'Content-Profile': 'garage' },
    },
    {
      send: ['GET', '/people?select=id'],
      headers: { 'Accept-Profile': 'depot' },
      status: 404,
      body: fault('PGRST205', "Could not find the table 'depot.people' in the schema cache"),
    },
    {
      send: ['HEAD', '/cars'],
      headers: { 'Accept-Profile': 'depot' },
      contentType: 'application/json; charset=utf-8',
      range: '0-0/*',
      also: { 'Content-Profile': 'depot' },
    },

    // preferences
    {
      send: ['GET', '/plates?select=plate&car_id=eq.1'],
      prefer: 'count=exact, handling=strict',
      body: [{ plate: 'AB 12' }],
      range: '0-0/1',
      applied: 'count=exact, handling=strict',
    },
    {
      send: ['GET', '/plates?select=plate&car_id=eq.1'],
      prefer: 'handling=strict, what=ever',
      status: 400,
      body: fault('PGRST122', 'Invalid preferences given with handling=strict', 'Invalid preferences: what=ever'),
    },
    {
      send: ['GET', '/plates?select=plate&car_id=eq.1'],
      prefer: 'handling=lenient, what=ever',
      body: [{ plate: 'AB 12' }],
      applied: 'handling=lenient',
    },
    {
      send: ['GET', '/plates?select=plate&car_id=eq.1'],
      prefer: 'return=representation, resolution=merge-duplicates, missing=default',
      body: [{ plate: 'AB 12' }],
    },
    {
      send: ['GET', '/cars?select=seen&id=eq.1'],
      prefer: 'timezone=America/New_York',
      body: [{ seen: '2024-01-01T22:04:05-05:00' }],
      applied: 'timezone=America/New_York',
    },
    { send: ['GET', '/plates?select=plate&car_id=eq.1'], prefer: 'tx=rollback', body: [{ plate: 'AB 12' }] },
    {
      send: ['GET', '/plates?select=plate&car_id=eq.1'],
      prefer: 'count=exact,count=planned',
      body: [{ plate: 'AB 12' }],
      range: '0-0/1',
      applied: 'count=exact',
    },

    // other methods
    {
      send: ['OPTIONS', '/cars'],
      also: { 'Access-Control-Allow-Origin': '*', Allow: 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE' },
    },
    {
      send: ['OPTIONS', '/cheap_listings'],
      also: { 'Access-Control-Allow-Origin': '*', Allow: 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE' },
    },
    { send: ['OPTIONS', '/maker_models'], also: { 'Access-Control-Allow-Origin': '*', Allow: 'OPTIONS,GET,HEAD' } },
    {
      send: ['OPTIONS', '/rpc/add'],
      status: 404,
      body: fault(
        'PGRST202',
        'Could not find the function garage.add without parameters in the schema cache',
        'Searched for the function garage.add without parameters, but no matches were found in the schema cache.',
      ),
    },
    {
      send: ['OPTIONS', '/nothing'],
      status: 404,
      body: fault('PGRST205', "Could not find the table 'garage.nothing' in the schema cache"),
    },
    { send: ['OPTIONS', '/'], also: { 'Access-Control-Allow-Origin': '*', Allow: 'OPTIONS,GET,HEAD' } },
  ],
}
