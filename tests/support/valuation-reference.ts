// A simple reference implementation of the valuation, in memory. The SQL is compared with it.

export type Vehicle = {
  readonly manufacturer: string
  readonly model: string
  readonly year: number
  readonly mileage: number
  readonly lat: number
  readonly lng: number
}

export type StoredReport = Vehicle & {
  readonly id: string
  readonly userId: string
  readonly cents: number
  readonly status: 'pending' | 'approved' | 'rejected'
}

export type Valuation = {
  readonly estimate: number | null
  readonly low: number | null
  readonly high: number | null
  readonly currency: 'EUR'
  readonly comparables: number
  readonly confidence: number
  readonly method: string
}

const name = (text: string): string => text.normalize('NFKC').toLowerCase().replaceAll(/\s/g, '').slice(0, 100)
const isSame = (one: Vehicle, other: Vehicle): boolean =>
  name(one.manufacturer) === name(other.manufacturer) && name(one.model) === name(other.model)

const sum = (numbers: readonly number[]): number => numbers.reduce((total, it) => total + it, 0)
const compare = <T>(one: T, other: T): number => (one < other ? -1 : one > other ? 1 : 0)

/** The nearest in mileage of each model year, on either side, more of them for closer years. */
function candidates(vehicle: Vehicle, caller: string, reports: readonly StoredReport[]): readonly StoredReport[] {
  const approved = reports.filter((report) => report.status === 'approved' && isSame(report, vehicle))
  return [...new Set(approved.map(({ year }) => year))].flatMap((year) => {
    const most = Math.ceil(50 / (1 + Math.abs(year - vehicle.year)))
    const ofYear = approved
      .filter((report) => report.year === year)
      .sort((one, other) => compare(one.mileage, other.mileage) || compare(one.id, other.id))
    const nearest = (side: readonly StoredReport[]): readonly StoredReport[] =>
      side
        .slice(0, 4 * most)
        .filter(({ userId }) => userId !== caller)
        .slice(0, most)
    return [
      ...nearest(ofYear.filter(({ mileage }) => mileage >= vehicle.mileage)),
      ...nearest(ofYear.filter(({ mileage }) => mileage < vehicle.mileage).reverse()),
    ]
  })
}

const radians = (degrees: number): number => degrees * (Math.PI / 180)

function kilometres(one: Vehicle, other: Vehicle): number {
  const north = Math.sin(radians(one.lat - other.lat) / 2)
  const east = Math.sin(radians(one.lng - other.lng) / 2)
  const chord = north * north + Math.cos(radians(other.lat)) * Math.cos(radians(one.lat)) * east * east
  return 2 * 6371 * Math.asin(Math.min(1, Math.sqrt(chord)))
}

/** In billionths; 1 for a vehicle with the same values. */
function closeness(report: StoredReport, vehicle: Vehicle): number {
  const years = (report.year - vehicle.year) / 2
  const driven = (report.mileage - vehicle.mileage) / 30_000
  const distance = kilometres(report, vehicle) / 250
  return Math.floor(0.5 + 1e9 / ((1 + years * years) * (1 + driven * driven) * (1 + distance * distance)))
}

/** Cents, to a step of 2 to 5 percent, and at least ten euros. */
export function rounded(cents: number): number {
  const power = 100 * 10 ** (String(Math.trunc(cents / 100)).length - 1)
  const fraction = cents < 2 * power ? 0.05 : cents < 5 * power ? 0.1 : 0.25
  const step = Math.max(1000, power * fraction)
  return Math.round(cents / step) * step
}

export function valuationOf(vehicle: Vehicle, caller: string, reports: readonly StoredReport[]): Valuation {
  const comparables = candidates(vehicle, caller, reports)
  const count = comparables.length
  const byReporter = new Map<string, StoredReport[]>()
  for (const report of comparables) {
    byReporter.set(report.userId, [...(byReporter.get(report.userId) ?? []), report])
  }
  const reporters = byReporter.size
  if (count < 5 || reporters < 5) {
    const method =
      count < 5 ? 'none: fewer than 5 comparable reports' : 'none: comparable reports of fewer than 5 reporters'
    return { estimate: null, low: null, high: null, currency: 'EUR', comparables: count, confidence: 0, method }
  }

  const shares = new Map(
    Array.from(byReporter, ([user, theirs]) => [user, Math.max(1, sum(theirs.map((it) => closeness(it, vehicle))))]),
  )
  const total = sum([...shares.values()])
  const largest = Math.max(...shares.values()) / total
  const mixed = largest > 0.4 ? (largest - 0.4) / (largest - 1 / reporters) : 0
  const weighed = comparables
    .map((report) => {
      const equal = mixed / (reporters * (byReporter.get(report.userId)?.length ?? 0))
      const share = (1 - mixed) * (closeness(report, vehicle) / total) + equal
      return { id: report.id, cents: report.cents, weight: BigInt(Math.max(1, Math.floor(0.5 + 1e12 * share))) }
    })
    .sort((one, other) => one.cents - other.cents || compare(one.id, other.id))

  const whole = weighed.reduce((all, { weight }) => all + weight, 0n)
  const quartile = (quarters: bigint): number => {
    let reached = 0n
    for (const [index, { cents, weight }] of weighed.entries()) {
      reached += weight
      const next = weighed[index + 1]?.cents ?? cents
      if (4n * reached === quarters * whole) return rounded((rounded(cents) + rounded(next)) / 2) / 100
      if (4n * reached > quarters * whole) return rounded(cents) / 100
    }
    throw new Error('less than all of the weight')
  }
  const [low, estimate, high] = [quartile(1n), quartile(2n), quartile(3n)]
  const similar = total / 1e9 / (total / 1e9 + 3)
  const confidence = high === 0 ? similar : (similar * estimate) / (estimate + high - low)
  const method = 'weighted median of comparable reports'
  return { estimate, low, high, currency: 'EUR', comparables: count, confidence, method }
}
