import { fault, type Topic } from '../support/exchange.ts'

export const filters: Topic = {
  title: 'conditions',
  exchanges: [
    // comparisons
    ['/cars?select=id&mileage=eq.300', [{ id: 3 }]],
    ['/cars?select=id&mileage=neq.300&order=id', [{ id: 1 }, { id: 2 }, { id: 4 }]],
    ['/cars?select=id&mileage=gt.45000&order=id', [{ id: 1 }, { id: 4 }]],
    ['/cars?select=id&mileage=gte.45000&order=id', [{ id: 1 }, { id: 2 }, { id: 4 }]],
    ['/cars?select=id&mileage=lt.45000', [{ id: 3 }]],
    ['/cars?select=id&mileage=lte.45000&order=id', [{ id: 2 }, { id: 3 }]],
    ['/cars?select=id&mileage=not.gt.45000&order=id', [{ id: 2 }, { id: 3 }]],
    ['/cars?select=id&mileage=isdistinct.300&order=id', [{ id: 1 }, { id: 2 }, { id: 4 }, { id: 5 }]],
    ['/cars?select=id&mileage=not.isdistinct.300', [{ id: 3 }]],
    ['/cars?select=id&mileage=gt.300&mileage=lt.100000&order=id', [{ id: 2 }, { id: 4 }]],

    // patterns: * is an alias of %
    ['/cars?select=id&label=like.*wagon&order=id', [{ id: 1 }, { id: 2 }]],
    ['/cars?select=id&label=like.red%25', [{ id: 1 }]],
    ['/cars?select=id&label=like.RED*', []],
    ['/cars?select=id&label=ilike.RED*', [{ id: 1 }]],
    ['/cars?select=id&label=not.ilike.*wagon&order=id', [{ id: 3 }, { id: 4 }, { id: 5 }]],
    ['/cars?select=id&label=like.blue_wagon', [{ id: 2 }]],
    ['/cars?select=id&label=like.*100\\%25', [{ id: 3 }]],
    ['/cars?select=id&label=match.^.*wagon$&order=id', [{ id: 1 }, { id: 2 }]],
    ['/cars?select=id&label=match.RED', []],
    ['/cars?select=id&label=imatch.RED', [{ id: 1 }]],
    ['/cars?select=id&label=not.match.wagon&order=id', [{ id: 3 }, { id: 4 }, { id: 5 }]],

    // quantifiers
    ['/cars?select=id&label=like(any).{red*,blue*}&order=id', [{ id: 1 }, { id: 2 }]],
    ['/cars?select=id&label=ilike(all).{*WAGON,RED*}', [{ id: 1 }]],
    ['/cars?select=id&mileage=gt(all).{300,45000}&order=id', [{ id: 1 }, { id: 4 }]],
    ['/cars?select=id&id=eq(any).{1,3,99}&order=id', [{ id: 1 }, { id: 3 }]],
    ['/cars?select=id&mileage=not.gte(any).{50000,100000}&order=id', [{ id: 2 }, { id: 3 }]],
    ['/cars?select=id&label=match(any).{^red,"(yet)"}&order=id', [{ id: 1 }, { id: 5 }]],
    ['/cars?select=id&mileage=lt(any).{}', []],

    // membership
    ['/cars?select=id&id=in.(1,3,99)&order=id', [{ id: 1 }, { id: 3 }]],
    ['/cars?select=id&id=in.()', []],
    ['/cars?select=id&id=not.in.(1,3)&order=id', [{ id: 2 }, { id: 4 }, { id: 5 }]],
    ['/cars?select=id&label=in.("a \\"quoted\\", name",red wagon)&order=id', [{ id: 1 }, { id: 4 }]],
    ['/cars?select=id&label=in.("no\\\\model (yet)")', [{ id: 5 }]],
    ['/cars?select=id&label=in.( red wagon ,blue_wagon)&order=id', [{ id: 2 }]],
    ['/cars?select=id&label=in.(red wagon,"")', [{ id: 1 }]],

    // is
    ['/cars?select=id&mileage=is.null', [{ id: 5 }]],
    ['/cars?select=id&mileage=not.is.null&order=id', [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }]],
    ['/cars?select=id&mileage=is.not_null&order=id', [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }]],
    ['/cars?select=id&sold=is.true&order=id', [{ id: 2 }, { id: 4 }]],
    ['/cars?select=id&sold=is.false&order=id', [{ id: 1 }, { id: 5 }]],
    ['/cars?select=id&sold=is.unknown', [{ id: 3 }]],
    ['/cars?select=id&sold=is.TRUE&order=id', [{ id: 2 }, { id: 4 }]],
    ['/cars?select=id&sold=not.is.true&order=id', [{ id: 1 }, { id: 3 }, { id: 5 }]],
    ['/cars?select=id&mileage=not.is.not_null', [{ id: 5 }]],

    // arrays and ranges
    ['/cars?select=id&tags=cs.{family}&order=id', [{ id: 1 }, { id: 2 }]],
    ['/cars?select=id&tags=cd.{family,"old timer",rust}&order=id', [{ id: 2 }, { id: 3 }, { id: 4 }]],
    ['/cars?select=id&tags=ov.{diesel,rust}&order=id', [{ id: 1 }, { id: 4 }]],
    ['/cars?select=id&tags=eq.{rust,"old timer"}', [{ id: 4 }]],
    ['/cars?select=id&tags=not.cs.{family}&order=id', [{ id: 3 }, { id: 4 }]],
    ['/cars?select=id&leased=cs.[6,7)&order=id', [{ id: 1 }, { id: 2 }]],
    ['/cars?select=id&leased=cd.[0,20)&order=id', [{ id: 1 }, { id: 2 }, { id: 4 }]],
    ['/cars?select=id&leased=ov.[9,25)&order=id', [{ id: 1 }, { id: 2 }, { id: 3 }]],
    ['/cars?select=id&leased=sl.[10,12)&order=id', [{ id: 1 }, { id: 5 }]],
    ['/cars?select=id&leased=sr.[2,10)&order=id', [{ id: 3 }]],
    ['/cars?select=id&leased=nxr.[0,10)&order=id', [{ id: 1 }, { id: 5 }]],
    ['/cars?select=id&leased=nxl.[5,6)&order=id', [{ id: 2 }, { id: 3 }]],
    ['/cars?select=id&leased=adj.[10,20)&order=id', [{ id: 1 }, { id: 3 }]],
    ['/cars?select=id&leased=eq.empty', [{ id: 4 }]],
    ['/cars?select=id&details=cs.{"extras":["hook"]}', [{ id: 1 }]],
    [
      '/models?select=id&specs=cd.{"doors":5,"gears":[1,2,3],"engine":{"hp":150,"fuel":"petrol"},"odd key":"x"}',
      [{ id: 1 }],
    ],

    // text search
    ['/cars?select=id&words=fts.car%26quick&order=id', [{ id: 1 }, { id: 2 }]],
    ['/cars?select=id&words=plfts.quick cars&order=id', [{ id: 1 }, { id: 2 }]],
    ['/cars?select=id&words=phfts.quick inside', []],
    ['/cars?select=id&words=phfts.parked outside', [{ id: 1 }]],
    ['/cars?select=id&words=wfts.car -truck', [{ id: 1 }]],
    ['/cars?select=id&words=fts(english).dreams', [{ id: 5 }]],
    ['/cars?select=id&words=not.fts(english).car&order=id', [{ id: 3 }, { id: 4 }, { id: 5 }]],
    ['/cars?select=id&words=fts(simple).cars', []],
    ['/cars?select=id&story=fts(english).dreams', [{ id: 5 }]],
    ['/cars?select=id&story=wfts."family car"', [{ id: 1 }]],
    ['/cars?select=id&story=plfts(german).impossible', [{ id: 5 }]],
    [
      '/cars?select=id&words=fts(klingon).car',
      fault(400, '42704', 'text search configuration "klingon" does not exist'),
    ],
    ['/models?select=id&specs=fts.petrol', [{ id: 1 }]],

    // values are not trimmed or unquoted
    ['/cars?select=id&label=eq.no\\model (yet)', [{ id: 5 }]],
    ['/cars?select=id&label=eq.a "quoted", name', [{ id: 4 }]],
    ['/cars?select=id&label=eq.silver 100%25', [{ id: 3 }]],
    ['/cars?select=id&label=eq.', []],
    ['/people?select=id&name=eq.Bülent', [{ id: 2 }]],
    ['/people?select=id&name=eq.B%C3%BClent', [{ id: 2 }]],
    ['/people?select=id&email=eq.b.ö@example.test', [{ id: 2 }]],
    ["/cars?select=id&label=eq.'%3B drop table cars --", []],
    ['/plates?plate=eq.ÖK+1', [{ car_id: 4, plate: 'ÖK 1' }]],
    ['/plates?select=car_id&plate=eq.ÖK%201', [{ car_id: 4 }]],
    ['/people?select=id&name=eq.%E2%98%83', []],
    ['/cars?select=id&price=eq.41000.00', [{ id: 3 }]],
    ['/cars?select=id&seen=gt.2024-01-01&order=id', [{ id: 1 }, { id: 2 }]],
    ['/cars?select=id&full_label=eq.1: red wagon', [{ id: 1 }]],
    ['/cars?select=id&always_true=is.true&id=lt.3&order=id', [{ id: 1 }, { id: 2 }]],
    ['/makers?select=id&name=eq.Bramble %26 Sons', [{ id: 4 }]],

    // invalid values
    ['/cars?select=id&id=eq.x', fault(400, '22P02', 'invalid input syntax for type integer: "x"')],
    ['/cars?id=eq.99999999999', fault(400, '22003', 'value "99999999999" is out of range for type integer')],
    ['/cars?id=in.(1,x)', fault(400, '22P02', 'invalid input syntax for type integer: "x"')],
    [
      '/cars?tags=cs.family',
      fault(
        400,
        '22P02',
        'malformed array literal: "family"',
        'Array value must start with "{" or dimension information.',
      ),
    ],
    [
      '/cars?seen=gt.yesterdy',
      fault(400, '22007', 'invalid input syntax for type timestamp with time zone: "yesterdy"'),
    ],
    ['/cars?sold=eq.maybe', fault(400, '22P02', 'invalid input syntax for type boolean: "maybe"')],
    ['/cars?label=match.[', fault(400, '2201B', 'invalid regular expression: brackets [] not balanced')],
    ['/cars?nothing=eq.1', fault(400, '42703', 'column cars.nothing does not exist')],
    ['/cars?label=eq.%00', []],
    [
      '/cars?id=fts.a',
      fault(
        404,
        '42883',
        'function to_tsvector(integer) does not exist',
        null,
        'No function matches the given name and argument types. You might need to add explicit type casts.',
      ),
    ],
    [
      '/cars?label=sl.a',
      fault(
        404,
        '42883',
        'operator does not exist: text << unknown',
        null,
        'No operator matches the given name and argument types. You might need to add explicit type casts.',
      ),
    ],
    ['/cars?words=fts.a b', fault(400, '42601', 'syntax error in tsquery: "a b"')],

    // names
    ['/größe, länge?select="kür zel","select"&"wert.\\"m\\""=eq.1.5', [{ 'kür zel': 1, select: 'eins' }]],
    [
      '/gr%C3%B6%C3%9Fe%2C%20l%C3%A4nge?order="wert.\\"m\\"".desc',
      [
        { 'kür zel': 2, 'wert."m"': 2.5, select: 'zwei', 'a->b': null },
        { 'kür zel': 1, 'wert."m"': 1.5, select: 'eins', 'a->b': 'x' },
      ],
    ],
    ['/größe, länge?select=kür zel,"a->b"&kür zel=eq.1', [{ 'kür zel': 1, 'a->b': 'x' }]],
    ['/größe, länge?select="select"&select=*', [{ select: 'eins' }, { select: 'zwei' }]],
    ['/größe, länge?select=x:"wert.\\"m\\"",längd:"select"&"a->b"=is.null', [{ x: 2.5, längd: 'zwei' }]],
    ['/__proto__', [{ constructor: 1, toString: 'safe' }]],
    ['/__proto__?select=constructor,toString&constructor=eq.1', [{ constructor: 1, toString: 'safe' }]],
    ['/__proto__?__proto__=eq.1', fault(400, '42703', 'column __proto__.__proto__ does not exist')],
    ['/constructor', fault(404, 'PGRST205', "Could not find the table 'garage.constructor' in the schema cache")],
    ['/cars?constructor=eq.1', fault(400, '42703', 'column cars.constructor does not exist')],
  ],
}
