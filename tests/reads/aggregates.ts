import { fault, notParsed, type Topic } from '../support/exchange.ts'

export const aggregates: Topic = {
  title: 'aggregates',
  exchanges: [
    ['/cars?select=price.sum()', [{ sum: 68499.25 }]],
    [
      '/cars?select=price.sum(),price.avg()::int,price.max(),price.min(),price.count()',
      [{ sum: 68499.25, avg: 17125, max: 41000, min: 3999, count: 4 }],
    ],
    [
      '/cars?select=price.avg()::numeric(9,1)',
      notParsed(
        'select parameter (price.avg()::numeric(9,1))',
        21,
        'unexpected \'(\' expecting letter, digit, ")", "," or end of input',
      ),
    ],
    ['/tickets?select=count', [{ count: 100 }]],
    [
      '/tickets?select=level,count&order=level&limit=1',
      fault(
        400,
        '42803',
        'column "tickets.level" must appear in the GROUP BY clause or be used in an aggregate function',
      ),
    ],
    ['/cars?select=count()', [{ count: 5 }]],
    ['/cars?select=total:price.sum(),n:count()', [{ total: 68499.25, n: 5 }]],
    [
      '/cars?select=sold,price.sum()&order=sold',
      [
        { sold: false, sum: 8000 },
        { sold: true, sum: 19499.25 },
        { sold: null, sum: 41000 },
      ],
    ],
    [
      '/cars?select=sold,count()&order=sold.nullsfirst',
      [
        { sold: null, count: 1 },
        { sold: false, count: 2 },
        { sold: true, count: 2 },
      ],
    ],
    ['/cars?select=price.avg()::int', [{ avg: 17125 }]],
    ['/cars?select=price::int.sum()::text', [{ sum: '68499' }]],
    ['/cars?select=details->wheels->>front::int.max()', [{ max: 18 }]],
    ['/cars?select=front:details->wheels->>front::int.sum()', [{ front: 34 }]],
    ['/cars?select=price.sum()&id=gt.99', [{ sum: null }]],
    ['/cars?select=count()&id=gt.99', [{ count: 0 }]],
    ['/cars?select=sold,count()&id=gt.99', []],
    ['/cars?select=mileage.max()&sold=is.true', [{ max: 88000 }]],
    ['/cars?select=mileage.max(),sold&limit=1&order=sold.desc.nullslast', [{ max: 88000, sold: true }]],
    ['/cars?select=full_label.max()', [{ max: '5: no\\model (yet)' }]],
    ['/models?select=worth.sum()', [{ sum: 152400.4 }]],
    [
      '/cars?select=label.sum()',
      fault(
        404,
        '42883',
        'function sum(text) does not exist',
        null,
        'No function matches the given name and argument types. You might need to add explicit type casts.',
      ),
    ],
    ['/cars?select=nothing.sum()', fault(400, '42703', 'column cars.nothing does not exist')],
    [
      '/cars?select=sold,a:sold,count()&order=sold.nullsfirst',
      [
        { sold: null, a: null, count: 1 },
        { sold: false, a: false, count: 2 },
        { sold: true, a: true, count: 2 },
      ],
    ],
    ['/plates?select=*,count()&car_id=eq.1', [{ car_id: 1, plate: 'AB 12', count: 1 }]],
    [
      '/tickets?select=level,count(),id.max()&order=level',
      [
        { level: 0, count: 25, max: 100 },
        { level: 1, count: 25, max: 97 },
        { level: 2, count: 25, max: 98 },
        { level: 3, count: 25, max: 99 },
      ],
    ],
    [
      '/tickets?select=level,id.sum()&order=id',
      fault(400, '42803', 'column "tickets.id" must appear in the GROUP BY clause or be used in an aggregate function'),
    ],
    [
      '/tickets?select=level::text,count()&order=level',
      [
        { level: '0', count: 25 },
        { level: '1', count: 25 },
        { level: '2', count: 25 },
        { level: '3', count: 25 },
      ],
    ],

    // with embeds
    ['/cars?select=count(),models(name)&model_id=eq.1', [{ count: 2, models: { name: 'V1' } }]],
    [
      '/cars?select=count(),models(name)&order=models(name)',
      fault(
        400,
        '42803',
        'column "cars_models_1.name" must appear in the GROUP BY clause or be used in an aggregate function',
      ),
    ],
    [
      '/cars?select=price.sum(),models(makers(name))&models=not.is.null&model_id=lt.3',
      [{ sum: 64500.25, models: { makers: { name: 'Volta' } } }],
    ],
    [
      '/models?select=name,cars(price.sum(),sold)&cars.order=sold&order=id',
      [
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
    ],
    [
      '/models?select=name,cars(count())&order=id',
      [
        { name: 'V1', cars: [{ count: 2 }] },
        { name: 'V2 electric', cars: [{ count: 1 }] },
        { name: 'T100', cars: [{ count: 1 }] },
        { name: 'Sogno', cars: [{ count: 0 }] },
      ],
    ],
    [
      '/workshops?select=name,cars(mileage.max())&order=id',
      [
        { name: 'Quick Fix', cars: [{ max: 120000 }] },
        { name: 'Slow & Sure', cars: [{ max: 120000 }] },
        { name: "Nobody's", cars: [{ max: null }] },
      ],
    ],
    [
      '/makers?select=name,models(price.avg()::int,cars(count()))&id=eq.3',
      [{ name: 'Aurelia', models: [{ avg: 100000, cars: [{ count: 0 }] }] }],
    ],
    ['/cars?select=id,owner:people!car_owner(count())&order=id&limit=1', [{ id: 1, owner: { count: 1 } }]],
    ['/people?select=n:count(),cars!car_owner(count())&id=eq.1', [{ n: 1, cars: [{ count: 2 }] }]],

    // with spreads
    [
      '/cars?select=price.sum(),...models(name)&order=models(name)',
      [
        { sum: 3999, name: 'T100' },
        { sum: 23500.25, name: 'V1' },
        { sum: 41000, name: 'V2 electric' },
        { sum: null, name: null },
      ],
    ],
    [
      '/cars?select=sold,...models(price.sum())&order=sold',
      [
        { sold: false, sum: 30000 },
        { sold: true, sum: 48500 },
        { sold: null, sum: 42000.5 },
      ],
    ],
    [
      '/cars?select=...models(model_price:price.max(),name)&order=models(name)',
      [
        { model_price: 18500, name: 'T100' },
        { model_price: 30000, name: 'V1' },
        { model_price: 42000.5, name: 'V2 electric' },
        { model_price: null, name: null },
      ],
    ],
    ['/cars?select=count(),...models(...makers(maker:name))&id=eq.1', [{ count: 1, maker: 'Volta' }]],
    ['/cars?select=...models(count())', [{ count: 4 }]],
    ['/cars?select=...models(n:count(),...makers(id.max()))', [{ n: 4, max: 2 }]],
    [
      '/makers?select=id,...models(price.sum())',
      fault(
        400,
        'PGRST127',
        'Feature not implemented',
        'Aggregates are not implemented for one-to-many or many-to-many spreads.',
      ),
    ],
    ['/models?select=name,cars(...people!car_owner(id.count()))&id=eq.1', [{ name: 'V1', cars: [{ count: 2 }] }]],
    ['/rpc/cars_under?limit_price=20000&select=price.sum()', [{ sum: 27499.25 }]],
  ],
}
