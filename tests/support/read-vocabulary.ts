// The vocabulary of generated requests: the tables of `fixtures/reads.sql`, by their names in a request.

export type ValueKind =
  'integer' | 'decimal' | 'text' | 'boolean' | 'array' | 'words' | 'range' | 'json' | 'time' | 'colour'

export type Vocabulary = {
  readonly name: string
  /** The source of its rows, if not the table itself. */
  readonly call?: { readonly path: string; readonly argument: string }
  /** Column or computed field, and its type for comparisons. */
  readonly columns: readonly [readonly [string, ValueKind], ...(readonly [string, ValueKind])[]]
  /** A total order of the rows. */
  readonly order: string
  /** A possible embed: its text in `select`, its name in filters, its table, and whether it is to-one. */
  readonly embeds: readonly (readonly [words: string, name: string, table: string, toOne: boolean])[]
}

const cars: Vocabulary = {
  name: 'cars',
  columns: [
    ['id', 'integer'],
    ['model_id', 'integer'],
    ['label', 'text'],
    ['mileage', 'integer'],
    ['price', 'decimal'],
    ['sold', 'boolean'],
    ['paint', 'colour'],
    ['deposit', 'integer'],
    ['tags', 'array'],
    ['story', 'text'],
    ['words', 'words'],
    ['leased', 'range'],
    ['details', 'json'],
    ['seen', 'time'],
    ['full_label', 'text'],
  ],
  order: 'id',
  embeds: [
    ['models', 'models', 'models', true],
    ['model:models', 'model', 'models', true],
    ['owner:people!car_owner', 'owner', 'people', true],
    ['people!car_driver', 'people', 'people', true],
    ['driver:people!driver_id', 'driver', 'people', true],
    ['plates', 'plates', 'plates', true],
    ['repairs', 'repairs', 'repairs', false],
    ['workshops', 'workshops', 'workshops', false],
    ['readings', 'readings', 'readings', false],
    ['maker_of', 'maker_of', 'makers', true],
    ['people', 'people', 'people', false],
  ],
}

const realCarColumns = cars.columns.filter(([name]) => name !== 'full_label')

export const vocabularies: readonly [Vocabulary, ...Vocabulary[]] = [
  cars,
  cars,
  {
    ...cars,
    columns: [['id', 'integer'], ...realCarColumns],
    call: { path: 'rpc/cars_under', argument: 'limit_price=20000' },
  },
  {
    name: 'models',
    columns: [
      ['id', 'integer'],
      ['maker_id', 'integer'],
      ['name', 'text'],
      ['style', 'text'],
      ['price', 'decimal'],
      ['specs', 'json'],
      ['worth', 'decimal'],
    ],
    order: 'id',
    embeds: [
      ['makers', 'makers', 'makers', true],
      ['maker:makers', 'maker', 'makers', true],
      ['makers!maker_id', 'makers', 'makers', true],
      ['cars', 'cars', 'cars', false],
      ['vehicles:cars', 'vehicles', 'cars', false],
      ['listings', 'listings', 'listings', false],
    ],
  },
  {
    name: 'makers',
    columns: [
      ['id', 'integer'],
      ['name', 'text'],
      ['country', 'text'],
      ['parent_id', 'integer'],
    ],
    order: 'id',
    embeds: [
      ['models', 'models', 'models', false],
      ['parent:parent_id', 'parent', 'makers', true],
      ['children:makers!parent_id', 'children', 'makers', false],
      ['cars_of', 'cars_of', 'cars', false],
    ],
  },
  {
    name: 'people',
    columns: [
      ['id', 'integer'],
      ['name', 'text'],
      ['born', 'time'],
      ['email', 'text'],
    ],
    order: 'id',
    embeds: [
      ['cars!car_owner', 'cars', 'cars', false],
      ['driven:cars!driver_id', 'driven', 'cars', false],
      ['plates', 'plates', 'plates', false],
      ['lent:cars!lends', 'lent', 'cars', false],
      ['lends', 'lends', 'lends', false],
    ],
  },
  {
    name: 'repairs',
    columns: [
      ['car_id', 'integer'],
      ['workshop_id', 'integer'],
      ['cost', 'decimal'],
      ['done', 'time'],
    ],
    order: 'car_id,workshop_id',
    embeds: [
      ['cars', 'cars', 'cars', true],
      ['workshops', 'workshops', 'workshops', true],
      ['where:workshops', 'where', 'workshops', true],
    ],
  },
  {
    name: 'workshops',
    columns: [
      ['id', 'integer'],
      ['name', 'text'],
      ['city', 'text'],
    ],
    order: 'id',
    embeds: [
      ['cars', 'cars', 'cars', false],
      ['repairs', 'repairs', 'repairs', false],
    ],
  },
  {
    name: 'listings',
    columns: [
      ['id', 'integer'],
      ['title', 'text'],
      ['asking', 'decimal'],
    ],
    order: 'id',
    embeds: [
      ['models', 'models', 'models', true],
      ['people!car_owner', 'people', 'people', true],
      ['plates', 'plates', 'plates', true],
      ['repairs', 'repairs', 'repairs', false],
    ],
  },
  {
    name: 'readings',
    columns: [
      ['car_id', 'integer'],
      ['year', 'integer'],
      ['mileage', 'integer'],
    ],
    order: 'year,car_id',
    embeds: [
      ['cars', 'cars', 'cars', true],
      ['disputes', 'disputes', 'disputes', false],
    ],
  },
  {
    name: 'tickets',
    columns: [
      ['id', 'integer'],
      ['level', 'integer'],
    ],
    order: 'id',
    embeds: [],
  },
  {
    name: 'plates',
    columns: [
      ['car_id', 'integer'],
      ['plate', 'text'],
    ],
    order: 'car_id',
    embeds: [['cars', 'cars', 'cars', true]],
  },
  {
    name: 'lends',
    columns: [
      ['car_id', 'integer'],
      ['person_id', 'integer'],
    ],
    order: 'car_id,person_id',
    embeds: [],
  },
  {
    name: 'disputes',
    columns: [
      ['id', 'integer'],
      ['claim', 'text'],
    ],
    order: 'id',
    embeds: [],
  },
]

type Values = readonly [string, ...string[]]

/** Values to compare a column of a type with, and unusual ones, most of which the database rejects. */
export const values: Readonly<Record<ValueKind, { readonly fitting: Values; readonly odd: Values }>> = {
  integer: { fitting: ['1', '2', '3', '4', '0', '-1', '45000', '2024', ' 2'], odd: ['x', '', '99999999999', '1.5'] },
  decimal: { fitting: ['3999', '15500.25', '-0.5', '1e4', 'NaN', '10'], odd: ['ten', '', '1,5'] },
  text: {
    fitting: ['red wagon', 'Volta', 'silver 100%', '*a*', '*', '%', 'a_b', 'ÖK 1', '', 'null', 'B*', "o'x", '^.u', '☃'],
    odd: ['[', '(', '\\', '"', 'a"b', 'x'.repeat(3000)],
  },
  boolean: { fitting: ['true', 'false', 't', '0'], odd: ['null', 'maybe', ''] },
  array: { fitting: ['{family}', '{}', '{"old timer"}', '{family,diesel}'], odd: ['{family', 'family'] },
  words: {
    fitting: ['family', 'car', 'quick&car', '!rust', 'park:*', 'running'],
    odd: ['a & ', 'cars trucks', '"red car"'],
  },
  range: { fitting: ['[1,5)', '(,3]', 'empty', '[20,)'], odd: ['[5,1]', '5'] },
  json: { fitting: ['{"extras": []}', '{}', '17', '"radio"', 'null'], odd: ['{', ''] },
  time: {
    fitting: ['2024-01-01', '1991-12-01', '2024-06-01T10:00:00Z', 'infinity'],
    odd: ['yesterdy', '2024-13-01', ''],
  },
  colour: { fitting: ['#ff0000', '#0000ff', '00ff00', '0'], odd: ['#zz', ''] },
}

/** JSON paths of `cars.details` and `models.specs`. */
export const jsonPaths = [
  '->wheels->front',
  '->wheels->>front',
  '->>extras',
  '->extras->0',
  '->extras->>-1',
  '->engine->>hp',
  '->doors',
  '->gears->>0',
  '->>odd key',
  '->nothing->>at->all',
] as const
