// Valuations: the SQL compared with a reference on random data, and consequences of the rules.
import pg from 'pg'
import t from 'tap'
import { createMigratedDatabase } from '../support/database.ts'
import { seededRandom, testSeed, type Random } from '../support/seeded-random.ts'
import {
  rounded,
  valuationOf,
  type StoredReport,
  type Valuation,
  type Vehicle,
} from '../support/valuation-reference.ts'

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
  const seed = testSeed()
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
  cents: Math.round(price * 100),
  status: 'approved',
  ...more,
})
const user = (n: number): string => users[n] ?? ann

t.test('reports -> valuation', async (t) => {
  const none = { estimate: null, low: null, high: null, currency: 'EUR', confidence: 0 }
  const few = 'none: fewer than 5 comparable reports'
  const five = [9000, 9500, 10_000, 11_000, 12_000].map((price, n) => about(user(n + 1), price))
  const others = [1, 2, 3, 4, 5, 6].map(user)
  const rows: readonly (readonly [label: string, reports: readonly StoredReport[], valuation: object])[] = [
    ['none', [], { ...none, comparables: 0, method: few }],
    ['four', five.slice(0, 4), { ...none, comparables: 4, method: few }],
    ['five', five, { estimate: 10_000, low: 9500, high: 11_000, currency: 'EUR', comparables: 5 }],
    [
      'prices are rounded',
      [9031, 9519.5, 10_121, 11_019, 12_345].map((price, n) => about(user(n + 1), price)),
      { estimate: 10_000, low: 9500, high: 11_000 },
    ],
    ['six: the middle', [...five, about(user(6), 11_000)], { estimate: 10_500, low: 9500, high: 11_000 }],
    ['an outlier', [...five, about(user(6), 99_000_000)], { estimate: 10_500, high: 12_000 }],
    ['two pending', [...five, about(user(6), 1, { status: 'pending' })], { estimate: 10_000, comparables: 5 }],
    ['one rejected', [...five, about(user(6), 1, { status: 'rejected' })], { estimate: 10_000, comparables: 5 }],
    ['their own', [...five, about(ann, 1), about(ann, 2)], { estimate: 10_000, comparables: 5 }],
    ['only their own', [1, 2, 3, 4, 5].map((n) => about(ann, n)), { ...none, comparables: 0, method: few }],
    [
      'four reporters',
      [...five.slice(0, 4), about(user(1), 3)],
      { ...none, comparables: 5, method: 'none: comparable reports of fewer than 5 reporters' },
    ],
    ['another model', [...five.slice(1), about(user(1), 1, { model: 'Golf Plus' })], { ...none, comparables: 4 }],
    ['free of charge', others.map((id) => about(id, 0)), { estimate: 0, low: 0, high: 0, confidence: 0.67 }],
    [
      'the closer year counts more',
      [...five, ...others.map((id) => about(id, 1000, { year: 1990 }))],
      { estimate: 10_000 },
    ],
    [
      'the closer mileage counts more',
      [...five, ...others.map((id) => about(id, 1000, { mileage: 900_000 }))],
      { estimate: 10_000 },
    ],
    [
      'the closer place counts more',
      [...five, ...others.map((id) => about(id, 1000, { lat: -40, lng: -70 }))],
      { estimate: 10_000 },
    ],
    [
      'across the date line is near',
      [
        ...others.map((id) => about(id, 5000, { lat: 0, lng: 179.9 })),
        ...others.map((id) => about(id, 9000, { lat: 0, lng: 90 })),
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

t.test('no price of a report can be found, not even by differences', async (t) => {
  const random = seededRandom(testSeed(7))
  const vehicle = { ...golf, mileage: 90_001 }
  // None is a multiple of any step.
  const prices = [8123.45, 9377.77, 10_111.11, 11_903.21, 13_337.37, 15_551.55, 17_077.07]
  const at = (n: number): Partial<StoredReport> => ({
    year: 2009 + n,
    mileage: 40_000 + 15_000 * n,
    lat: 48 + n / 2,
    lng: 11 - n / 3,
  })
  const all = prices.map((price, n) => about(user(n + 1), price, at(n)))
  const cents = new Set(all.map((report) => report.cents))
  /** What an attacker sees who asks for vehicles at, near and far from every report. */
  const asked = async (): Promise<number[]> => {
    const seen: number[] = []
    for (let question = 0; question < 150; question++) {
      const near = all[random.integer(0, all.length - 1)] ?? vehicle
      const away = random.pick([0, 0, 1, 10])
      const { low, estimate, high } = await valued({
        ...vehicle,
        year: Math.min(2026, near.year + random.integer(-away, away)),
        mileage: Math.max(0, near.mileage + random.integer(-20_000, 20_000) * away),
        lat: near.lat + random.next() * away,
        lng: near.lng - random.next() * away,
      })
      for (const price of [low, estimate, high]) if (price !== null) seen.push(Math.round(price * 100))
    }
    return seen
  }
  // Before and after each report.
  for (let count = 3; count <= all.length; count++) {
    await store(all.slice(0, count))
    const seen = await asked()
    t.equal(seen.length > 0, count >= 5, `${count} reporters`)
    t.strictSame(
      seen.filter((price) => cents.has(price)),
      [],
      'no price of a report',
    )
    t.strictSame(
      seen.filter((price) => price !== rounded(price)),
      [],
      'only rounded prices',
    )
  }
})

t.test('no single reporter decides an estimate', async (t) => {
  const others = [9000, 9500, 10_000, 11_000, 12_000].map((price, n) =>
    about(user(n + 2), price, { lat: 40, year: 2012 }),
  )
  const manyAtTheSpot = Array.from({ length: 40 }, (_, n) => about(user(1), 500_000 + n))
  await store([...others, ...manyAtTheSpot])
  t.match(await valued(golf), { estimate: 12_000, low: 10_000, comparables: 45 })
  await store([...others, about(user(1), 1)])
  t.match(await valued(golf), { estimate: 9000 }, 'the price of a single vehicle nearby is not disclosed')
})

t.test('a report includes its valuation by the reports of others', async (t) => {
  const mine = about(ann, 20, { status: 'pending' })
  const five = [9000, 9500, 10_000, 11_000, 12_000].map((price, n) => about(user(n + 1), price))
  await store([...five, mine, about(ann, 20)])
  const text = 'select public.valuation(report) as value from public.reports report where id = $1'
  const wanted = { estimate: 10_000, comparables: 5 }
  t.match(await as('authenticated', { sub: ann }, text, [mine.id]), wanted)
  t.match(await as('service_role', {}, text, [mine.id]), wanted)

  const forged = 'select public.valuation(jsonb_populate_record(null::public.reports, $1)) as value'
  const record = JSON.stringify({ ...golf, user_id: user(1) })
  t.match(
    await as('authenticated', { sub: ann }, forged, [record]),
    wanted,
    'users cannot learn the effect of excluding another reporter',
  )
  const byAdmin = await as('authenticated', { sub: ann, app_role: 'admin' }, forged, [record])
  t.match(byAdmin, { comparables: 5, low: 9500 })
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
  await store([1, 2, 3, 4, 5].map((n) => about(user(n), 1000 * n, { manufacturer: name, model: name })))
  t.match(await valued({ ...golf, manufacturer: name, model: name }), { estimate: 3000 })
})
