import { fault, type RequestTable } from '../../support/request-table.ts'

export const embeds: RequestTable = {
  title: 'embeds',
  rows: [
    // many-to-one
    {
      send: ['GET', '/cars?select=id,models(name)&order=id'],
      body: [
        { id: 1, models: { name: 'V1' } },
        { id: 2, models: { name: 'V1' } },
        { id: 3, models: { name: 'V2 electric' } },
        { id: 4, models: { name: 'T100' } },
        { id: 5, models: null },
      ],
    },
    { send: ['GET', '/cars?select=id,model:models(name)&id=eq.1'], body: [{ id: 1, model: { name: 'V1' } }] },
    {
      send: ['GET', '/cars?select=id,models(*,makers(*))&id=eq.4'],
      body: [
        {
          id: 4,
          models: {
            id: 3,
            name: 'T100',
            size: null,
            notes: { a: null },
            price: 18500,
            specs: { '1': 'one', doors: 5, 'we"ird': true },
            style: null,
            makers: { id: 2, name: 'Tatro', country: 'CZ', name_of: { last: 'de Novák', first: 'Ivo' }, parent_id: 1 },
            maker_id: 2,
          },
        },
      ],
    },
    {
      send: ['GET', '/cars?select=id,models(name,makers(name,parent:parent_id(name)))&id=eq.4'],
      body: [{ id: 4, models: { name: 'T100', makers: { name: 'Tatro', parent: { name: 'Volta' } } } }],
    },

    // one-to-many
    {
      send: ['GET', '/makers?select=name,models(name)&models.order=name&order=id'],
      body: [
        { name: 'Volta', models: [{ name: 'V1' }, { name: 'V2 electric' }] },
        { name: 'Tatro', models: [{ name: 'T100' }] },
        { name: 'Aurelia', models: [{ name: 'Sogno' }] },
        { name: 'Bramble & Sons', models: [] },
      ],
    },
    {
      send: ['GET', '/makers?select=name,models(name,cars(id))&id=eq.1&models.order=id&models.cars.order=id'],
      body: [
        {
          name: 'Volta',
          models: [
            { cars: [{ id: 1 }, { id: 2 }], name: 'V1' },
            { cars: [{ id: 3 }], name: 'V2 electric' },
          ],
        },
      ],
    },

    // one-to-one, both ways
    {
      send: ['GET', '/cars?select=id,plates(plate)&order=id'],
      body: [
        { id: 1, plates: { plate: 'AB 12' } },
        { id: 2, plates: { plate: 'CD 34' } },
        { id: 3, plates: null },
        { id: 4, plates: { plate: 'ÖK 1' } },
        { id: 5, plates: null },
      ],
    },
    {
      send: ['GET', '/plates?select=plate,cars(label)&order=car_id'],
      body: [
        { plate: 'AB 12', cars: { label: 'red wagon' } },
        { plate: 'CD 34', cars: { label: 'blue_wagon' } },
        { plate: 'ÖK 1', cars: { label: 'a "quoted", name' } },
      ],
    },

    // many-to-many
    {
      send: ['GET', '/cars?select=id,workshops(name)&workshops.order=id&order=id&limit=2'],
      body: [
        { id: 1, workshops: [{ name: 'Quick Fix' }, { name: 'Slow & Sure' }] },
        { id: 2, workshops: [{ name: 'Quick Fix' }] },
      ],
    },
    {
      send: ['GET', '/workshops?select=name,cars(id)&cars.order=id&order=id'],
      body: [
        { name: 'Quick Fix', cars: [{ id: 1 }, { id: 2 }] },
        { name: 'Slow & Sure', cars: [{ id: 1 }, { id: 4 }] },
        { name: "Nobody's", cars: [] },
      ],
    },
    {
      send: ['GET', '/cars?select=id,repairs(cost,workshops(name))&repairs.order=cost&id=eq.1'],
      body: [
        {
          id: 1,
          repairs: [
            { cost: 99.5, workshops: { name: 'Slow & Sure' } },
            { cost: 250, workshops: { name: 'Quick Fix' } },
          ],
        },
      ],
    },
    {
      send: ['GET', '/cars?select=id,workshops!repairs(name)&id=eq.4'],
      body: [{ id: 4, workshops: [{ name: 'Slow & Sure' }] }],
    },

    // the same table twice
    {
      send: ['GET', '/cars?select=id,owner:people!car_owner(name),driver:people!car_driver(name)&order=id'],
      body: [
        { id: 1, owner: { name: 'Anna' }, driver: { name: 'Bülent' } },
        { id: 2, owner: { name: 'Bülent' }, driver: { name: 'Bülent' } },
        { id: 3, owner: { name: 'Anna' }, driver: null },
        { id: 4, owner: { name: 'Chloé' }, driver: { name: 'Dmitri' } },
        { id: 5, owner: null, driver: null },
      ],
    },
    {
      send: ['GET', '/cars?select=id,owner:people!owner_id(name)&id=eq.1'],
      body: [{ id: 1, owner: { name: 'Anna' } }],
    },
    {
      send: [
        'GET',
        '/people?select=name,owns:cars!car_owner(id),drives:cars!driver_id(id),lent:cars!lends(id)&owns.order=id&drives.order=id&lent.order=id&order=id',
      ],
      body: [
        { name: 'Anna', owns: [{ id: 1 }, { id: 3 }], drives: [], lent: [] },
        { name: 'Bülent', owns: [{ id: 2 }], drives: [{ id: 1 }, { id: 2 }], lent: [] },
        { name: 'Chloé', owns: [{ id: 4 }], drives: [], lent: [{ id: 1 }] },
        { name: 'Dmitri', owns: [], drives: [{ id: 4 }], lent: [{ id: 1 }, { id: 2 }] },
      ],
    },

    // self-references
    {
      send: ['GET', '/makers?select=name,parent:parent_id(name)&order=id'],
      body: [
        { name: 'Volta', parent: null },
        { name: 'Tatro', parent: { name: 'Volta' } },
        { name: 'Aurelia', parent: { name: 'Volta' } },
        { name: 'Bramble & Sons', parent: { name: 'Tatro' } },
      ],
    },
    {
      send: ['GET', '/makers?select=name,children:makers!parent_id(name)&children.order=id&order=id'],
      body: [
        { name: 'Volta', children: [{ name: 'Tatro' }, { name: 'Aurelia' }] },
        { name: 'Tatro', children: [{ name: 'Bramble & Sons' }] },
        { name: 'Aurelia', children: [] },
        { name: 'Bramble & Sons', children: [] },
      ],
    },
    {
      send: ['GET', '/makers?select=name,children:makers(name)&children.order=id&id=eq.1'],
      body: [{ name: 'Volta', children: [{ name: 'Tatro' }, { name: 'Aurelia' }] }],
    },
    {
      send: ['GET', '/makers?select=name,parent:maker_parent(name)&id=eq.4'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'makers' and 'maker_parent' in the schema cache",
        "Searched for a foreign key relationship between 'makers' and 'maker_parent' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'maker_models' instead of 'maker_parent'.",
      ),
    },
    {
      send: ['GET', '/makers?select=name,makers!maker_parent(name)&id=eq.1'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'makers' and 'makers' in the schema cache",
        "Searched for a foreign key relationship between 'makers' and 'makers' using the hint 'maker_parent' in the schema 'garage', but no matches were found.",
      ),
    },
    {
      send: ['GET', '/parts?select=name,whole:whole_id(name,whole:whole_id(name))&id=eq.3'],
      body: [{ name: 'seal', whole: { name: 'pump', whole: { name: 'engine' } } }],
    },
    {
      send: ['GET', '/parts?select=name,parts(name,parts(name))&id=eq.1&parts.order=id'],
      body: [
        {
          name: 'engine',
          parts: [
            { name: 'pump', parts: [{ name: 'seal' }] },
            { name: 'piston', parts: [] },
          ],
        },
      ],
    },

    // through views, nested views and a materialised view
    { send: ['GET', '/listings?select=id,models(name)&id=eq.1'], body: [{ id: 1, models: { name: 'V1' } }] },
    {
      send: ['GET', '/listings?select=id,people(name),plates(plate)&id=eq.1'],
      status: 300,
      body: fault(
        'PGRST201',
        "Could not embed because more than one relationship was found for 'listings' and 'people'",
        [
          {
            cardinality: 'many-to-one',
            embedding: 'listings with people',
            relationship: 'car_owner using listings(owner_id) and people(id)',
          },
          {
            cardinality: 'many-to-many',
            embedding: 'listings with people',
            relationship: 'lends using lends_car_id_fkey(car_id) and lends_person_id_fkey(person_id)',
          },
        ],
        "Try changing 'people' to one of the following: 'people!car_owner', 'people!lends'. Find the desired relationship in the 'details' key.",
      ),
    },
    {
      send: ['GET', '/cheap_listings?select=id,models(name,makers(name)),repairs(cost)&order=id&repairs.order=cost'],
      body: [
        { id: 1, repairs: [{ cost: 99.5 }, { cost: 250 }], models: { name: 'V1', makers: { name: 'Volta' } } },
        { id: 5, repairs: [], models: null },
      ],
    },
    {
      send: ['GET', '/models?select=name,listings(title)&listings.order=id&id=lt.3&order=id'],
      body: [
        { name: 'V1', listings: [{ title: 'red wagon' }] },
        { name: 'V2 electric', listings: [{ title: 'silver 100%' }] },
      ],
    },
    {
      send: ['GET', '/maker_models?select=model,makers(name)&model_id=eq.1'],
      body: [{ model: 'V1', makers: [{ name: 'Tatro' }, { name: 'Aurelia' }] }],
    },
    {
      send: ['GET', '/maker_models?select=model,cars(id)&model_id=eq.1&cars.order=id'],
      body: [{ model: 'V1', cars: [{ id: 1 }, { id: 2 }] }],
    },
    {
      send: ['GET', '/cars?select=id,maker_models(maker)&id=eq.1'],
      body: [{ id: 1, maker_models: { maker: 'Volta' } }],
    },
    { send: ['GET', '/model_names?select=name,cars(id)&model_key=eq.3'], body: [{ name: 'T100', cars: [{ id: 4 }] }] },
    { send: ['GET', '/cars?select=id,model_names(name)&id=eq.1'], body: [{ id: 1, model_names: { name: 'V1' } }] },
    {
      send: ['GET', '/listings?select=id,model_names(name),workshops(name)&id=eq.1&workshops.order=id'],
      body: [{ id: 1, workshops: [{ name: 'Quick Fix' }, { name: 'Slow & Sure' }], model_names: { name: 'V1' } }],
    },

    // partitioned tables
    {
      send: ['GET', '/readings?select=year,cars(label)&car_id=eq.1&order=year'],
      body: [
        { year: 2023, cars: { label: 'red wagon' } },
        { year: 2024, cars: { label: 'red wagon' } },
      ],
    },
    {
      send: ['GET', '/cars?select=id,readings(year,mileage)&id=eq.1&readings.order=year'],
      body: [
        {
          id: 1,
          readings: [
            { year: 2023, mileage: 100000 },
            { year: 2024, mileage: 120000 },
          ],
        },
      ],
    },
    {
      send: ['GET', '/readings?select=year,disputes(claim)&order=year,car_id'],
      body: [
        { year: 2023, disputes: [] },
        { year: 2023, disputes: [{ claim: 'broken' }] },
        { year: 2024, disputes: [{ claim: 'clocked' }] },
        { year: 2024, disputes: [] },
      ],
    },
    {
      send: ['GET', '/disputes?select=claim,readings(mileage)&order=id'],
      body: [
        { claim: 'clocked', readings: { mileage: 120000 } },
        { claim: 'broken', readings: { mileage: 87000 } },
      ],
    },
    {
      send: ['GET', '/readings_2024?select=car_id'],
      status: 404,
      body: fault('PGRST205', "Could not find the table 'garage.readings_2024' in the schema cache"),
    },
    {
      send: ['GET', '/cars?select=id,readings_2024(year)&id=eq.1'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'readings_2024' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'readings_2024' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'readings' instead of 'readings_2024'.",
      ),
    },

    // computed relationships
    {
      send: ['GET', '/cars?select=id,maker_of(name)&order=id'],
      body: [
        { id: 1, maker_of: { name: 'Volta' } },
        { id: 2, maker_of: { name: 'Volta' } },
        { id: 3, maker_of: { name: 'Volta' } },
        { id: 4, maker_of: { name: 'Tatro' } },
        { id: 5, maker_of: null },
      ],
    },
    {
      send: ['GET', '/makers?select=name,cars_of(id,maker_of(name))&id=eq.1&cars_of.order=id'],
      body: [
        {
          name: 'Volta',
          cars_of: [
            { id: 1, maker_of: { name: 'Volta' } },
            { id: 2, maker_of: { name: 'Volta' } },
            { id: 3, maker_of: { name: 'Volta' } },
          ],
        },
      ],
    },
    {
      send: ['GET', '/people?select=name,plates(plate)&order=id'],
      body: [
        { name: 'Anna', plates: [{ plate: 'AB 12' }] },
        { name: 'Bülent', plates: [{ plate: 'CD 34' }] },
        { name: 'Chloé', plates: [{ plate: 'ÖK 1' }] },
        { name: 'Dmitri', plates: [] },
      ],
    },
    {
      send: ['GET', '/people?select=id,lends(car_id)&order=id'],
      body: [
        { id: 1, lends: [] },
        { id: 2, lends: [] },
        { id: 3, lends: [{ car_id: 1 }] },
        { id: 4, lends: [{ car_id: 1 }] },
      ],
    },
    { send: ['GET', '/cars?select=id,maker:maker_of!inner(name)&maker.name=eq.Aurelia'], body: [] },
    {
      send: ['GET', '/makers?select=id,cars_of(id)&cars_of.mileage=gt.100000&id=eq.1'],
      body: [{ id: 1, cars_of: [{ id: 1 }] }],
    },

    // hints by constraint, column, table
    { send: ['GET', '/cars?select=id,people!car_owner(name)&id=eq.1'], body: [{ id: 1, people: { name: 'Anna' } }] },
    { send: ['GET', '/cars?select=id,people!driver_id(name)&id=eq.1'], body: [{ id: 1, people: { name: 'Bülent' } }] },
    {
      send: ['GET', '/cars?select=id,people!lends(name)&id=eq.1&people.order=id'],
      body: [{ id: 1, people: [{ name: 'Chloé' }, { name: 'Dmitri' }] }],
    },
    {
      send: ['GET', '/cars?select=id,models!cars_model_id_fkey(name)&id=eq.1'],
      body: [{ id: 1, models: { name: 'V1' } }],
    },
    {
      send: ['GET', '/people?select=id,cars!driver_id(id)&id=eq.2&cars.order=id'],
      body: [{ id: 2, cars: [{ id: 1 }, { id: 2 }] }],
    },

    // inner and left
    {
      send: ['GET', '/cars?select=id,plates!inner(plate)&order=id'],
      body: [
        { id: 1, plates: { plate: 'AB 12' } },
        { id: 2, plates: { plate: 'CD 34' } },
        { id: 4, plates: { plate: 'ÖK 1' } },
      ],
    },
    {
      send: ['GET', '/cars?select=id,plates!left(plate)&id=gt.3&order=id'],
      body: [
        { id: 4, plates: { plate: 'ÖK 1' } },
        { id: 5, plates: null },
      ],
    },
    {
      send: ['GET', '/cars?select=id,models!inner(name,makers!inner(name))&models.makers.name=eq.Volta&order=id'],
      body: [
        { id: 1, models: { name: 'V1', makers: { name: 'Volta' } } },
        { id: 2, models: { name: 'V1', makers: { name: 'Volta' } } },
        { id: 3, models: { name: 'V2 electric', makers: { name: 'Volta' } } },
      ],
    },
    { send: ['GET', '/workshops?select=id,cars!inner(id)&cars.id=eq.2'], body: [{ id: 1, cars: [{ id: 2 }] }] },
    {
      send: ['GET', '/people?select=id,cars!car_owner!inner(id)&cars.sold=is.true&order=id'],
      body: [
        { id: 2, cars: [{ id: 2 }] },
        { id: 3, cars: [{ id: 4 }] },
      ],
    },
    {
      send: ['GET', '/cars?select=id,owner:people!car_owner!inner(name)&owner.name=like.A*&order=id'],
      body: [
        { id: 1, owner: { name: 'Anna' } },
        { id: 3, owner: { name: 'Anna' } },
      ],
    },
    {
      send: ['GET', '/cars?select=id,models(name)&models.name=eq.V1&order=id'],
      body: [
        { id: 1, models: { name: 'V1' } },
        { id: 2, models: { name: 'V1' } },
        { id: 3, models: null },
        { id: 4, models: null },
        { id: 5, models: null },
      ],
    },
    {
      send: ['GET', '/workshops?select=id,cars!inner(id,plates!inner(plate))&cars.plates.plate=like.C*'],
      body: [{ id: 1, cars: [{ id: 2, plates: { plate: 'CD 34' } }] }],
    },

    // embeds used only as a condition
    { send: ['GET', '/cars?select=id,models()&id=eq.1'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id,models!inner()&models.name=eq.V1&order=id'], body: [{ id: 1 }, { id: 2 }] },
    { send: ['GET', '/cars?select=id,models(makers())&id=eq.1'], body: [{ id: 1 }] },
    { send: ['GET', '/cars?select=id,models!inner(makers!inner())&models.makers.name=eq.Tatro'], body: [{ id: 4 }] },
    {
      send: ['GET', '/cars?select=id,workshops()&workshops=not.is.null&order=id'],
      body: [{ id: 1 }, { id: 2 }, { id: 4 }],
    },
    { send: ['GET', '/cars?select=models()&id=eq.1'], body: [{}] },

    // functions
    {
      send: ['GET', '/rpc/cars_under?limit_price=10000&select=id,models(name)&order=id'],
      body: [
        { id: 1, models: { name: 'V1' } },
        { id: 4, models: { name: 'T100' } },
      ],
    },
    {
      send: ['GET', '/rpc/first_car?select=id,models(makers(name))'],
      body: { id: 1, models: { makers: { name: 'Volta' } } },
      range: '0-0/*',
    },
    {
      send: ['GET', '/rpc/cars_under?limit_price=20000&select=id,repairs!inner(cost)&repairs.cost=lt.100'],
      body: [
        { id: 1, repairs: [{ cost: 99.5 }] },
        { id: 4, repairs: [{ cost: 10 }] },
      ],
    },

    // embeds without columns in the response
    {
      send: ['GET', '/lends?select=cars(id),people(id)&order=car_id,person_id&limit=1'],
      body: [{ cars: { id: 1 }, people: { id: 3 } }],
    },
    { send: ['GET', '/empty_lot?select=*,cars(id)'], body: [] },
  ],
}
