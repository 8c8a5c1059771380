import { fault, notParsed, type RequestTable } from '../../support/request-table.ts'

export const aggregates: RequestTable = {
  title: 'aggregates',
  rows: [
    { send: ['GET', '/cars?select=price.sum()'], body: [{ sum: 68499.25 }] },
    {
      send: ['GET', '/cars?select=price.sum(),price.avg()::int,price.max(),price.min(),price.count()'],
      body: [{ sum: 68499.25, avg: 17125, max: 41000, min: 3999, count: 4 }],
    },
    {
      send: ['GET', '/cars?select=price.avg()::numeric(9,1)'],
      status: 400,
      body: notParsed(
        'select parameter (price.avg()::numeric(9,1))',
        21,
        'unexpected \'(\' expecting letter, digit, ")", "," or end of input',
      ),
    },
    { send: ['GET', '/tickets?select=count'], body: [{ count: 100 }] },
    {
      send: ['GET', '/tickets?select=level,count&order=level&limit=1'],
      status: 400,
      body: fault(
        '42803',
        'column "tickets.level" must appear in the GROUP BY clause or be used in an aggregate function',
      ),
    },
    { send: ['GET', '/cars?select=count()'], body: [{ count: 5 }] },
    { send: ['GET', '/cars?select=total:price.sum(),n:count()'], body: [{ total: 68499.25, n: 5 }] },
    {
      send: ['GET', '/cars?select=sold,price.sum()&order=sold'],
      body: [
        { sold: false, sum: 8000 },
        { sold: true, sum: 19499.25 },
        { sold: null, sum: 41000 },
      ],
    },
    {
      send: ['GET', '/cars?select=sold,count()&order=sold.nullsfirst'],
      body: [
        { sold: null, count: 1 },
        { sold: false, count: 2 },
        { sold: true, count: 2 },
      ],
    },
    { send: ['GET', '/cars?select=price.avg()::int'], body: [{ avg: 17125 }] },
    { send: ['GET', '/cars?select=price::int.sum()::text'], body: [{ sum: '68499' }] },
    { send: ['GET', '/cars?select=details->wheels->>front::int.max()'], body: [{ max: 18 }] },
    { send: ['GET', '/cars?select=front:details->wheels->>front::int.sum()'], body: [{ front: 34 }] },
    { send: ['GET', '/cars?select=price.sum()&id=gt.99'], body: [{ sum: null }] },
    { send: ['GET', '/cars?select=count()&id=gt.99'], body: [{ count: 0 }] },
    { send: ['GET', '/cars?select=sold,count()&id=gt.99'], body: [] },
    { send: ['GET', '/cars?select=mileage.max()&sold=is.true'], body: [{ max: 88000 }] },
    {
      send: ['GET', '/cars?select=mileage.max(),sold&limit=1&order=sold.desc.nullslast'],
      body: [{ max: 88000, sold: true }],
    },
    { send: ['GET', '/cars?select=full_label.max()'], body: [{ max: '5: no\\model (yet)' }] },
    { send: ['GET', '/models?select=worth.sum()'], body: [{ sum: 152400.4 }] },
    {
      send: ['GET', '/cars?select=label.sum()'],
      status: 404,
      body: fault(
        '42883',
        'function sum(text) does not exist',
        null,
        'No function matches the given name and argument types. You might need to add explicit type casts.',
      ),
    },
    {
      send: ['GET', '/cars?select=nothing.sum()'],
      status: 400,
      body: fault('42703', 'column cars.nothing does not exist'),
    },
    {
      send: ['GET', '/cars?select=sold,a:sold,count()&order=sold.nullsfirst'],
      body: [
        { sold: null, a: null, count: 1 },
        { sold: false, a: false, count: 2 },
        { sold: true, a: true, count: 2 },
      ],
    },
    { send: ['GET', '/plates?select=*,count()&car_id=eq.1'], body: [{ car_id: 1, plate: 'AB 12', count: 1 }] },
    {
      send: ['GET', '/tickets?select=level,count(),id.max()&order=level'],
      body: [
        { level: 0, count: 25, max: 100 },
        { level: 1, count: 25, max: 97 },
        { level: 2, count: 25, max: 98 },
        { level: 3, count: 25, max: 99 },
      ],
    },
    {
      send: ['GET', '/tickets?select=level,id.sum()&order=id'],
      status: 400,
      body: fault(
        '42803',
        'column "tickets.id" must appear in the GROUP BY clause or be used in an aggregate function',
      ),
    },
    {
      send: ['GET', '/tickets?select=level::text,count()&order=level'],
      body: [
        { level: '0', count: 25 },
        { level: '1', count: 25 },
        { level: '2', count: 25 },
        { level: '3', count: 25 },
      ],
    },

    // with embeds
    { send: ['GET', '/cars?select=count(),models(name)&model_id=eq.1'], body: [{ count: 2, models: { name: 'V1' } }] },
    {
      send: ['GET', '/cars?select=count(),models(name)&order=models(name)'],
      status: 400,
      body: fault(
        '42803',
        'column "cars_models_1.name" must appear in the GROUP BY clause or be used in an aggregate function',
      ),
    },
    {
      send: ['GET', '/cars?select=price.sum(),models(makers(name))&models=not.is.null&model_id=lt.3'],
      body: [{ sum: 64500.25, models: { makers: { name: 'Volta' } } }],
    },
    {
      send: ['GET', '/models?select=name,cars(price.sum(),sold)&cars.order=sold&order=id'],
      body: [
        {
          name: 'V1',
          cars: [
            { sum: 8000, sold: false },
            { sum: 15500.25, sold: true },
          ],
        },
        { name: 'V2 electric', cars: [{ sum: 41000, sold: null }] },
        { name: 'T100', cars: [{ sum: 3999, sold: true }] },
        { name: 'Sogno', cars: [] },
      ],
    },
    {
      send: ['GET', '/models?select=name,cars(count())&order=id'],
      body: [
        { name: 'V1', cars: [{ count: 2 }] },
        { name: 'V2 electric', cars: [{ count: 1 }] },
        { name: 'T100', cars: [{ count: 1 }] },
        { name: 'Sogno', cars: [{ count: 0 }] },
      ],
    },
    {
      send: ['GET', '/workshops?select=name,cars(mileage.max())&order=id'],
      body: [
        { name: 'Quick Fix', cars: [{ max: 120000 }] },
        { name: 'Slow & Sure', cars: [{ max: 120000 }] },
        { name: "Nobody's", cars: [{ max: null }] },
      ],
    },
    {
      send: ['GET', '/makers?select=name,models(price.avg()::int,cars(count()))&id=eq.3'],
      body: [{ name: 'Aurelia', models: [{ avg: 100000, cars: [{ count: 0 }] }] }],
    },
    {
      send: ['GET', '/cars?select=id,owner:people!car_owner(count())&order=id&limit=1'],
      body: [{ id: 1, owner: { count: 1 } }],
    },
    {
      send: ['GET', '/people?select=n:count(),cars!car_owner(count())&id=eq.1'],
      body: [{ n: 1, cars: [{ count: 2 }] }],
    },

    // with spreads
    {
      send: ['GET', '/cars?select=price.sum(),...models(name)&order=models(name)'],
      body: [
        { sum: 3999, name: 'T100' },
        { sum: 23500.25, name: 'V1' },
        { sum: 41000, name: 'V2 electric' },
        { sum: null, name: null },
      ],
    },
    {
      send: ['GET', '/cars?select=sold,...models(price.sum())&order=sold'],
      body: [
        { sold: false, sum: 30000 },
        { sold: true, sum: 48500 },
        { sold: null, sum: 42000.5 },
      ],
    },
    {
      send: ['GET', '/cars?select=...models(model_price:price.max(),name)&order=models(name)'],
      body: [
        { model_price: 18500, name: 'T100' },
        { model_price: 30000, name: 'V1' },
        { model_price: 42000.5, name: 'V2 electric' },
        { model_price: null, name: null },
      ],
    },
    {
      send: ['GET', '/cars?select=count(),...models(...makers(maker:name))&id=eq.1'],
      body: [{ count: 1, maker: 'Volta' }],
    },
    { send: ['GET', '/cars?select=...models(count())'], body: [{ count: 4 }] },
    { send: ['GET', '/cars?select=...models(n:count(),...makers(id.max()))'], body: [{ n: 4, max: 2 }] },
    {
      send: ['GET', '/makers?select=id,...models(price.sum())'],
      status: 400,
      body: fault(
        'PGRST127',
        'Feature not implemented',
        'Aggregates are not implemented for one-to-many or many-to-many spreads.',
      ),
    },
    {
      send: ['GET', '/models?select=name,cars(...people!car_owner(id.count()))&id=eq.1'],
      body: [{ name: 'V1', cars: [{ count: 2 }] }],
    },
    { send: ['GET', '/rpc/cars_under?limit_price=20000&select=price.sum()'], body: [{ sum: 27499.25 }] },
  ],
}
