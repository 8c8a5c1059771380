// Requests of several accounts, interleaved on connections that they share, while sessions of the server are terminated
// and clients hang up: no account sees, changes or writes reports of another one, and no report is stored twice.
import t, { type Test } from 'tap'
import { detailsOf, signUp, type SignedIn } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { countSharedRuns, trustAllStatements } from '../support/sharing.ts'
import { until } from '../support/until.ts'

trustAllStatements()
const shared = countSharedRuns()
const database = await createMigratedDatabase()
t.teardown(database.drop)
const counter = await countRoundTrips(t, database.authenticatorUri)
const { url, call } = await startApplication(t, counter.uri, {
  SESSION_SECRETS: 's'.repeat(32),
  PGRST_DB_POOL: '4',
  PGRST_DB_POOL_ACQUISITION_TIMEOUT: '100',
})

const seed = testSeed()
const random = seededRandom(seed)

type Owner = SignedIn & { readonly ownId: string }
const report = { manufacturer: 'Opel', year: 2001, mileage: 90_000, price: 3000, lat: 48, lng: 11 }

async function createOwner(name: string): Promise<Owner> {
  const account = await signUp(call, `${name}@example.org`)
  const created = await account.call('POST', '/report', { body: { ...report, model: `${name} first` } })
  return { ...account, ownId: detailsOf<{ id: string }>(created).id }
}

const owners: readonly [Owner, ...Owner[]] = [
  await createOwner('ann'),
  await createOwner('bob'),
  await createOwner('eve'),
]
const ownerOf = (model: string): Owner | undefined =>
  owners.find(({ email }) => email.startsWith(`${model.split(' ')[0]}@`))

type Reported = { readonly id: string; readonly userId: string; readonly model: string; readonly price: number }
type Outcome = { readonly status: number; readonly details: unknown }

/** Sends a request; undefined when its client has hung up. */
async function send(
  owner: Owner,
  method: string,
  path: string,
  body: unknown,
  hangsUp: boolean,
): Promise<Outcome | undefined> {
  const client = new AbortController()
  if (hangsUp) setTimeout(() => client.abort(), random.below(20))
  try {
    const response = await fetch(url + path, {
      method,
      headers: { Cookie: owner.cookie, ...(body === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: client.signal,
    })
    return { status: response.status, details: ((await response.json()) as { readonly details?: unknown }).details }
  } catch (error) {
    if (client.signal.aborted) return undefined
    throw error
  }
}

const acknowledged = new Set<string>()
let written = 0

/** One request of an account, and whether what comes back is its own. Gives the status. */
async function act(t: Test, owner: Owner, hangsUp: boolean): Promise<number | undefined> {
  const [name = ''] = owner.email.split('@')
  const other = random.pick(owners)
  const isOwn = (it: Reported): boolean => it.userId === owner.id && it.model.startsWith(`${name} `)
  switch (random.below(8)) {
    case 0: {
      // Another one's report is not there.
      const outcome = await send(owner, 'GET', `/report/${other.ownId}`, undefined, hangsUp)
      if (outcome?.status === 200) t.ok(other === owner && isOwn(outcome.details as Reported), `${name} reads a report`)
      if (outcome?.status === 404) t.not(other, owner, `${name} finds the own report`)
      return outcome?.status === 404 ? 200 : outcome?.status
    }
    case 1: {
      // The price tells whose change it was.
      const price = 1000 + owners.indexOf(owner)
      const outcome = await send(owner, 'PATCH', `/report/${other.ownId}`, { price }, hangsUp)
      if (outcome?.status === 200)
        t.ok(other === owner && isOwn(outcome.details as Reported), `${name} changes a report`)
      return outcome?.status === 404 && other !== owner ? 200 : outcome?.status
    }
    case 2: {
      const outcome = await send(owner, 'GET', '/auth/me', undefined, hangsUp)
      if (outcome?.status === 200) t.match(outcome.details, { id: owner.id, email: owner.email })
      return outcome?.status
    }
    case 3:
    case 4: {
      const outcome = await send(owner, 'GET', '/report', undefined, hangsUp)
      if (outcome?.status === 200) {
        const listed = outcome.details as readonly Reported[]
        t.ok(listed.length > 0 && listed.every(isOwn), `${name} lists ${listed.length} reports`)
      }
      return outcome?.status
    }
    default: {
      const model = `${name} ${++written}`
      const outcome = await send(owner, 'POST', '/report', { ...report, model }, hangsUp)
      if (outcome?.status === 201) {
        t.match(outcome.details, { model, userId: owner.id })
        acknowledged.add(model)
      }
      return outcome?.status === 201 ? 200 : outcome?.status
    }
  }
}

const wave = (t: Test, size: number, hangUps: number): Promise<(number | undefined)[]> =>
  Promise.all(Array.from({ length: size }, () => act(t, random.pick(owners), random.chance(hangUps))))

/** Terminates all sessions of the service: those of the pool, the listener's, and that which keeps the gates. */
const terminate = (): Promise<unknown> =>
  database.query(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and usename = 'authenticator'`)

async function checkRows(t: Test): Promise<void> {
  const { rows } = await database.query(
    'select user_id, model, price::float8 as price, count(*)::int as times from public.reports group by 1, 2, 3',
  )
  const stored = new Map(rows.map((row) => [String(row.model), row]))
  t.equal(stored.size, rows.length)
  for (const [model, { user_id: user, price, times }] of stored) {
    const owner = ownerOf(model)
    t.equal(user, owner?.id, `${model} is of its owner`)
    t.equal(times, 1, `${model} is stored once`)
    const prices = [report.price, 1000 + owners.findIndex((it) => it === owner)]
    t.ok(prices.includes(Number(price)), `${model} has a price of its owner`)
  }
  for (const model of acknowledged) t.ok(stored.has(model), `${model} was acknowledged, and is stored`)
}

t.test('without faults every request succeeds', async (t) => {
  // Opens the connections and the gates.
  await wave(t, 40, 0)
  counter.take()
  const before = { ...shared }
  const size = 200
  t.strictSame(new Set(await wave(t, size, 0)), new Set([200]))
  t.comment(`${counter.take()} round trips for ${size} requests, which take two to six each`)
  // How many of them share depends on the speed of the machine, but some do on any.
  const sharing = (): boolean =>
    shared.reads > before.reads && shared.writes > before.writes && shared.behind > before.behind
  t.ok(await until(async () => sharing() || (await wave(t, 50, 0), false)), 'accounts share connections')
  t.comment(`${JSON.stringify(before)} shared before, ${JSON.stringify(shared)} after`)
  await checkRows(t)
})

t.test('with faults requests fail, and nothing else', async (t) => {
  const { reads } = shared
  for (let round = 0; round < 3; round++) {
    const running = wave(t, 300, 0.2)
    await until(() => counter.take() > 0)
    await terminate()
    const statuses = await running
    t.strictSame(
      statuses.filter((status) => status !== undefined && status !== 200 && status < 500),
      [],
      'no client is told that it did something wrong',
    )
    await checkRows(t)
  }
  // Writes have connections of their own for some seconds once the gates were lost.
  const sharesAgain = async (): Promise<boolean> => {
    if (shared.reads === reads) await wave(t, 50, 0)
    return shared.reads > reads
  }
  t.ok(await until(sharesAgain), 'reads share connections meanwhile, or again')
})

t.test('after the faults every request succeeds again', async (t) => {
  t.ok(await until(async () => (await send(owners[0], 'GET', '/report', undefined, false))?.status === 200))
  t.strictSame(new Set(await wave(t, 200, 0)), new Set([200]))
  await checkRows(t)
})
