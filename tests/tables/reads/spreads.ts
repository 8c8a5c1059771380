import { fault, notParsed, type RequestTable } from '../../support/request-table.ts'

export const spreads: RequestTable = {
  title: 'spread embeds',
  rows: [
    // of to-one embeds
    {
      send: ['GET', '/cars?select=id,...models(model:name,price)&order=id'],
      body: [
        { id: 1, model: 'V1', price: 30000 },
        { id: 2, model: 'V1', price: 30000 },
        { id: 3, model: 'V2 electric', price: 42000.5 },
        { id: 4, model: 'T100', price: 18500 },
        { id: 5, model: null, price: null },
      ],
    },
    {
      send: ['GET', '/cars?select=id,...models(name,...makers(maker:name))&id=eq.4'],
      body: [{ id: 4, name: 'T100', maker: 'Tatro' }],
    },
    {
      send: ['GET', '/cars?select=id,...models(model:name,makers(name))&id=eq.4'],
      body: [{ id: 4, model: 'T100', makers: { name: 'Tatro' } }],
    },
    {
      send: ['GET', '/cars?select=id,...plates(plate)&order=id'],
      body: [
        { id: 1, plate: 'AB 12' },
        { id: 2, plate: 'CD 34' },
        { id: 3, plate: null },
        { id: 4, plate: 'ÖK 1' },
        { id: 5, plate: null },
      ],
    },
    { send: ['GET', '/cars?select=id,...models!inner(*)&id=eq.5'], body: [] },
    {
      send: ['GET', '/cars?select=id,...models(specs->doors,d:specs->>doors)&id=eq.1'],
      body: [{ id: 1, doors: 5, d: '5' }],
    },
    {
      send: ['GET', '/cars?select=id,...models(name)&order=models(name).desc,id&limit=2'],
      body: [
        { id: 5, name: null },
        { id: 3, name: 'V2 electric' },
      ],
    },
    {
      send: ['GET', '/cars?select=id,...models(mid:id)&models.id=eq.1&order=id'],
      body: [
        { id: 1, mid: 1 },
        { id: 2, mid: 1 },
        { id: 3, mid: null },
        { id: 4, mid: null },
        { id: 5, mid: null },
      ],
    },
    {
      send: ['GET', '/cars?select=id,...owner:people!car_owner(name)&id=eq.1'],
      status: 400,
      body: notParsed(
        'select parameter (id,...owner:people!car_owner(name))',
        12,
        'unexpected ":" expecting letter, digit, "-", "!" or "("',
      ),
    },
    { send: ['GET', '/cars?select=id,...maker_of(maker:name)&id=eq.1'], body: [{ id: 1, maker: 'Volta' }] },
    { send: ['GET', '/cars?select=id,...models()&id=eq.1'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=...models(name)&id=eq.1'], body: [{ name: 'V1' }] },
    { send: ['GET', '/cars?select=id,...models(id)&id=eq.2'], body: [{ id: 1 }] },

    // of to-many embeds
    {
      send: ['GET', '/makers?select=name,...models(models:name,prices:price)&models.order=name&order=id'],
      body: [
        { name: 'Volta', models: ['V1', 'V2 electric'], prices: [30000, 42000.5] },
        { name: 'Tatro', models: ['T100'], prices: [18500] },
        { name: 'Aurelia', models: ['Sogno'], prices: [99999.99] },
        { name: 'Bramble & Sons', models: [], prices: [] },
      ],
    },
    {
      send: ['GET', '/workshops?select=name,...cars(cars:id,labels:label)&cars.order=id&order=id'],
      body: [
        { name: 'Quick Fix', cars: [1, 2], labels: ['red wagon', 'blue_wagon'] },
        { name: 'Slow & Sure', cars: [1, 4], labels: ['red wagon', 'a "quoted", name'] },
        { name: "Nobody's", cars: [], labels: [] },
      ],
    },
    {
      send: ['GET', '/makers?select=id,...models(names:name)&models.price=gt.35000&models.order=id&order=id'],
      body: [
        { id: 1, names: ['V2 electric'] },
        { id: 2, names: [] },
        { id: 3, names: ['Sogno'] },
        { id: 4, names: [] },
      ],
    },
    {
      send: ['GET', '/makers?select=id,...models!inner(names:name)&models.order=id&order=id&limit=2'],
      body: [
        { id: 1, names: ['V1', 'V2 electric'] },
        { id: 2, names: ['T100'] },
      ],
    },
    {
      send: ['GET', '/makers?select=id,...models(names:name,cars(id))&models.order=id&models.cars.order=id&id=eq.1'],
      body: [{ id: 1, names: ['V1', 'V2 electric'], cars: [[{ id: 1 }, { id: 2 }], [{ id: 3 }]] }],
    },
    {
      send: [
        'GET',
        '/makers?select=id,...models(names:name,...cars(cars:id))&models.order=id&models.cars.order=id&id=eq.1',
      ],
      body: [{ id: 1, names: ['V1', 'V2 electric'], cars: [[1, 2], [3]] }],
    },
    {
      send: ['GET', '/makers?select=id,...models(names:name)&models.order=price.desc&models.limit=1&id=eq.1'],
      body: [{ id: 1, names: ['V1'] }],
    },
    {
      send: ['GET', '/models?select=id,...cars(colours:paint,deposits:deposit)&cars.order=id&id=eq.1'],
      body: [{ id: 1, colours: ['#ff0000', '#0000ff'], deposits: ['€500.00', '€1234.56'] }],
    },
    {
      send: ['GET', '/makers?select=id,...cars_of(labels:label)&cars_of.order=id&id=eq.1'],
      body: [{ id: 1, labels: ['red wagon', 'blue_wagon', 'silver 100%'] }],
    },
    {
      send: ['GET', '/cars?select=id,...repairs(cost,...workshops(name))&repairs.order=cost&id=eq.1'],
      body: [{ id: 1, cost: [99.5, 250], name: ['Slow & Sure', 'Quick Fix'] }],
    },
    {
      send: ['GET', '/makers?select=id,...models(*)&models.order=id&id=eq.2'],
      body: [
        {
          id: [3],
          maker_id: [2],
          name: ['T100'],
          style: [null],
          price: [18500],
          size: [null],
          specs: [{ '1': 'one', doors: 5, 'we"ird': true }],
          notes: [{ a: null }],
        },
      ],
    },
    { send: ['GET', '/makers?select=id,...models()&id=eq.1'], body: [{ id: 1 }] },
    {
      send: ['GET', '/makers?select=id,...models(name)&order=models(name)'],
      status: 400,
      body: fault(
        'PGRST118',
        "A related order on 'models' is not possible",
        "'makers' and 'models' do not form a many-to-one or one-to-one relationship",
      ),
    },
    {
      send: ['GET', '/makers?select=id,...models(price.sum())&id=eq.1'],
      status: 400,
      body: fault(
        'PGRST127',
        'Feature not implemented',
        'Aggregates are not implemented for one-to-many or many-to-many spreads.',
      ),
    },
    {
      send: ['GET', '/makers?select=id,...models(n:specs->doors)&models.order=id&id=eq.1'],
      body: [{ id: 1, n: [5, 3] }],
    },
    {
      send: ['GET', '/people?select=name,...cars!car_owner(car:id,...models(model:name))&cars.order=id&id=eq.1'],
      body: [{ name: 'Anna', car: [1, 3], model: ['V1', 'V2 electric'] }],
    },
    {
      send: ['GET', '/cars?select=id,...readings(years:year)&readings.order=year&id=eq.1'],
      body: [{ id: 1, years: [2023, 2024] }],
    },
    {
      send: ['GET', '/cars?select=id,...repairs(cost)&repairs=is.null&order=id'],
      body: [
        { id: 3, cost: [] },
        { id: 5, cost: [] },
      ],
    },
  ],
}
