import { fault, type Topic } from '../support/exchange.ts'

export const embeds: Topic = {
  title: 'embeds',
  exchanges: [
    // many-to-one
    [
      '/cars?select=id,models(name)&order=id',
      [
        { id: 1, models: { name: 'V1' } },
        { id: 2, models: { name: 'V1' } },
        { id: 3, models: { name: 'V2 electric' } },
        { id: 4, models: { name: 'T100' } },
        { id: 5, models: null },
      ],
    ],
    ['/cars?select=id,model:models(name)&id=eq.1', [{ id: 1, model: { name: 'V1' } }]],
    [
      '/cars?select=id,models(*,makers(*))&id=eq.4',
      [
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
    ],
    [
      '/cars?select=id,models(name,makers(name,parent:parent_id(name)))&id=eq.4',
      [{ id: 4, models: { name: 'T100', makers: { name: 'Tatro', parent: { name: 'Volta' } } } }],
    ],

    // one-to-many
    [
      '/makers?select=name,models(name)&models.order=name&order=id',
      [
        { name: 'Volta', models: [{ name: 'V1' }, { name: 'V2 electric' }] },
        { name: 'Tatro', models: [{ name: 'T100' }] },
        { name: 'Aurelia', models: [{ name: 'Sogno' }] },
        { name: 'Bramble & Sons', models: [] },
      ],
    ],
    [
      '/makers?select=name,models(name,cars(id))&id=eq.1&models.order=id&models.cars.order=id',
      [
        {
          name: 'Volta',
          models: [
            { cars: [{ id: 1 }, { id: 2 }], name: 'V1' },
            { cars: [{ id: 3 }], name: 'V2 electric' },
          ],
        },
      ],
    ],

    // one-to-one, both ways
    [
      '/cars?select=id,plates(plate)&order=id',
      [
        { id: 1, plates: { plate: 'AB 12' } },
        { id: 2, plates: { plate: 'CD 34' } },
        { id: 3, plates: null },
        { id: 4, plates: { plate: 'ÖK 1' } },
        { id: 5, plates: null },
      ],
    ],
    [
      '/plates?select=plate,cars(label)&order=car_id',
      [
        { plate: 'AB 12', cars: { label: 'red wagon' } },
        { plate: 'CD 34', cars: { label: 'blue_wagon' } },
        { plate: 'ÖK 1', cars: { label: 'a "quoted", name' } },
      ],
    ],

    // many-to-many
    [
      '/cars?select=id,workshops(name)&workshops.order=id&order=id&limit=2',
      [
        { id: 1, workshops: [{ name: 'Quick Fix' }, { name: 'Slow & Sure' }] },
        { id: 2, workshops: [{ name: 'Quick Fix' }] },
      ],
    ],
    [
      '/workshops?select=name,cars(id)&cars.order=id&order=id',
      [
        { name: 'Quick Fix', cars: [{ id: 1 }, { id: 2 }] },
        { name: 'Slow & Sure', cars: [{ id: 1 }, { id: 4 }] },
        { name: "Nobody's", cars: [] },
      ],
    ],
    [
      '/cars?select=id,repairs(cost,workshops(name))&repairs.order=cost&id=eq.1',
      [
        {
          id: 1,
          repairs: [
            { cost: 99.5, workshops: { name: 'Slow & Sure' } },
            { cost: 250, workshops: { name: 'Quick Fix' } },
          ],
        },
      ],
    ],
    ['/cars?select=id,workshops!repairs(name)&id=eq.4', [{ id: 4, workshops: [{ name: 'Slow & Sure' }] }]],

    // the same table twice
    [
      '/cars?select=id,owner:people!car_owner(name),driver:people!car_driver(name)&order=id',
      [
        { id: 1, owner: { name: 'Anna' }, driver: { name: 'Bülent' } },
        { id: 2, owner: { name: 'Bülent' }, driver: { name: 'Bülent' } },
        { id: 3, owner: { name: 'Anna' }, driver: null },
        { id: 4, owner: { name: 'Chloé' }, driver: { name: 'Dmitri' } },
        { id: 5, owner: null, driver: null },
      ],
    ],
    ['/cars?select=id,owner:people!owner_id(name)&id=eq.1', [{ id: 1, owner: { name: 'Anna' } }]],
    [
      '/people?select=name,owns:cars!car_owner(id),drives:cars!driver_id(id),lent:cars!lends(id)&owns.order=id&drives.order=id&lent.order=id&order=id',
      [
        { name: 'Anna', owns: [{ id: 1 }, { id: 3 }], drives: [], lent: [] },
        { name: 'Bülent', owns: [{ id: 2 }], drives: [{ id: 1 }, { id: 2 }], lent: [] },
        { name: 'Chloé', owns: [{ id: 4 }], drives: [], lent: [{ id: 1 }] },
        { name: 'Dmitri', owns: [], drives: [{ id: 4 }], lent: [{ id: 1 }, { id: 2 }] },
      ],
    ],

    // self-references
    [
      '/makers?select=name,parent:parent_id(name)&order=id',
      [
        { name: 'Volta', parent: null },
        { name: 'Tatro', parent: { name: 'Volta' } },
        { name: 'Aurelia', parent: { name: 'Volta' } },
        { name: 'Bramble & Sons', parent: { name: 'Tatro' } },
      ],
    ],
    [
      '/makers?select=name,children:makers!parent_id(name)&children.order=id&order=id',
      [
        { name: 'Volta', children: [{ name: 'Tatro' }, { name: 'Aurelia' }] },
        { name: 'Tatro', children: [{ name: 'Bramble & Sons' }] },
        { name: 'Aurelia', children: [] },
        { name: 'Bramble & Sons', children: [] },
      ],
    ],
    [
      '/makers?select=name,children:makers(name)&children.order=id&id=eq.1',
      [{ name: 'Volta', children: [{ name: 'Tatro' }, { name: 'Aurelia' }] }],
    ],
    [
      '/makers?select=name,parent:maker_parent(name)&id=eq.4',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'makers' and 'maker_parent' in the schema cache",
        "Searched for a foreign key relationship between 'makers' and 'maker_parent' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'maker_models' instead of 'maker_parent'.",
      ),
    ],
    [
      '/makers?select=name,makers!maker_parent(name)&id=eq.1',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'makers' and 'makers' in the schema cache",
        "Searched for a foreign key relationship between 'makers' and 'makers' using the hint 'maker_parent' in the schema 'garage', but no matches were found.",
      ),
    ],
    [
      '/parts?select=name,whole:whole_id(name,whole:whole_id(name))&id=eq.3',
      [{ name: 'seal', whole: { name: 'pump', whole: { name: 'engine' } } }],
    ],
    [
      '/parts?select=name,parts(name,parts(name))&id=eq.1&parts.order=id',
      [
        {
          name: 'engine',
          parts: [
            { name: 'pump', parts: [{ name: 'seal' }] },
            { name: 'piston', parts: [] },
          ],
        },
      ],
    ],

    // through views, nested views and a materialised view
    ['/listings?select=id,models(name)&id=eq.1', [{ id: 1, models: { name: 'V1' } }]],
    [
      '/listings?select=id,people(name),plates(plate)&id=eq.1',
      fault(
        300,
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
    ],
    [
      '/cheap_listings?select=id,models(name,makers(name)),repairs(cost)&order=id&repairs.order=cost',
      [
        { id: 1, repairs: [{ cost: 99.5 }, { cost: 250 }], models: { name: 'V1', makers: { name: 'Volta' } } },
        { id: 5, repairs: [], models: null },
      ],
    ],
    [
      '/models?select=name,listings(title)&listings.order=id&id=lt.3&order=id',
      [
        { name: 'V1', listings: [{ title: 'red wagon' }] },
        { name: 'V2 electric', listings: [{ title: 'silver 100%' }] },
      ],
    ],
    [
      '/maker_models?select=model,makers(name)&model_id=eq.1',
      [{ model: 'V1', makers: [{ name: 'Tatro' }, { name: 'Aurelia' }] }],
    ],
    [
      '/maker_models?select=model,cars(id)&model_id=eq.1&cars.order=id',
      [{ model: 'V1', cars: [{ id: 1 }, { id: 2 }] }],
    ],
    ['/cars?select=id,maker_models(maker)&id=eq.1', [{ id: 1, maker_models: { maker: 'Volta' } }]],
    ['/model_names?select=name,cars(id)&model_key=eq.3', [{ name: 'T100', cars: [{ id: 4 }] }]],
    ['/cars?select=id,model_names(name)&id=eq.1', [{ id: 1, model_names: { name: 'V1' } }]],
    [
      '/listings?select=id,model_names(name),workshops(name)&id=eq.1&workshops.order=id',
      [{ id: 1, workshops: [{ name: 'Quick Fix' }, { name: 'Slow & Sure' }], model_names: { name: 'V1' } }],
    ],

    // partitioned tables
    [
      '/readings?select=year,cars(label)&car_id=eq.1&order=year',
      [
        { year: 2023, cars: { label: 'red wagon' } },
        { year: 2024, cars: { label: 'red wagon' } },
      ],
    ],
    [
      '/cars?select=id,readings(year,mileage)&id=eq.1&readings.order=year',
      [
        {
          id: 1,
          readings: [
            { year: 2023, mileage: 100000 },
            { year: 2024, mileage: 120000 },
          ],
        },
      ],
    ],
    [
      '/readings?select=year,disputes(claim)&order=year,car_id',
      [
        { year: 2023, disputes: [] },
        { year: 2023, disputes: [{ claim: 'broken' }] },
        { year: 2024, disputes: [{ claim: 'clocked' }] },
        { year: 2024, disputes: [] },
      ],
    ],
    [
      '/disputes?select=claim,readings(mileage)&order=id',
      [
        { claim: 'clocked', readings: { mileage: 120000 } },
        { claim: 'broken', readings: { mileage: 87000 } },
      ],
    ],
    [
      '/readings_2024?select=car_id',
      fault(404, 'PGRST205', "Could not find the table 'garage.readings_2024' in the schema cache"),
    ],
    [
      '/cars?select=id,readings_2024(year)&id=eq.1',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'readings_2024' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'readings_2024' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'readings' instead of 'readings_2024'.",
      ),
    ],

    // computed relationships
    [
      '/cars?select=id,maker_of(name)&order=id',
      [
        { id: 1, maker_of: { name: 'Volta' } },
        { id: 2, maker_of: { name: 'Volta' } },
        { id: 3, maker_of: { name: 'Volta' } },
        { id: 4, maker_of: { name: 'Tatro' } },
        { id: 5, maker_of: null },
      ],
    ],
    [
      '/makers?select=name,cars_of(id,maker_of(name))&id=eq.1&cars_of.order=id',
      [
        {
          name: 'Volta',
          cars_of: [
            { id: 1, maker_of: { name: 'Volta' } },
            { id: 2, maker_of: { name: 'Volta' } },
            { id: 3, maker_of: { name: 'Volta' } },
          ],
        },
      ],
    ],
    [
      '/people?select=name,plates(plate)&order=id',
      [
        { name: 'Anna', plates: [{ plate: 'AB 12' }] },
        { name: 'Bülent', plates: [{ plate: 'CD 34' }] },
        { name: 'Chloé', plates: [{ plate: 'ÖK 1' }] },
        { name: 'Dmitri', plates: [] },
      ],
    ],
    [
      '/people?select=id,lends(car_id)&order=id',
      [
        { id: 1, lends: [] },
        { id: 2, lends: [] },
        { id: 3, lends: [{ car_id: 1 }] },
        { id: 4, lends: [{ car_id: 1 }] },
      ],
    ],
    ['/cars?select=id,maker:maker_of!inner(name)&maker.name=eq.Aurelia', []],
    ['/makers?select=id,cars_of(id)&cars_of.mileage=gt.100000&id=eq.1', [{ id: 1, cars_of: [{ id: 1 }] }]],

    // hints by constraint, column, table
    ['/cars?select=id,people!car_owner(name)&id=eq.1', [{ id: 1, people: { name: 'Anna' } }]],
    ['/cars?select=id,people!driver_id(name)&id=eq.1', [{ id: 1, people: { name: 'Bülent' } }]],
    [
      '/cars?select=id,people!lends(name)&id=eq.1&people.order=id',
      [{ id: 1, people: [{ name: 'Chloé' }, { name: 'Dmitri' }] }],
    ],
    ['/cars?select=id,models!cars_model_id_fkey(name)&id=eq.1', [{ id: 1, models: { name: 'V1' } }]],
    ['/people?select=id,cars!driver_id(id)&id=eq.2&cars.order=id', [{ id: 2, cars: [{ id: 1 }, { id: 2 }] }]],

    // inner and left
    [
      '/cars?select=id,plates!inner(plate)&order=id',
      [
        { id: 1, plates: { plate: 'AB 12' } },
        { id: 2, plates: { plate: 'CD 34' } },
        { id: 4, plates: { plate: 'ÖK 1' } },
      ],
    ],
    [
      '/cars?select=id,plates!left(plate)&id=gt.3&order=id',
      [
        { id: 4, plates: { plate: 'ÖK 1' } },
        { id: 5, plates: null },
      ],
    ],
    [
      '/cars?select=id,models!inner(name,makers!inner(name))&models.makers.name=eq.Volta&order=id',
      [
        { id: 1, models: { name: 'V1', makers: { name: 'Volta' } } },
        { id: 2, models: { name: 'V1', makers: { name: 'Volta' } } },
        { id: 3, models: { name: 'V2 electric', makers: { name: 'Volta' } } },
      ],
    ],
    ['/workshops?select=id,cars!inner(id)&cars.id=eq.2', [{ id: 1, cars: [{ id: 2 }] }]],
    [
      '/people?select=id,cars!car_owner!inner(id)&cars.sold=is.true&order=id',
      [
        { id: 2, cars: [{ id: 2 }] },
        { id: 3, cars: [{ id: 4 }] },
      ],
    ],
    [
      '/cars?select=id,owner:people!car_owner!inner(name)&owner.name=like.A*&order=id',
      [
        { id: 1, owner: { name: 'Anna' } },
        { id: 3, owner: { name: 'Anna' } },
      ],
    ],
    [
      '/cars?select=id,models(name)&models.name=eq.V1&order=id',
      [
        { id: 1, models: { name: 'V1' } },
        { id: 2, models: { name: 'V1' } },
        { id: 3, models: null },
        { id: 4, models: null },
        { id: 5, models: null },
      ],
    ],
    [
      '/workshops?select=id,cars!inner(id,plates!inner(plate))&cars.plates.plate=like.C*',
      [{ id: 1, cars: [{ id: 2, plates: { plate: 'CD 34' } }] }],
    ],

    // embeds used only as a condition
    ['/cars?select=id,models()&id=eq.1', [{ id: 1 }]],
    ['/cars?select=id,models!inner()&models.name=eq.V1&order=id', [{ id: 1 }, { id: 2 }]],
    ['/cars?select=id,models(makers())&id=eq.1', [{ id: 1 }]],
    ['/cars?select=id,models!inner(makers!inner())&models.makers.name=eq.Tatro', [{ id: 4 }]],
    ['/cars?select=id,workshops()&workshops=not.is.null&order=id', [{ id: 1 }, { id: 2 }, { id: 4 }]],
    ['/cars?select=models()&id=eq.1', [{}]],

    // functions
    [
      '/rpc/cars_under?limit_price=10000&select=id,models(name)&order=id',
      [
        { id: 1, models: { name: 'V1' } },
        { id: 4, models: { name: 'T100' } },
      ],
    ],
    ['/rpc/first_car?select=id,models(makers(name))', { json: { id: 1, models: { makers: { name: 'Volta' } } } }],
    [
      '/rpc/cars_under?limit_price=20000&select=id,repairs!inner(cost)&repairs.cost=lt.100',
      [
        { id: 1, repairs: [{ cost: 99.5 }] },
        { id: 4, repairs: [{ cost: 10 }] },
      ],
    ],

    // embeds without columns in the response
    ['/lends?select=cars(id),people(id)&order=car_id,person_id&limit=1', [{ cars: { id: 1 }, people: { id: 3 } }]],
    ['/empty_lot?select=*,cars(id)', []],
  ],
}
