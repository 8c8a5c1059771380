import { fault, type RequestTable } from '../../support/request-table.ts'

export const choice: RequestTable = {
  title: 'choosing a relationship',
  rows: [
    {
      send: ['GET', '/cars?select=id,people(name)'],
      status: 300,
      body: fault(
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
    },
    {
      send: ['GET', '/people?select=id,cars(id)'],
      status: 300,
      body: fault(
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
    },
    {
      send: ['GET', '/makers?select=id,makers(name)'],
      body: [
        { id: 1, makers: [{ name: 'Tatro' }, { name: 'Aurelia' }] },
        { id: 2, makers: [{ name: 'Bramble & Sons' }] },
        { id: 3, makers: [] },
        { id: 4, makers: [] },
      ],
    },
    {
      send: ['GET', '/cars?select=id,people!nothing(name)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'people' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'people' using the hint 'nothing' in the schema 'garage', but no matches were found.",
      ),
    },
    {
      send: ['GET', '/cars?select=nothing(id)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'nothing' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'nothing' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'readings' instead of 'nothing'.",
      ),
    },
    {
      send: ['GET', '/cars?select=id,makers(name)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'makers' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'makers' in the schema 'garage', but no matches were found.",
      ),
    },
    {
      send: ['GET', '/cars?select=id,model(name)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'model' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'model' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'models' instead of 'model'.",
      ),
    },
    {
      send: ['GET', '/cars?select=id,workshop(name)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'workshop' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'workshop' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'workshops' instead of 'workshop'.",
      ),
    },
    {
      send: ['GET', '/cars?select=id,models!car_owner(name)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'models' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'models' using the hint 'car_owner' in the schema 'garage', but no matches were found.",
      ),
    },
    {
      send: ['GET', '/cars?select=id,tickets(id)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'tickets' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'tickets' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'makers' instead of 'tickets'.",
      ),
    },
    {
      send: ['GET', '/cars?select=id,boxes(id)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'boxes' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'boxes' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'plates' instead of 'boxes'.",
      ),
    },
    {
      send: ['GET', '/cars?select=id,models(nothing(id))'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'models' and 'nothing' in the schema cache",
        "Searched for a foreign key relationship between 'models' and 'nothing' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'listings' instead of 'nothing'.",
      ),
    },
    {
      send: ['GET', '/cars?select=id,models(people(id))'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'models' and 'people' in the schema cache",
        "Searched for a foreign key relationship between 'models' and 'people' in the schema 'garage', but no matches were found.",
        "'models' is related to 'cars', 'cheap_listings', 'listings', 'maker_models', 'makers'.",
      ),
    },
    {
      send: ['GET', '/nothing?select=id'],
      status: 404,
      body: fault('PGRST205', "Could not find the table 'garage.nothing' in the schema cache"),
    },
    {
      send: ['GET', '/car?select=id'],
      status: 404,
      body: fault(
        'PGRST205',
        "Could not find the table 'garage.car' in the schema cache",
        null,
        "Perhaps you meant the table 'garage.cars'",
      ),
    },
    {
      send: ['GET', '/cars?select=id,...people(name)'],
      status: 300,
      body: fault(
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
    },
    {
      send: ['GET', '/listings?select=id,people!car_owner(name)&id=eq.1'],
      body: [{ id: 1, people: { name: 'Anna' } }],
    },
    {
      send: ['GET', '/parts?select=id,parts!nothing(id)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'parts' and 'parts' in the schema cache",
        "Searched for a foreign key relationship between 'parts' and 'parts' using the hint 'nothing' in the schema 'garage', but no matches were found.",
      ),
    },
    {
      send: ['GET', '/tickets?select=id,cars(id)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'tickets' and 'cars' in the schema cache",
        "Searched for a foreign key relationship between 'tickets' and 'cars' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'makers' instead of 'tickets'.",
      ),
    },
    {
      send: ['GET', '/cars?select=id,repairs!workshop_id(cost)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'repairs' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'repairs' using the hint 'workshop_id' in the schema 'garage', but no matches were found.",
      ),
    },
    {
      send: ['GET', '/workshops?select=id,people(name)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'workshops' and 'people' in the schema cache",
        "Searched for a foreign key relationship between 'workshops' and 'people' in the schema 'garage', but no matches were found.",
        "'workshops' is related to 'cars', 'cheap_listings', 'listings', 'repairs'.",
      ),
    },
    {
      send: ['GET', '/rpc/cars_under?limit_price=1&select=id,people(name)'],
      status: 300,
      body: fault(
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
    },
    {
      send: ['GET', '/rpc/add?a=1&select=id,models(id)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'add' and 'models' in the schema cache",
        "Searched for a foreign key relationship between 'add' and 'models' in the schema 'garage', but no matches were found.",
      ),
    },
    {
      send: ['GET', '/makers?select=models(id,model_names(name))'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'models' and 'model_names' in the schema cache",
        "Searched for a foreign key relationship between 'models' and 'model_names' in the schema 'garage', but no matches were found.",
        "Perhaps you meant 'maker_models' instead of 'model_names'.",
      ),
    },
    { send: ['GET', '/cars?select=owner_id(name)&id=eq.1'], body: [{ owner_id: { name: 'Anna' } }] },
    { send: ['GET', '/cars?select=car_owner(name)&id=eq.1'], body: [{ car_owner: { name: 'Anna' } }] },
    {
      send: ['GET', '/vault?select=id'],
      status: 404,
      body: fault('PGRST205', "Could not find the table 'garage.vault' in the schema cache"),
    },
    {
      send: ['GET', '/gold?select=id'],
      status: 404,
      body: fault('PGRST205', "Could not find the table 'garage.gold' in the schema cache"),
    },
    {
      send: ['GET', '/workshops?select=id,boxes(id)'],
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'workshops' and 'boxes' in the schema cache",
        "Searched for a foreign key relationship between 'workshops' and 'boxes' in the schema 'garage', but no matches were found.",
        "'workshops' is related to 'cars', 'cheap_listings', 'listings', 'repairs'.",
      ),
    },
    { send: ['GET', '/cars?select=id'], headers: { 'Accept-Profile': 'depot' }, body: [{ id: 7 }] },
    {
      send: ['GET', '/cars?select=bay,models(id)'],
      headers: { 'Accept-Profile': 'depot' },
      status: 400,
      body: fault(
        'PGRST200',
        "Could not find a relationship between 'cars' and 'models' in the schema cache",
        "Searched for a foreign key relationship between 'cars' and 'models' in the schema 'depot', but no matches were found.",
      ),
    },
  ],
}
