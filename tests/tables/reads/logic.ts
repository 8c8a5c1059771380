import { fault, notParsed, type RequestTable } from '../../support/request-table.ts'

export const logic: RequestTable = {
  title: 'logic trees',
  rows: [
    { send: ['GET', '/cars?select=id&or=(id.eq.1,id.eq.3)&order=id'], body: [{ id: 1 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&and=(id.gt.1,id.lt.4)&order=id'], body: [{ id: 2 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&not.or=(id.eq.1,id.eq.3)&order=id'], body: [{ id: 2 }, { id: 4 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id&not.and=(id.gt.1,id.lt.4)&order=id'], body: [{ id: 1 }, { id: 4 }, { id: 5 }] },
    {
      send: [
        'GET',
        '/cars?select=id&or=(id.eq.1,and(id.gt.3,sold.is.true),not.and(mileage.not.is.null,id.gt.0))&order=id',
      ],
      body: [{ id: 1 }, { id: 4 }, { id: 5 }],
    },
    {
      send: ['GET', '/cars?select=id&or=(id.eq.1,not.or(id.lt.4,not.and(id.gt.4,or(id.eq.5))))&order=id'],
      body: [{ id: 1 }, { id: 5 }],
    },
    { send: ['GET', '/cars?select=id&or=(id.eq.1,id.eq.2)&or=(id.eq.2,id.eq.3)'], body: [{ id: 2 }] },
    {
      send: ['GET', '/cars?select=id&or=(id.in.(1,3),label.like.*wagon,label.eq."a \\"quoted\\", name")&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 3 }, { id: 4 }],
    },
    {
      send: ['GET', '/cars?select=id&or=(label.eq."no\\\\model (yet)",id.not.in.(2,3,4,5))&order=id'],
      body: [{ id: 1 }, { id: 5 }],
    },
    { send: ['GET', '/cars?select=id&and=(tags.cs.{family},tags.cs.{diesel})'], body: [{ id: 1 }] },
    {
      send: ['GET', '/cars?select=id&or=(tags.ov.{rust,none},leased.cs.[6,7))&order=id'],
      status: 400,
      body: notParsed(
        'logic tree ((tags.ov.{rust,none},leased.cs.[6,7)))',
        38,
        'unexpected ")" expecting letter, digit, "-", "->>", "->" or delimiter (.)',
      ),
    },
    { send: ['GET', '/cars?select=id&and=(leased.ov."[9,25)",id.not.eq.2)&order=id'], body: [{ id: 1 }, { id: 3 }] },
    {
      send: ['GET', '/cars?select=id&or=(words.fts(english).dreams,words.plfts.quick family)&order=id'],
      body: [{ id: 1 }, { id: 5 }],
    },
    { send: ['GET', '/cars?select=id&or=(words.wfts."car -truck",id.is.null)'], body: [{ id: 1 }] },
    {
      send: ['GET', '/cars?select=id&or=(label.like(any).{red*,blue*},id.eq(all).{3})&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 3 }],
    },
    { send: ['GET', '/cars?select=id&or=( id.eq.1 , id.eq.2 )'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/cars?select=id&or=(id.eq.1 ,id.eq.3)&order=id'], body: [{ id: 1 }, { id: 3 }] },
    { send: ['GET', '/cars?select=id&or=(full_label.eq."1: red wagon",always_true.is.false)'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&and=(label.neq.,id.eq.1)'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id&and=(label.eq."",id.eq.1)'], body: [] },
    { send: ['GET', '/cars?select=id&and=(id.eq.1)&or=(id.eq.1)'], body: [{ id: 1 }] },
    {
      send: [
        'GET',
        '/people?select=id,cars!car_owner(id)&cars.or=(id.eq.1,sold.is.true)&cars.order=id&order=id&limit=2',
      ],
      body: [
        { id: 1, cars: [{ id: 1 }] },
        { id: 2, cars: [{ id: 2 }] },
      ],
    },
    {
      send: [
        'GET',
        '/people?select=id,cars!car_owner(id)&cars.not.and=(sold.is.true,id.gt.0)&cars.order=id&order=id&limit=2',
      ],
      body: [
        { id: 1, cars: [{ id: 1 }, { id: 3 }] },
        { id: 2, cars: [] },
      ],
    },
    {
      send: [
        'GET',
        '/people?select=id,cars!car_owner(id,repairs(cost))&cars.repairs.or=(cost.lt.100,cost.gt.900)&cars.id=lt.3&id=lt.3&order=id',
      ],
      body: [
        { id: 1, cars: [{ id: 1, repairs: [{ cost: 99.5 }] }] },
        { id: 2, cars: [{ id: 2, repairs: [{ cost: 1000 }] }] },
      ],
    },
    {
      send: ['GET', '/größe, länge?select=kür zel&or=(kür zel.eq.1,"wert.\\"m\\"".gt.2)&order="kür zel"'],
      body: [{ 'kür zel': 1 }, { 'kür zel': 2 }],
    },
    {
      send: ['GET', '/models?select=id&or=(specs->engine->>fuel.eq.petrol,specs->doors.eq.3)&order=id'],
      body: [{ id: 1 }, { id: 2 }],
    },

    // errors
    {
      send: ['GET', '/cars?or=()'],
      status: 400,
      body: notParsed(
        'logic tree (())',
        4,
        'unexpected ")" expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)',
      ),
    },
    {
      send: ['GET', '/cars?or=id.eq.1'],
      status: 400,
      body: fault(
        '42703',
        'column cars.orid does not exist',
        null,
        'Perhaps you meant to reference the column "cars.id".',
      ),
    },
    {
      send: ['GET', '/cars?or=(id.eq.1'],
      status: 400,
      body: notParsed('logic tree ((id.eq.1)', 11, 'unexpected end of input expecting "," or ")"'),
    },
    {
      send: ['GET', '/cars?or=(id.eq.1,)'],
      status: 400,
      body: notParsed(
        'logic tree ((id.eq.1,))',
        12,
        'unexpected ")" expecting field name (* or [a..z0..9_$]), negation operator (not) or logic operator (and, or)',
      ),
    },
    {
      send: ['GET', '/cars?or=(id)'],
      status: 400,
      body: notParsed(
        'logic tree ((id))',
        6,
        'unexpected ")" expecting letter, digit, "-", "->>", "->" or delimiter (.)',
      ),
    },
    {
      send: ['GET', '/cars?or=(id.xx.1)'],
      status: 400,
      body: notParsed('logic tree ((id.xx.1))', 7, 'unexpected "x" expecting "not" or operator (eq, gt, ...)'),
    },
    {
      send: ['GET', '/cars?or=(and)'],
      status: 400,
      body: notParsed('logic tree ((and))', 7, 'unexpected ")" expecting "("'),
    },
    {
      send: ['GET', '/cars?or=(id.in.1)'],
      status: 400,
      body: notParsed('logic tree ((id.in.1))', 10, 'unexpected "1" expecting "("'),
    },
    { send: ['GET', '/cars?or=(label.eq."x)'], body: [] },
    {
      send: ['GET', '/cars?or=(not.id.eq.1)'],
      status: 400,
      body: notParsed('logic tree ((not.id.eq.1))', 8, 'unexpected "i" expecting logic operator (and, or)'),
    },
    {
      send: ['GET', '/cars?or=(xor(id.eq.1))'],
      status: 400,
      body: notParsed(
        'logic tree ((xor(id.eq.1)))',
        7,
        'unexpected "(" expecting letter, digit, "-", "->>", "->" or delimiter (.)',
      ),
    },
    {
      send: ['GET', '/cars?or=(nothing.eq.1)'],
      status: 400,
      body: fault('42703', 'column cars.nothing does not exist'),
    },
    {
      send: ['GET', '/cars?not.id=eq.1'],
      status: 400,
      body: fault(
        'PGRST108',
        "'not' is not an embedded resource in this request",
        null,
        "Verify that 'not' is included in the 'select' query parameter.",
      ),
    },
  ],
}
