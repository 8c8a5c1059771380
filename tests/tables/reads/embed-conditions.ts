import { fault, type RequestTable } from '../../support/request-table.ts'

export const embedConditions: RequestTable = {
  title: 'conditions, order and limits of embeds',
  rows: [
    // conditions, order and limits of embeds
    {
      send: ['GET', '/makers?select=id,models(id)&models.price=gt.35000&order=id&limit=2'],
      body: [
        { id: 1, models: [{ id: 2 }] },
        { id: 2, models: [] },
      ],
    },
    {
      send: ['GET', '/makers?select=id,models(id)&models.order=price.desc&id=eq.1'],
      body: [{ id: 1, models: [{ id: 2 }, { id: 1 }] }],
    },
    {
      send: ['GET', '/makers?select=id,models(id)&models.order=id&models.limit=1&id=eq.1'],
      body: [{ id: 1, models: [{ id: 1 }] }],
    },
    {
      send: ['GET', '/makers?select=id,models(id)&models.order=id&models.offset=1&id=eq.1'],
      body: [{ id: 1, models: [{ id: 2 }] }],
    },
    {
      send: ['GET', '/makers?select=id,models(id)&models.order=id&models.limit=1&models.offset=1&id=eq.1'],
      body: [{ id: 1, models: [{ id: 2 }] }],
    },
    {
      send: [
        'GET',
        '/makers?select=id,models(id,cars(id))&models.cars.order=id.desc&models.cars.limit=1&models.order=id&id=eq.1',
      ],
      body: [
        {
          id: 1,
          models: [
            { id: 1, cars: [{ id: 2 }] },
            { id: 2, cars: [{ id: 3 }] },
          ],
        },
      ],
    },
    { send: ['GET', '/makers?select=id,ms:models(id)&ms.id=eq.2&id=eq.1'], body: [{ id: 1, ms: [{ id: 2 }] }] },
    { send: ['GET', '/makers?select=id,models(id)&models.limit=0&id=eq.1'], body: [{ id: 1, models: [] }] },
    {
      send: ['GET', '/makers?select=id,models(id)&models.nothing=eq.1'],
      status: 400,
      body: fault('42703', 'column models_1.nothing does not exist'),
    },
    {
      send: ['GET', '/makers?select=id,models(id)&models.limit=-1'],
      status: 400,
      body: fault('2201W', 'LIMIT must not be negative'),
    },

    // order by a related column
    {
      send: ['GET', '/cars?select=id,models(name)&order=models(name).desc,id'],
      body: [
        { id: 5, models: null },
        { id: 3, models: { name: 'V2 electric' } },
        { id: 1, models: { name: 'V1' } },
        { id: 2, models: { name: 'V1' } },
        { id: 4, models: { name: 'T100' } },
      ],
    },
    {
      send: ['GET', '/cars?select=id,m:models(name)&order=m(price).desc.nullslast,id'],
      status: 400,
      body: fault('42703', 'column cars_m_1.price does not exist'),
    },
    {
      send: ['GET', '/cars?select=id,models()&order=models(specs->>doors).asc.nullsfirst,id'],
      body: [{ id: 5 }, { id: 3 }, { id: 1 }, { id: 2 }, { id: 4 }],
    },
    {
      send: ['GET', '/cars?select=id,models(makers(name))&models.order=makers(name)&order=id&limit=1'],
      body: [{ id: 1, models: { makers: { name: 'Volta' } } }],
    },
    {
      send: ['GET', '/makers?select=id,models(id)&order=models(name)'],
      status: 400,
      body: fault(
        'PGRST118',
        "A related order on 'models' is not possible",
        "'makers' and 'models' do not form a many-to-one or one-to-one relationship",
      ),
    },
    {
      send: ['GET', '/cars?select=id&order=models(name)'],
      status: 400,
      body: fault(
        'PGRST108',
        "'models' is not an embedded resource in this request",
        null,
        "Verify that 'models' is included in the 'select' query parameter.",
      ),
    },
    {
      send: ['GET', '/plates?select=plate,cars(label)&order=cars(label).desc'],
      body: [
        { plate: 'AB 12', cars: { label: 'red wagon' } },
        { plate: 'CD 34', cars: { label: 'blue_wagon' } },
        { plate: 'ÖK 1', cars: { label: 'a "quoted", name' } },
      ],
    },
    {
      send: ['GET', '/cars?select=id,models(id)&order=models(nothing)'],
      status: 400,
      body: fault('42703', 'column cars_models_1.nothing does not exist'),
    },

    // rows with and without an embed
    {
      send: ['GET', '/cars?select=id,plates(plate)&plates=is.null&order=id'],
      body: [
        { id: 3, plates: null },
        { id: 5, plates: null },
      ],
    },
    {
      send: ['GET', '/cars?select=id,plates(plate)&plates=not.is.null&order=id'],
      body: [
        { id: 1, plates: { plate: 'AB 12' } },
        { id: 2, plates: { plate: 'CD 34' } },
        { id: 4, plates: { plate: 'ÖK 1' } },
      ],
    },
    { send: ['GET', '/makers?select=id,models()&models=is.null'], body: [{ id: 4 }] },
    {
      send: ['GET', '/makers?select=id,models(id)&models.price=gt.35000&models=not.is.null&order=id'],
      body: [
        { id: 1, models: [{ id: 2 }] },
        { id: 3, models: [{ id: 4 }] },
      ],
    },
    {
      send: ['GET', '/cars?select=id,plates(),repairs()&or=(plates.is.null,repairs.is.null)&order=id'],
      body: [{ id: 3 }, { id: 5 }],
    },
    {
      send: ['GET', '/cars?select=id,plates(),repairs()&or=(plates.not.is.null,repairs.not.is.null)&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 4 }],
    },
    { send: ['GET', '/cars?select=id,p:plates()&p=is.null&order=id'], body: [{ id: 3 }, { id: 5 }] },
    { send: ['GET', '/cars?select=id,repairs()&repairs.cost=gt.900&repairs=not.is.null'], body: [{ id: 2 }] },
    {
      send: ['GET', '/cars?select=id,workshops()&not.and=(workshops.not.is.null,id.gt.1)&order=id'],
      body: [{ id: 1 }, { id: 3 }, { id: 5 }],
    },
    {
      send: ['GET', '/cars?select=id,models(id,makers())&models.makers=is.null&order=id'],
      body: [
        { id: 1, models: null },
        { id: 2, models: null },
        { id: 3, models: null },
        { id: 4, models: null },
        { id: 5, models: null },
      ],
    },
    {
      send: ['GET', '/cars?select=id,models()&models=eq.1'],
      status: 400,
      body: fault(
        '42703',
        'column cars.models does not exist',
        null,
        'Perhaps you meant to reference the column "cars.model_id".',
      ),
    },
    {
      send: ['GET', '/cars?select=id,plates()&plates=is.null&order=id'],
      prefer: 'count=exact',
      body: [{ id: 3 }, { id: 5 }],
      range: '0-1/2',
      applied: 'count=exact',
    },
  ],
}
