import { fault, type RequestTable } from '../../support/request-table.ts'

export const filters: RequestTable = {
  title: 'conditions',
  rows: [
    // comparisons
    { send: ['GET', '/cars?select=id&mileage=eq.300'], body: [{ id: 3 }] },
    { send: ['GET', '/cars?select=id&details->wheels->front::int=gt.9&order=id'], body: [{ id: 1 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&mileage=neq.300&order=id'], body: [{ id: 1 }, { id: 2 }, { id: 4 }] },
    { send: ['GET', '/cars?select=id&mileage=gt.45000&order=id'], body: [{ id: 1 }, { id: 4 }] },
    { send: ['GET', '/cars?select=id&mileage=gte.45000&order=id'], body: [{ id: 1 }, { id: 2 }, { id: 4 }] },
    { send: ['GET', '/cars?select=id&mileage=lt.45000'], body: [{ id: 3 }] },
    { send: ['GET', '/cars?select=id&mileage=lte.45000&order=id'], body: [{ id: 2 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&mileage=not.gt.45000&order=id'], body: [{ id: 2 }, { id: 3 }] },
    {
      send: ['GET', '/cars?select=id&mileage=isdistinct.300&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 4 }, { id: 5 }],
    },
    { send: ['GET', '/cars?select=id&mileage=not.isdistinct.300'], body: [{ id: 3 }] },
    { send: ['GET', '/cars?select=id&mileage=gt.300&mileage=lt.100000&order=id'], body: [{ id: 2 }, { id: 4 }] },

    // patterns: * is an alias of %
    { send: ['GET', '/cars?select=id&label=like.*wagon&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/cars?select=id&label=like.red%25'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&label=like.RED*'], body: [] },
    { send: ['GET', '/cars?select=id&label=ilike.RED*'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&label=not.ilike.*wagon&order=id'], body: [{ id: 3 }, { id: 4 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&label=like.blue_wagon'], body: [{ id: 2 }] },
    { send: ['GET', '/cars?select=id&label=like.*100\\%25'], body: [{ id: 3 }] },
    { send: ['GET', '/cars?select=id&label=match.^.*wagon$&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/cars?select=id&label=match.RED'], body: [] },
    { send: ['GET', '/cars?select=id&label=imatch.RED'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&label=not.match.wagon&order=id'], body: [{ id: 3 }, { id: 4 }, { id: 5 }] },

    // quantifiers
    { send: ['GET', '/cars?select=id&label=like(any).{red*,blue*}&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/cars?select=id&label=ilike(all).{*WAGON,RED*}'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&mileage=gt(all).{300,45000}&order=id'], body: [{ id: 1 }, { id: 4 }] },
    { send: ['GET', '/cars?select=id&id=eq(any).{1,3,99}&order=id'], body: [{ id: 1 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&mileage=not.gte(any).{50000,100000}&order=id'], body: [{ id: 2 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&label=match(any).{^red,"(yet)"}&order=id'], body: [{ id: 1 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&mileage=lt(any).{}'], body: [] },

    // membership
    { send: ['GET', '/cars?select=id&id=in.(1,3,99)&order=id'], body: [{ id: 1 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&id=in.()'], body: [] },
    { send: ['GET', '/cars?select=id&id=not.in.(1,3)&order=id'], body: [{ id: 2 }, { id: 4 }, { id: 5 }] },
    {
      send: ['GET', '/cars?select=id&label=in.("a \\"quoted\\", name",red wagon)&order=id'],
      body: [{ id: 1 }, { id: 4 }],
    },
    { send: ['GET', '/cars?select=id&label=in.("no\\\\model (yet)")'], body: [{ id: 5 }] },
    { send: ['GET', '/cars?select=id&label=in.( red wagon ,blue_wagon)&order=id'], body: [{ id: 2 }] },
    { send: ['GET', '/cars?select=id&label=in.(red wagon,"")'], body: [{ id: 1 }] },

    // is
    { send: ['GET', '/cars?select=id&mileage=is.null'], body: [{ id: 5 }] },
    {
      send: ['GET', '/cars?select=id&mileage=not.is.null&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }],
    },
    {
      send: ['GET', '/cars?select=id&mileage=is.not_null&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }],
    },
    { send: ['GET', '/cars?select=id&sold=is.true&order=id'], body: [{ id: 2 }, { id: 4 }] },
    { send: ['GET', '/cars?select=id&sold=is.false&order=id'], body: [{ id: 1 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&sold=is.unknown'], body: [{ id: 3 }] },
    { send: ['GET', '/cars?select=id&sold=is.TRUE&order=id'], body: [{ id: 2 }, { id: 4 }] },
    { send: ['GET', '/cars?select=id&sold=not.is.true&order=id'], body: [{ id: 1 }, { id: 3 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&mileage=not.is.not_null'], body: [{ id: 5 }] },

    // arrays and ranges
    { send: ['GET', '/cars?select=id&tags=cs.{family}&order=id'], body: [{ id: 1 }, { id: 2 }] },
    {
      send: ['GET', '/cars?select=id&tags=cd.{family,"old timer",rust}&order=id'],
      body: [{ id: 2 }, { id: 3 }, { id: 4 }],
    },
    { send: ['GET', '/cars?select=id&tags=ov.{diesel,rust}&order=id'], body: [{ id: 1 }, { id: 4 }] },
    { send: ['GET', '/cars?select=id&tags=eq.{rust,"old timer"}'], body: [{ id: 4 }] },
    { send: ['GET', '/cars?select=id&tags=not.cs.{family}&order=id'], body: [{ id: 3 }, { id: 4 }] },
    { send: ['GET', '/cars?select=id&leased=cs.[6,7)&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/cars?select=id&leased=cd.[0,20)&order=id'], body: [{ id: 1 }, { id: 2 }, { id: 4 }] },
    { send: ['GET', '/cars?select=id&leased=ov.[9,25)&order=id'], body: [{ id: 1 }, { id: 2 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&leased=sl.[10,12)&order=id'], body: [{ id: 1 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&leased=sr.[2,10)&order=id'], body: [{ id: 3 }] },
    { send: ['GET', '/cars?select=id&leased=nxr.[0,10)&order=id'], body: [{ id: 1 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&leased=nxl.[5,6)&order=id'], body: [{ id: 2 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&leased=adj.[10,20)&order=id'], body: [{ id: 1 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&leased=eq.empty'], body: [{ id: 4 }] },
    { send: ['GET', '/cars?select=id&details=cs.{"extras":["hook"]}'], body: [{ id: 1 }] },
    {
      send: [
        'GET',
        '/models?select=id&specs=cd.{"doors":5,"gears":[1,2,3],"engine":{"hp":150,"fuel":"petrol"},"odd key":"x"}',
      ],
      body: [{ id: 1 }],
    },

    // text search
    { send: ['GET', '/cars?select=id&words=fts.car%26quick&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/cars?select=id&words=plfts.quick cars&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/cars?select=id&words=phfts.quick inside'], body: [] },
    { send: ['GET', '/cars?select=id&words=phfts.parked outside'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&words=wfts.car -truck'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&words=fts(english).dreams'], body: [{ id: 5 }] },
    { send: ['GET', '/cars?select=id&words=not.fts(english).car&order=id'], body: [{ id: 3 }, { id: 4 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&words=fts(simple).cars'], body: [] },
    { send: ['GET', '/cars?select=id&story=fts(english).dreams'], body: [{ id: 5 }] },
    { send: ['GET', '/cars?select=id&story=wfts."family car"'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&story=plfts(german).impossible'], body: [{ id: 5 }] },
    {
      send: ['GET', '/cars?select=id&words=fts(klingon).car'],
      status: 400,
      body: fault('42704', 'text search configuration "klingon" does not exist'),
    },
    { send: ['GET', '/models?select=id&specs=fts.petrol'], body: [{ id: 1 }] },

    // values are not trimmed or unquoted
    { send: ['GET', '/cars?select=id&label=eq.no\\model (yet)'], body: [{ id: 5 }] },
    { send: ['GET', '/cars?select=id&label=eq.a "quoted", name'], body: [{ id: 4 }] },
    { send: ['GET', '/cars?select=id&label=eq.silver 100%25'], body: [{ id: 3 }] },
    { send: ['GET', '/cars?select=id&label=eq.'], body: [] },
    { send: ['GET', '/people?select=id&name=eq.Bülent'], body: [{ id: 2 }] },
    { send: ['GET', '/people?select=id&name=eq.B%C3%BClent'], body: [{ id: 2 }] },
    { send: ['GET', '/people?select=id&email=eq.b.ö@example.test'], body: [{ id: 2 }] },
    { send: ['GET', "/cars?select=id&label=eq.'%3B drop table cars --"], body: [] },
    { send: ['GET', '/plates?plate=eq.ÖK+1'], body: [{ car_id: 4, plate: 'ÖK 1' }] },
    { send: ['GET', '/plates?select=car_id&plate=eq.ÖK%201'], body: [{ car_id: 4 }] },
    { send: ['GET', '/people?select=id&name=eq.%E2%98%83'], body: [] },
    { send: ['GET', '/cars?select=id&price=eq.41000.00'], body: [{ id: 3 }] },
    { send: ['GET', '/cars?select=id&seen=gt.2024-01-01&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/cars?select=id&full_label=eq.1: red wagon'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&always_true=is.true&id=lt.3&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/makers?select=id&name=eq.Bramble %26 Sons'], body: [{ id: 4 }] },

    // invalid values
    {
      send: ['GET', '/cars?select=id&id=eq.x'],
      status: 400,
      body: fault('22P02', 'invalid input syntax for type integer: "x"'),
    },
    {
      send: ['GET', '/cars?id=eq.99999999999'],
      status: 400,
      body: fault('22003', 'value "99999999999" is out of range for type integer'),
    },
    {
      send: ['GET', '/cars?id=in.(1,x)'],
      status: 400,
      body: fault('22P02', 'invalid input syntax for type integer: "x"'),
    },
    {
      send: ['GET', '/cars?tags=cs.family'],
      status: 400,
      body: fault(
        '22P02',
        'malformed array literal: "family"',
        'Array value must start with "{" or dimension information.',
      ),
    },
    {
      send: ['GET', '/cars?seen=gt.yesterdy'],
      status: 400,
      body: fault('22007', 'invalid input syntax for type timestamp with time zone: "yesterdy"'),
    },
    {
      send: ['GET', '/cars?sold=eq.maybe'],
      status: 400,
      body: fault('22P02', 'invalid input syntax for type boolean: "maybe"'),
    },
    {
      send: ['GET', '/cars?label=match.['],
      status: 400,
      body: fault('2201B', 'invalid regular expression: brackets [] not balanced'),
    },
    { send: ['GET', '/cars?nothing=eq.1'], status: 400, body: fault('42703', 'column cars.nothing does not exist') },
    { send: ['GET', '/cars?label=eq.%00'], body: [] },
    {
      send: ['GET', '/cars?id=fts.a'],
      status: 404,
      body: fault(
        '42883',
        'function to_tsvector(integer) does not exist',
        null,
        'No function matches the given name and argument types. You might need to add explicit type casts.',
      ),
    },
    {
      send: ['GET', '/cars?label=sl.a'],
      status: 404,
      body: fault(
        '42883',
        'operator does not exist: text << unknown',
        null,
        'No operator matches the given name and argument types. You might need to add explicit type casts.',
      ),
    },
    { send: ['GET', '/cars?words=fts.a b'], status: 400, body: fault('42601', 'syntax error in tsquery: "a b"') },

    // names
    {
      send: ['GET', '/größe, länge?select="kür zel","select"&"wert.\\"m\\""=eq.1.5'],
      body: [{ 'kür zel': 1, select: 'eins' }],
    },
    {
      send: ['GET', '/gr%C3%B6%C3%9Fe%2C%20l%C3%A4nge?order="wert.\\"m\\"".desc'],
      body: [
        { 'kür zel': 2, 'wert."m"': 2.5, select: 'zwei', 'a->b': null },
        { 'kür zel': 1, 'wert."m"': 1.5, select: 'eins', 'a->b': 'x' },
      ],
    },
    { send: ['GET', '/größe, länge?select=kür zel,"a->b"&kür zel=eq.1'], body: [{ 'kür zel': 1, 'a->b': 'x' }] },
    { send: ['GET', '/größe, länge?select="select"&select=*'], body: [{ select: 'eins' }, { select: 'zwei' }] },
    {
      send: ['GET', '/größe, länge?select=x:"wert.\\"m\\"",längd:"select"&"a->b"=is.null'],
      body: [{ x: 2.5, längd: 'zwei' }],
    },
    { send: ['GET', '/__proto__'], body: [{ constructor: 1, toString: 'safe' }] },
    {
      send: ['GET', '/__proto__?select=constructor,toString&constructor=eq.1'],
      body: [{ constructor: 1, toString: 'safe' }],
    },
    {
      send: ['GET', '/__proto__?__proto__=eq.1'],
      status: 400,
      body: fault('42703', 'column __proto__.__proto__ does not exist'),
    },
    {
      send: ['GET', '/constructor'],
      status: 404,
      body: fault('PGRST205', "Could not find the table 'garage.constructor' in the schema cache"),
    },
    {
      send: ['GET', '/cars?constructor=eq.1'],
      status: 400,
      body: fault('42703', 'column cars.constructor does not exist'),
    },
  ],
}
