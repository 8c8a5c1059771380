import { fault, type Topic } from '../support/exchange.ts'

export const choice: Topic = {
  title: 'choosing a relationship',
  exchanges: [
    [
      '/cars?select=id,people(name)',
      fault(
        300,
        'PGRST201',
        "Could not embed because more than one relationship was found for 'cars' and 'people'",
        [
          {
            cardinality: 'many-to-one',
            embedding: 'cars with people',
            relationship: 'car_driver using cars(driver_id) and people(id)',
          },
          {
            cardinality: 'many-to-one',
            embedding: 'cars with people',
            relationship: 'car_owner using cars(owner_id) and people(id)',
          },
          {
            cardinality: 'many-to-many',
            embedding: 'cars with people',
            relationship: 'lends using lends_car_id_fkey(car_id) and lends_person_id_fkey(person_id)',
          },
        ],
        "Try changing 'people' to one of the following: 'people!car_driver', 'people!car_owner', 'people!lends'. Find the desired relationship in the 'details' key.",
      ),
    ],
    [
      '/people?select=id,cars(id)',
      fault(
        300,
        'PGRST201',
        "Could not embed because more than one relationship was found for 'people' and 'cars'",
        [
          {
            cardinality: 'one-to-many',
            embedding: 'people with cars',
            relationship: 'car_driver using people(id) and cars(driver_id)',
          },
          {
            cardinality: 'one-to-many',
            embedding: 'people with cars',
            relationship: 'car_owner using people(id) and cars(owner_id)',
          },
          {
            cardinality: 'many-to-many',
            embedding: 'people with cars',
            relationship: 'lends using lends_person_id_fkey(person_id) and lends_car_id_fkey(car_id)',
          },
        ],
        "Try changing 'cars' to one of the following: 'cars!car_driver', 'cars!car_owner', 'cars!lends'. Find the desired relationship in the 'details' key.",
      ),
    ],
    [
      '/makers?select=id,makers(name)',
      [
        { id: 1, makers: [{ name: 'Tatro' }, { name: 'Aurelia' }] },
        { id: 2, makers: [{ name: 'Bramble & Sons' }] },
        { id: 3, makers: [] },
        { id: 4, makers: [] },
      ],
    ],
    [
      '/cars?select=id,people!nothing(name)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'people' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'people' using the hint 'nothing' in the schema 'garage', but no matches were found.",
      ),
    ],
    [
      '/cars?select=nothing(id)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'nothing' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'nothing' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'readings' instead of 'nothing'.",
      ),
    ],
    [
      '/cars?select=id,makers(name)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'makers' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'makers' in the schema 'garage', but no matches were found.",
      ),
    ],
    [
      '/cars?select=id,model(name)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'model' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'model' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'models' instead of 'model'.",
      ),
    ],
    [
      '/cars?select=id,workshop(name)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'workshop' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'workshop' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'workshops' instead of 'workshop'.",
      ),
    ],
    [
      '/cars?select=id,models!car_owner(name)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'models' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'models' using the hint 'car_owner' in the schema 'garage', but no matches were found.",
      ),
    ],
    [
      '/cars?select=id,tickets(id)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'tickets' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'tickets' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'makers' instead of 'tickets'.",
      ),
    ],
    [
      '/cars?select=id,boxes(id)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'boxes' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'boxes' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'plates' instead of 'boxes'.",
      ),
    ],
    [
      '/cars?select=id,models(nothing(id))',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'models' and 'nothing' in the schema cache",
        "Searched for a foreign key relationship between 'models' and 'nothing' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'listings' instead of 'nothing'.",
      ),
    ],
    [
      '/cars?select=id,models(people(id))',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'models' and 'people' in the schema cache",
        "Searched for a foreign key relationship between 'models' and 'people' in the schema 'garage', but no matches were found.",
      ),
    ],
    ['/nothing?select=id', fault(404, 'PGRST205', "Could not find the table 'garage.nothing' in the schema cache")],
    [
      '/car?select=id',
      fault(
        404,
        'PGRST205',
        "Could not find the table 'garage.car' in the schema cache",
        null,
        "Perhaps you meant the table 'garage.cars'",
      ),
    ],
    [
      '/cars?select=id,...people(name)',
      fault(
        300,
        'PGRST201',
        "Could not embed because more than one relationship was found for 'cars' and 'people'",
        [
          {
            cardinality: 'many-to-one',
            embedding: 'cars with people',
            relationship: 'car_driver using cars(driver_id) and people(id)',
          },
          {
            cardinality: 'many-to-one',
            embedding: 'cars with people',
            relationship: 'car_owner using cars(owner_id) and people(id)',
          },
          {
            cardinality: 'many-to-many',
            embedding: 'cars with people',
            relationship: 'lends using lends_car_id_fkey(car_id) and lends_person_id_fkey(person_id)',
          },
        ],
        "Try changing 'people' to one of the following: 'people!car_driver', 'people!car_owner', 'people!lends'. Find the desired relationship in the 'details' key.",
      ),
    ],
    ['/listings?select=id,people!car_owner(name)&id=eq.1', [{ id: 1, people: { name: 'Anna' } }]],
    [
      '/parts?select=id,parts!nothing(id)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'parts' and 'parts' in the schema cache",
        "Searched for a foreign key relationship between 'parts' and 'parts' using the hint 'nothing' in the schema 'garage', but no matches were found.",
      ),
    ],
    [
      '/tickets?select=id,cars(id)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'tickets' and 'cars' in the schema cache",
        "Searched for a foreign key relationship between 'tickets' and 'cars' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'makers' instead of 'tickets'.",
      ),
    ],
    [
      '/cars?select=id,repairs!workshop_id(cost)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'repairs' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'repairs' using the hint 'workshop_id' in the schema 'garage', but no matches were found.",
      ),
    ],
    [
      '/workshops?select=id,people(name)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'workshops' and 'people' in the schema cache",
        "Searched for a foreign key relationship between 'workshops' and 'people' in the schema 'garage', but no matches were found.",
      ),
    ],
    [
      '/rpc/cars_under?limit_price=1&select=id,people(name)',
      fault(
        300,
        'PGRST201',
        "Could not embed because more than one relationship was found for 'cars' and 'people'",
        [
          {
            cardinality: 'many-to-one',
            embedding: 'cars with people',
            relationship: 'car_driver using cars(driver_id) and people(id)',
          },
          {
            cardinality: 'many-to-one',
            embedding: 'cars with people',
            relationship: 'car_owner using cars(owner_id) and people(id)',
          },
          {
            cardinality: 'many-to-many',
            embedding: 'cars with people',
            relationship: 'lends using lends_car_id_fkey(car_id) and lends_person_id_fkey(person_id)',
          },
        ],
        "Try changing 'people' to one of the following: 'people!car_driver', 'people!car_owner', 'people!lends'. Find the desired relationship in the 'details' key.",
      ),
    ],
    [
      '/rpc/add?a=1&select=id,models(id)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'add' and 'models' in the schema cache",
        "Searched for a foreign key relationship between 'add' and 'models' in the schema 'garage', but no matches were found.",
      ),
    ],
    [
      '/makers?select=models(id,model_names(name))',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'models' and 'model_names' in the schema cache",
        "Searched for a foreign key relationship between 'models' and 'model_names' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'maker_models' instead of 'model_names'.",
      ),
    ],
    ['/cars?select=owner_id(name)&id=eq.1', [{ owner_id: { name: 'Anna' } }]],
    ['/cars?select=car_owner(name)&id=eq.1', [{ car_owner: { name: 'Anna' } }]],
    ['/vault?select=id', fault(404, 'PGRST205', "Could not find the table 'garage.vault' in the schema cache")],
    ['/gold?select=id', fault(404, 'PGRST205', "Could not find the table 'garage.gold' in the schema cache")],
    [
      '/workshops?select=id,boxes(id)',
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'workshops' and 'boxes' in the schema cache",
        "Searched for a foreign key relationship between 'workshops' and 'boxes' in the schema 'garage', but no matches were found.",
      ),
    ],
    [{ path: '/cars?select=id', headers: { 'Accept-Profile': 'depot' } }, [{ id: 7 }]],
    [
      { path: '/cars?select=bay,models(id)', headers: { 'Accept-Profile': 'depot' } },
      fault(
        400,
        'PGRST200',
        "Could not find a relationship between 'cars' and 'models' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'models' in the schema 'depot', but no matches were found.",
      ),
    ],
  ],
}
