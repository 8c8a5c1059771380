// A report service that looks up sessions together with the first statement responds like one that looks them up first.
// `SEED=` repeats a run.
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { signCookie, verifyCookie } from '../../server/http/cookie.ts'
import { signUp, type SignedIn } from '../support/account.ts'
import type { Answer, Call } from '../support/call.ts'
import { createMigratedDatabase, type MigratedDatabase } from '../support/database.ts'
import { seededRandom, type Random, testSeed } from '../support/seeded-random.ts'
import { secrets, startService } from '../support/service.ts'

const seed = testSeed()
const requests = Number(process.env.REQUESTS ?? 500)
const day = 24 * 60 * 60
const names = ['ann', 'bob', 'eve'] as const

/** One of two services, on a database of its own. */
type Side = { readonly database: MigratedDatabase; readonly call: Call; readonly users: readonly SignedIn[] }

async function startSide(t: Pick<Test, 'teardown'>, findsSessionsFirst: boolean): Promise<Side> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  const { call } = await startService(t, database.authenticatorUri, { findsSessionsFirst })
  const users: SignedIn[] = []
  for (const name of names) users.push(await signUp(call, `${name}@example.org`))
  await database.query("update auth.users set app_role = 'admin' where email = 'eve@example.org'")
  return { database, call, users }
}

const sides = [await startSide(t, true), await startSide(t, false)] as const

/** What a request sends, apart from ids, which differ between the databases. */
type Attempt = {
  readonly method: string
  readonly path: (side: Side) => string
  readonly cookie: (side: Side) => string
  readonly body: unknown
}

const idOf = (cookie: string): string => {
  const [, text = ''] = /^session=([^;]*)/.exec(cookie) ?? []
  const verified = verifyCookie('session', text, secrets, 0)
  if (verified.kind !== 'valid') throw new Error('the cookie of an account is not valid')
  return verified.value.id
}

/** @param expires seconds since 1970 */
const cookieOf = (id: string, expires: number, signers: readonly string[] = secrets): string =>
  `session=${signCookie('session', { id, expires }, signers)}`

function generatedCookie({ below, pick, chance }: Random): (side: Side) => string {
  const [own, other] = [below(names.length), below(names.length)]
  // The same second for both sides.
  const now = Math.floor(Date.now() / 1000)
  const lasting =
    (at: number, lasts: number, signers: readonly string[] = secrets) =>
    ({ users }: Side): string =>
      cookieOf(idOf(users[at]?.cookie ?? ''), now + lasts, signers)
  const usual = lasting(own, 13 * day)
  if (chance(0.5)) return usual
  const unknown = cookieOf(randomBytes(32).toString('base64url'), now + 8 * day)
  return pick<(side: Side) => string>([
    () => '',
    () => 'session=',
    lasting(own, 8 * day),
    lasting(own, 6 * day),
    lasting(own, 30),
    lasting(own, -30),
    lasting(own, 400 * day),
    lasting(own, 8 * day, [secrets[1], secrets[0]]),
    lasting(own, 8 * day, ['forged'.repeat(8), 'forged'.repeat(8)]),
    () => unknown,
    (side) => `${usual(side)}; ${lasting(other, 9 * day)(side)}`,
    (side) => `${unknown}; ${usual(side)}`,
    (side) => `session=x; ${usual(side)}`,
    (side) => `__Host-${usual(side)}`,
  ])
}

const vehicle = { manufacturer: 'Volvo', model: 'V60', year: 2019, mileage: 40_000, price: 21_000, lat: 59, lng: 18 }

/** The ids of a side's reports, oldest first; those of both sides correspond. */
const reports = new Map<Side, string[]>(sides.map((side) => [side, []]))

function generatedAttempt(random: Random): Attempt {
  const { below, pick, chance } = random
  const at = below(50)
  const known = (side: Side): string => {
    const ids = reports.get(side) ?? []
    return ids[at % Math.max(ids.length, 1)] ?? '00000000-0000-4000-8000-000000000000'
  }
  const body = pick<unknown>([
    vehicle,
    vehicle,
    { ...vehicle, price: below(40_000) },
    {},
    { ...vehicle, year: 'x' },
    [],
    'x',
  ])
  const change = pick<unknown>([{ price: below(40_000) }, { mileage: -1 }, {}, { price: null }])
  const [method, path, sent] = pick<readonly [string, (side: Side) => string, unknown]>([
    ['POST', () => '/report', body],
    ['POST', () => '/report', vehicle],
    ['GET', () => `/report${pick(['', '?limit=2', '?limit=0', '?limit=x', '?cursor=x', '?nothing=1'])}`, undefined],
    ['GET', () => '/report', undefined],
    ['GET', () => '/report/pending', undefined],
    ['GET', () => '/report/estimate?manufacturer=Volvo&model=V60&year=2019&mileage=1&lat=59&lng=18', undefined],
    ['GET', () => '/report/estimate?year=x', undefined],
    ['GET', (side) => `/report/${known(side)}`, undefined],
    ['GET', () => '/report/x', undefined],
    ['PATCH', (side) => `/report/${known(side)}`, change],
    ['PATCH', (side) => `/report/${known(side)}`, { price: 1000 }],
    ['PATCH', (side) => `/report/${known(side)}`, { price: 2000 }],
    ['PATCH', (side) => `/report/${known(side)}/approval`, { approved: chance(0.5) }],
    ['DELETE', (side) => `/report/${known(side)}`, undefined],
  ])
  const fixed = path.length === 0 ? path(sides[0]) : undefined
  return { method, path: fixed === undefined ? path : () => fixed, cookie: generatedCookie(random), body: sent }
}

/** Something that happens to the accounts and sessions between requests. */
const happenings: readonly (readonly [sql: string, usesName: boolean])[] = [
  ["update auth.users set banned_until = now() + interval '1 hour' where email = $1", true],
  ['update auth.users set banned_until = null', false],
  ['update auth.users set banned_until = null', false],
  [
    "update auth.sessions set not_after = now() - interval '1 second' where user_id = (select id from auth.users where email = $1)",
    true,
  ],
  [
    "update auth.sessions set not_after = now() + interval '5 days' where user_id = (select id from auth.users where email = $1)",
    true,
  ],
  ["update auth.sessions set not_after = now() + interval '13 days'", false],
  ["update auth.sessions set not_after = now() + interval '13 days'", false],
  ['update auth.sessions set not_after = null where user_id = (select id from auth.users where email = $1)', true],
  ["update auth.sessions set aal = 'aal2' where user_id = (select id from auth.users where email = $1)", true],
  [`update auth.users set app_role = 'a "quoted" \\ rôle' where email = $1`, true],
  ["update auth.users set app_role = 'admin' where email = $1", true],
  ['update auth.users set app_role = null where email = $1', true],
]

async function happen({ pick }: Random): Promise<void> {
  const [sql, usesName] = pick(happenings as [(typeof happenings)[number], ...typeof happenings])
  const values = usesName ? [`${pick(names)}@example.org`] : []
  for (const { database } of sides) await database.query(sql, values)
}

/** Replaces what differs between the databases: ids, times, and the seconds of cookies. */
const comparable = ({ status, text, headers }: Answer): object => ({
  status,
  text: text
    .replaceAll(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/g, 'id')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)/g, 'time')
    .replaceAll(/"nextCursor":"[\w-]+"/g, '"nextCursor":"cursor"'),
  cookies: headers
    .getSetCookie()
    .map((cookie) => cookie.replace(/^(\w+)=[^;]+/, '$1=value').replace(/Max-Age=\d+/, 'Max-Age')),
  names: [...headers.keys()].filter((name) => name !== 'date'),
})

t.test(`${requests} generated requests, SEED=${seed}`, async (t) => {
  const random = seededRandom(seed)
  const statuses = new Map<number, number>()
  let renewals = 0
  for (let number = 0; number < requests; number++) {
    if (random.chance(0.1)) await happen(random)
    const { method, path, cookie, body } = generatedAttempt(random)
    const answers: Answer[] = []
    for (const side of sides) {
      const sent = cookie(side)
      const headers: Record<string, string> = sent === '' ? {} : { Cookie: sent }
      const answer = await side.call(method, path(side), { headers, ...(body === undefined ? {} : { body }) })
      answers.push(answer)
      if (method === 'POST' && answer.status === 201) {
        reports.get(side)?.push((answer.body as { details: { id: string } }).details.id)
      }
    }
    const [joined, separate] = answers.map(comparable)
    t.strictSame(joined, separate, `${number}: ${method} ${path(sides[0])}`)
    const [answer] = answers
    if (!answer) throw new Error('there is no answer')
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    if (answer.headers.getSetCookie().length > 0) renewals++
  }
  t.comment(JSON.stringify({ statuses: [...statuses].sort(), renewals }))
  for (const status of [200, 201, 400, 401, 403, 404]) t.ok(statuses.has(status), String(status))
  t.ok(renewals > 0, 'some sessions are extended')
  const rows =
    'select price, status, (select email from auth.users where id = user_id) as email from public.reports order by created_at, price'
  const [first, second] = await Promise.all(sides.map(async ({ database }) => (await database.query(rows)).rows))
  t.strictSame(first, second, 'both databases have the same reports')
})

t.test('the claims of a session are the same text either way', async (t) => {
  const texts: unknown[] = []
  for (const { database, call, users } of sides) {
    await database.query(`create table public.seen (claims text);
      grant insert on public.seen to authenticated;
      create function public.note_claims() returns trigger language plpgsql as $$
        begin insert into public.seen values (current_setting('request.jwt.claims') || current_user); return new; end $$;
      create trigger note_claims before insert on public.reports for each row execute function public.note_claims();
      update auth.sessions set not_after = now() + interval '13 days', aal = 'aal1';
      update auth.users set banned_until = null`)
    for (const role of [null, 'admin', 'a "quoted" \\ rôle\u0001\n😀']) {
      await database.query("update auth.users set app_role = $1 where email = 'ann@example.org'", [role])
      const answer = await call('POST', '/report', { body: vehicle, headers: { Cookie: users[0]?.cookie ?? '' } })
      t.equal(answer.status, 201, answer.text)
    }
    const { rows } = await database.query('select claims from public.seen')
    texts.push(rows.map(({ claims }) => String(claims).replace(users[0]?.id ?? '', 'id')))
  }
  t.strictSame(texts[0], texts[1])
  t.match((texts[0] as string[])[0], '{"aal":"aal1","role":"authenticated","sub":"id"}authenticated')
})
