import { fault, type Topic } from '../support/exchange.ts'

export const headers: Topic = {
  title: 'headers, schemas, preferences',
  exchanges: [
    [
      '/plates?select=plate&car_id=eq.1',
      {
        json: [{ plate: 'AB 12' }],
        headers: {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': '19',
          'Content-Range': '0-0/*',
          'Content-Location': '/plates?car_id=eq.1&select=plate',
          'Content-Profile': 'garage',
          Vary: 'Accept, Prefer, Range',
          'Preference-Applied': null,
          'Range-Unit': null,
          Location: null,
          'Server-Timing': null,
        },
      },
    ],
    [
      { method: 'HEAD', path: '/plates?select=plate&car_id=eq.1' },
      {
        text: '',
        headers: {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': null,
          'Content-Range': '0-0/*',
          'Content-Location': '/plates?car_id=eq.1&select=plate',
          'Content-Profile': 'garage',
          Vary: 'Accept, Prefer, Range',
          'Preference-Applied': null,
          'Range-Unit': null,
          Location: null,
          'Server-Timing': null,
        },
      },
    ],
    [
      { path: '/plates?order=car_id&select=plate&car_id=in.(1,2)&limit=1', headers: { Prefer: 'count=exact' } },
      {
        status: 206,
        json: [{ plate: 'AB 12' }],
        headers: {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': '19',
          'Content-Range': '0-0/2',
          'Content-Location': '/plates?car_id=in.%281%2C2%29&limit=1&order=car_id&select=plate',
          'Content-Profile': 'garage',
          Vary: 'Accept, Prefer, Range',
          'Preference-Applied': 'count=exact',
          'Range-Unit': null,
          Location: null,
          'Server-Timing': null,
        },
      },
    ],
    [
      { path: '/plates?select=plate&car_id=eq.1', headers: { Accept: 'text/csv' } },
      {
        text: 'plate\n"AB 12"',
        headers: {
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Length': '13',
          'Content-Range': '0-0/*',
          'Content-Location': '/plates?car_id=eq.1&select=plate',
          'Content-Profile': 'garage',
          Vary: 'Accept, Prefer, Range',
          'Preference-Applied': null,
          'Range-Unit': null,
          Location: null,
          'Server-Timing': null,
        },
      },
    ],
    [
      { method: 'HEAD', path: '/plates?select=plate&car_id=eq.1', headers: { Accept: 'text/csv' } },
      {
        text: '',
        headers: {
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Length': null,
          'Content-Range': '0-0/*',
          'Content-Location': '/plates?car_id=eq.1&select=plate',
          'Content-Profile': 'garage',
          Vary: 'Accept, Prefer, Range',
          'Preference-Applied': null,
          'Range-Unit': null,
          Location: null,
          'Server-Timing': null,
        },
      },
    ],
    [
      '/empty_lot',
      {
        json: [],
        headers: {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': '2',
          'Content-Range': '*/*',
          'Content-Location': '/empty_lot',
          'Content-Profile': 'garage',
          Vary: 'Accept, Prefer, Range',
          'Preference-Applied': null,
          'Range-Unit': null,
          Location: null,
          'Server-Timing': null,
        },
      },
    ],
    [
      { method: 'HEAD', path: '/empty_lot' },
      {
        text: '',
        headers: {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': null,
          'Content-Range': '*/*',
          'Content-Location': '/empty_lot',
          'Content-Profile': 'garage',
          Vary: 'Accept, Prefer, Range',
          'Preference-Applied': null,
          'Range-Unit': null,
          Location: null,
          'Server-Timing': null,
        },
      },
    ],
    [
      '/größe, länge?select=kür zel&kür zel=eq.1',
      {
        json: [{ 'kür zel': 1 }],
        headers: { 'Content-Location': '/größe, länge?k%C3%83%C2%BCr%20zel=eq.1&select=k%C3%83%C2%BCr%20zel' },
      },
    ],
    [
      '/plates?car_id=eq.1&select=plate',
      { json: [{ plate: 'AB 12' }], headers: { 'Content-Location': '/plates?car_id=eq.1&select=plate' } },
    ],
    [
      '/plates?select=plate&plate=eq.AB+12',
      { json: [{ plate: 'AB 12' }], headers: { 'Content-Location': '/plates?plate=eq.AB%2012&select=plate' } },
    ],
    [
      '/plates?select=plate&plate=like.%25%26*',
      { json: [], headers: { 'Content-Location': '/plates?plate=like.%25%26%2A&select=plate' } },
    ],
    [
      '/rpc/add?b=2&a=1',
      {
        json: 3,
        headers: {
          'Content-Location': null,
          'Content-Range': '0-0/*',
          'Content-Profile': 'garage',
          Vary: 'Accept, Prefer, Range',
        },
      },
    ],

    // schemas
    [
      { path: '/cars?select=*', headers: { 'Accept-Profile': 'depot' } },
      {
        json: [{ id: 7, bay: 'north' }],
        headers: { 'Content-Profile': 'depot', 'Content-Location': '/cars?select=%2A' },
      },
    ],
    [
      { path: '/cars?select=id&id=eq.1', headers: { 'Accept-Profile': 'garage' } },
      { json: [{ id: 1 }], headers: { 'Content-Profile': 'garage' } },
    ],
    [
      { path: '/cars', headers: { 'Accept-Profile': 'vault' } },
      fault(406, 'PGRST106', 'Invalid schema: vault', null, 'Only the following schemas are exposed: garage, depot'),
    ],
    [
      { path: '/cars', headers: { 'Accept-Profile': '' } },
      fault(406, 'PGRST106', 'Invalid schema: ', null, 'Only the following schemas are exposed: garage, depot'),
    ],
    [
      { path: '/cars', headers: { 'Accept-Profile': 'tools' } },
      fault(406, 'PGRST106', 'Invalid schema: tools', null, 'Only the following schemas are exposed: garage, depot'),
    ],
    [
      { path: '/cars?select=id&id=eq.1', headers: { 'Content-Profile': 'depot' } },
      { json: [{ id: 1 }], headers: { 'Content-Profile': 'garage' } },
    ],
    [
      { path: '/people?select=id', headers: { 'Accept-Profile': 'depot' } },
      fault(404, 'PGRST205', "Could not find the table 'depot.people' in the schema cache"),
    ],
    [
      { method: 'HEAD', path: '/cars', headers: { 'Accept-Profile': 'depot' } },
      { text: '', headers: { 'Content-Profile': 'depot' } },
    ],

    // preferences
    [
      { path: '/plates?select=plate&car_id=eq.1', headers: { Prefer: 'count=exact, handling=strict' } },
      { json: [{ plate: 'AB 12' }], headers: { 'Preference-Applied': 'count=exact, handling=strict' } },
    ],
    [
      { path: '/plates?select=plate&car_id=eq.1', headers: { Prefer: 'handling=strict, what=ever' } },
      fault(400, 'PGRST122', 'Invalid preferences given with handling=strict', 'Invalid preferences: what=ever'),
    ],
    [
      { path: '/plates?select=plate&car_id=eq.1', headers: { Prefer: 'handling=lenient, what=ever' } },
      { json: [{ plate: 'AB 12' }], headers: { 'Preference-Applied': 'handling=lenient' } },
    ],
    [
      {
        path: '/plates?select=plate&car_id=eq.1',
        headers: { Prefer: 'return=representation, resolution=merge-duplicates, missing=default' },
      },
      { json: [{ plate: 'AB 12' }], headers: { 'Preference-Applied': null } },
    ],
    [
      { path: '/cars?select=seen&id=eq.1', headers: { Prefer: 'timezone=America/New_York' } },
      { json: [{ seen: '2024-01-01T22:04:05-05:00' }], headers: { 'Preference-Applied': 'timezone=America/New_York' } },
    ],
    [
      { path: '/plates?select=plate&car_id=eq.1', headers: { Prefer: 'tx=rollback' } },
      { json: [{ plate: 'AB 12' }], headers: { 'Preference-Applied': null } },
    ],
    [
      { path: '/plates?select=plate&car_id=eq.1', headers: { Prefer: 'count=exact,count=planned' } },
      { json: [{ plate: 'AB 12' }], headers: { 'Preference-Applied': 'count=exact', 'Content-Range': '0-0/1' } },
    ],

    // other methods
    [
      { method: 'OPTIONS', path: '/cars' },
      { text: '', headers: { Allow: 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE' } },
    ],
    [
      { method: 'OPTIONS', path: '/cheap_listings' },
      { text: '', headers: { Allow: 'OPTIONS,GET,HEAD,POST,PUT,PATCH,DELETE' } },
    ],
    [
      { method: 'OPTIONS', path: '/maker_models' },
      { text: '', headers: { Allow: 'OPTIONS,GET,HEAD' } },
    ],
    [
      { method: 'OPTIONS', path: '/rpc/add' },
      fault(
        404,
        'PGRST202',
        'Could not find the function garage.add without parameters in the schema cache',
        'Searched for the function garage.add without parameters, but no matches were found in the schema cache.',
      ),
    ],
    [
      { method: 'OPTIONS', path: '/nothing' },
      fault(404, 'PGRST205', "Could not find the table 'garage.nothing' in the schema cache"),
    ],
    [
      { method: 'OPTIONS', path: '/' },
      { text: '', headers: { Allow: 'OPTIONS,GET,HEAD' } },
    ],
  ],
}
