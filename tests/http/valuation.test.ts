// Valuations: the SQL compared with a reference on random data, and consequences of the rules.
import { randomInt } from 'node:crypto'
import pg from 'pg'
import t from 'tap'
import { createMigratedDatabase } from '../support/database.ts'
import { seededRandom, type Random } from '../support/seeded-random.ts'
import { valuationOf, type StoredReport, type Valuation, type Vehicle } from '../support/valuation-reference.ts'

const database = await createMigratedDatabase()
const client = new pg.Client({ connectionString: database.authenticatorUri })
await client.connect()
t.teardown(async () => {
  await client.end()
  await database.drop()
})

const users = Array.from({ length: 8 }, (_, n) => `00000000-0000-4000-8000-00000000000${n}`) as [string, ...string[]]
const [ann] = users
await database.query(
  `insert into auth.users (id, email, encrypted_password)
   select id, id || '@example.org', 'x' from unnest($1::uuid[]) id`,
  [users],
)

async function store(reports: readonly StoredReport[]): Promise<void> {
  await database.query('delete from public.reports')
  await add(reports)
}

const add = (reports: readonly StoredReport[]) =>
  database.query(
    `insert into public.reports (id, user_id, manufacturer, model, year, mileage, price, lat, lng, status)
     select id, "userId", manufacturer, model, year, mileage, cents / 100.0, lat, lng, status
     from jsonb_to_recordset($1) as report (id uuid, "userId" uuid, manufacturer text, model text, year int,
       mileage numeric, cents bigint, lat float8, lng float8, status text)`,
    [JSON.stringify(reports)],
  )

type Claims = Readonly<Record<string, string>>

async function as<T>(role: string, claims: Claims, text: string, values: unknown[]): Promise<T> {
  await client.query('begin')
  try {
    await client.query("select set_config('role', $1, true), set_config('request.jwt.claims', $2, true)", [
      role,
      JSON.stringify({ ...claims, role }),
    ])
    const { rows } = await client.query<{ value: T }>(text, values)
    return rows[0]?.value as T
  } finally {
    await client.query('rollback')
  }
}

const valued = ({ manufacturer, model, year, mileage, lat, lng }: Vehicle, caller = ann): Promise<Valuation> =>
  as('authenticated', { sub: caller }, 'select public.estimate_report($1, $2, $3, $4, $5, $6) as value', [
    ...[manufacturer, model, year, mileage, lat, lng],
  ])

const uuid = (random: Random): string => {
  const hex = (length: number): string => Array.from({ length }, () => random.integer(0, 15).toString(16)).join('')
  return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`
}

type Spelling = readonly [manufacturer: string, model: string]
/** Several spellings of four vehicles. */
const spellings: readonly [Spelling, ...Spelling[]] = [
  ['Alfa Romeo', 'Giulia'],
  ['ALFA  ROMEO', 'giulia'],
  ['alfaromeo', 'GIU LIA'],
  ['Ａlfa\u00a0Romeo', 'Giulia'],
  ['Alfa', 'Romeo Giulia'],
  ['Škoda', 'Octavia'],
  ['škODA', 'octavia'],
]

type Spread = { readonly years: number; readonly kilometres: number; readonly degrees: number; readonly users: number }

function randomVehicle(random: Random, spread: Spread): Vehicle {
  const [manufacturer, model] = random.pick(spellings)
  return {
    manufacturer,
    model,
    year: 2010 + random.integer(-spread.years, spread.years),
    // Halves, so that differences of floating-point numbers are exact.
    mileage: random.integer(0, spread.kilometres),
    lat: Math.max(-90, Math.min(90, 48 + (random.next() - 0.5) * spread.degrees)),
    lng: ((11 + (random.next() - 0.5) * spread.degrees * 2 + 540) % 360) - 180,
  }
}

const randomReport = (random: Random, spread: Spread): StoredReport => ({
  ...randomVehicle(random, spread),
  id: uuid(random),
  userId: users[random.integer(0, spread.users - 1)] ?? ann,
  cents: random.pick([0, 999_999, random.integer(0, 5_000_000), random.integer(1_000_000, 1_100_000)]),
  status: random.pick(['approved', 'approved', 'approved', 'approved', 'pending', 'rejected']),
})

function randomSpread(random: Random): Spread {
  return {
    years: random.pick([0, 1, 3, 60]) % 17,
    kilometres: random.pick([0, 10, 50_000, 1_000_000]),
    degrees: random.pick([0, 2, 40, 180]),
    users: random.integer(1, users.length),
  }
}

t.test('random data: SQL and reference agree', async (t) => {
  const seed = Number(process.env.SEED ?? randomInt(2 ** 31))
  t.comment(`SEED=${seed}`)
  const random = seededRandom(seed)
  const methods = new Set<string>()
  let mostComparables = 0
  for (let round = 0; round < 60; round++) {
    const spread = randomSpread(random)
    const reports = Array.from({ length: random.pick([0, 3, 8, 30, 200, 800]) }, () => randomReport(random, spread))
    await store(reports)
    for (let question = 0; question < 5; question++) {
      const vehicle = random.pick([randomVehicle(random, spread), ...reports])
      const caller = random.pick(users)
      const { confidence, ...wanted } = valuationOf(vehicle, caller, reports)
      const found = await valued(vehicle, caller)
      const { confidence: foundConfidence, ...rest } = found
      methods.add(found.method)
      mostComparables = Math.max(mostComparables, found.comparables)
      const label = `SEED=${seed}, round ${round}, question ${question}`
      // The result has two decimals.
      const isClose = Math.abs(foundConfidence - confidence) <= 0.0051
      if (!t.strictSame(rest, wanted, label) || !t.ok(isClose, label)) {
        t.comment({ vehicle, caller, confidence, foundConfidence, reports: reports.length })
        return
      }
      if (found.estimate !== null && found.low !== null && found.high !== null) {
        t.ok(found.low <= found.estimate && found.estimate <= found.high, label)
      }
    }
  }
  t.equal(methods.size, 3, 'every outcome occurred')
  t.ok(mostComparables > 200, 'there were more candidates than are used')
})

const golf: Vehicle = { manufacturer: 'VW', model: 'Golf', year: 2015, mileage: 90_000, lat: 48, lng: 11 }
let made = 0
/** A report on the same vehicle. */
const about = (userId: string, price: number, more: Partial<StoredReport> = {}): StoredReport => ({
  ...golf,
  id: `00000000-0000-4000-9000-${String(++made).padStart(12, '0')}`,
  userId,
  cents: price * 100,
  status: 'approved',
  ...more,
})
const user = (n: number): string => users[n] ?? ann

t.test('reports -> valuation', async (t) => {
  const none = { estimate: null, low: null, high: null, currency: 'EUR', confidence: 0 }
  const few = 'none: fewer than 3 comparable reports'
  const three = [about(user(1), 9000), about(user(2), 10_000), about(user(3), 12_000)]
  const rows: readonly (readonly [label: string, reports: readonly StoredReport[], valuation: object])[] = [
    ['none', [], { ...none, comparables: 0, method: few }],
    ['two', three.slice(0, 2), { ...none, comparables: 2, method: few }],
    ['three', three, { estimate: 10_000, low: 9000, high: 12_000, currency: 'EUR', comparables: 3 }],
    ['four: the middle', [...three, about(user(4), 11_000)], { estimate: 10_500, low: 9500, high: 11_500 }],
    ['an outlier', [...three, about(user(4), 10_500), about(user(5), 99_000_000)], { estimate: 10_500, high: 12_000 }],
    ['two pending', [...three, about(user(4), 1, { status: 'pending' })], { estimate: 10_000, comparables: 3 }],
    ['one rejected', [...three, about(user(4), 1, { status: 'rejected' })], { estimate: 10_000, comparables: 3 }],
    ['their own', [...three, about(ann, 1), about(ann, 2)], { estimate: 10_000, comparables: 3 }],
    ['only their own', [about(ann, 1), about(ann, 2), about(ann, 3)], { ...none, comparables: 0, method: few }],
    [
      'two reporters',
      [about(user(1), 1), about(user(1), 2), about(user(2), 3)],
      { ...none, comparables: 3, method: 'none: comparable reports of fewer than 3 reporters' },
    ],
    ['another model', [...three.slice(1), about(user(1), 1, { model: 'Golf Plus' })], { ...none, comparables: 2 }],
    [
      'free of charge',
      [about(user(1), 0), about(user(2), 0), about(user(3), 0)],
      { estimate: 0, low: 0, high: 0, confidence: 0.5 },
    ],
    [
      'the closer year counts more',
      [...three, ...[1, 2, 3, 4].map((n) => about(user(n), 1000, { year: 1990 }))],
      { estimate: 10_000 },
    ],
    [
      'the closer mileage counts more',
      [...three, ...[1, 2, 3, 4].map((n) => about(user(n), 1000, { mileage: 900_000 }))],
      { estimate: 10_000 },
    ],
    [
      'the closer place counts more',
      [...three, ...[1, 2, 3, 4].map((n) => about(user(n), 1000, { lat: -40, lng: -70 }))],
      { estimate: 10_000 },
    ],
    [
      'across the date line is near',
      [
        ...[1, 2, 3].map((n) => about(user(n), 5000, { lat: 0, lng: 179.9 })),
        ...[1, 2, 3].map((n) => about(user(n), 9000, { lat: 0, lng: 90 })),
      ],
      { low: 5000, estimate: 5000, high: 5000 },
    ],
  ]
  for (const [label, reports, valuation] of rows) {
    await store(reports)
    const found = await valued(label.includes('date line') ? { ...golf, lat: 0, lng: -179.9 } : golf)
    t.match(found, valuation, label)
    if (found.estimate === null) t.strictSame([found.low, found.high, found.confidence], [null, null, 0], label)
  }
})

t.test('no single reporter decides an estimate', async (t) => {
  const others = [9000, 10_000, 11_000, 12_000].map((price, n) => about(user(n + 2), price, { lat: 40, year: 2012 }))
  const manyAtTheSpot = Array.from({ length: 40 }, (_, n) => about(user(1), 500_000 + n))
  await store([...others, ...manyAtTheSpot])
  t.match(await valued(golf), { estimate: 12_000, low: 10_000, comparables: 44 })
  await store([...others, about(user(1), 1)])
  t.match(await valued(golf), { estimate: 9000 }, 'the price of a single vehicle nearby is not disclosed')
})

t.test('a report includes its valuation by the reports of others', async (t) => {
  const mine = about(ann, 1, { status: 'pending' })
  await store([about(user(1), 9000), about(user(2), 10_000), about(user(3), 12_000), mine, about(ann, 2)])
  const text = 'select public.valuation(report) as value from public.reports report where id = $1'
  const wanted = { estimate: 10_000, comparables: 3 }
  t.match(await as('authenticated', { sub: ann }, text, [mine.id]), wanted)
  t.match(await as('service_role', {}, text, [mine.id]), wanted)

  const forged = 'select public.valuation(jsonb_populate_record(null::public.reports, $1)) as value'
  const record = JSON.stringify({ ...golf, user_id: user(1) })
  t.match(
    await as('authenticated', { sub: ann }, forged, [record]),
    wanted,
    'users cannot learn the effect of excluding another reporter',
  )
  t.match(await as('authenticated', { sub: ann, app_role: 'admin' }, forged, [record]), { comparables: 3, low: 2 })
})

t.test('invalid vehicles', async (t) => {
  const rows: readonly (readonly [Partial<Vehicle> | Readonly<Record<string, unknown>>])[] = [
    [{ manufacturer: null }],
    [{ manufacturer: '' }],
    [{ model: 'x'.repeat(101) }],
    [{ year: 1885 }],
    [{ year: null }],
    [{ mileage: -1 }],
    [{ mileage: 2_000_001 }],
    [{ mileage: null }],
    [{ lat: 'NaN' }],
    [{ lat: 91 }],
    [{ lng: 'Infinity' }],
  ]
  for (const [wrong] of rows) {
    await t.rejects(valued({ ...golf, ...wrong }), { code: '22003' }, JSON.stringify(wrong))
  }
  await t.rejects(as('anon', {}, "select public.estimate_report('a', 'b', 2000, 1, 1, 1) as value", []), {
    code: '42501',
  })
})

t.test('the longest possible names fit into the index', async (t) => {
  // NFKC turns this character into eighteen.
  const name = '\ufdfa'.repeat(100)
  await store([1, 2, 3].map((n) => about(user(n), 1000 * n, { manufacturer: name, model: name })))
  t.match(await valued({ ...golf, manufacturer: name, model: name }), { estimate: 2000 })
})
