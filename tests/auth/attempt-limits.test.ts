// Limits on sign-in attempts, and that a flood of sign-ins leaves capacity for other requests.
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createPasswords } from '../../server/services/accounts/password.ts'
import { clientNetwork, networkOf } from '../../server/http/client-address.ts'
import { password, signUp } from '../support/account.ts'
import type { Answer, Call } from '../support/call.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const limits = { accountLimit: 3, accountTotalLimit: 8, addressLimit: 6, trustedProxies: 1 }
/** Two processes, as far as the database is concerned. */
const [one, two] = [
  await startService(t, database.authenticatorUri, limits),
  await startService(t, database.authenticatorUri, limits),
]

const tooMany = { status: 'fail', statusCode: 429, message: 'Too many attempts: try again later' }
/** Forgets all counts, also what the processes remember of them for a moment. */
async function forget(): Promise<void> {
  await database.query('delete from rowhouse_limits.buckets')
  await pause(300)
}
/** The attempts that are left, rounded, by the names of the limits. */
async function left(): Promise<string[]> {
  const { rows } = await database.query(
    `select subject::json ->> 0 || ' ' || round(remaining) as text from rowhouse_limits.buckets order by 1`,
  )
  return rows.map(({ text }) => String(text))
}
const guess = (call: Call, email: string, address = '192.0.2.1', secret = 'wrong'): Promise<Answer> =>
  call('POST', '/auth/signin', { body: { email, password: secret }, headers: { 'X-Forwarded-For': address } })
const statuses = async (t: Test, ...requests: (() => Promise<Answer>)[]): Promise<number[]> => {
  const found: number[] = []
  for (const request of requests) {
    const answer = await request()
    found.push(answer.status)
    if (answer.status !== 429) continue
    t.strictSame(answer.body, tooMany)
    const seconds = Number(answer.headers.get('retry-after'))
    t.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 900, `Retry-After: ${seconds}`)
  }
  return found
}

for (const email of ['ann', 'bob', 'carol', 'dora', 'eve']) {
  await one.call('POST', '/auth/signup', {
    body: { email: `${email}@example.org`, firstName: email, password },
    headers: { 'X-Forwarded-For': `198.51.100.${email.length}, 198.51.100.${email.charCodeAt(0)}` },
  })
}

t.test('an attacker who guesses passwords locks out only their own network', async (t) => {
  await forget()
  t.strictSame(
    await statuses(
      t,
      () => guess(one.call, 'ann@example.org', '192.0.2.71'),
      () => guess(two.call, 'Ann@Example.org', '192.0.2.71'),
      () => guess(one.call, ' ann@example.org', '192.0.2.71'),
      () => guess(two.call, 'ann@example.org', '192.0.2.71'),
      () => guess(one.call, 'ann@example.org', '192.0.2.71', password),
      () => guess(two.call, 'ann@example.org', '192.0.2.79', password),
      () => guess(one.call, 'bob@example.org', '192.0.2.71', password),
    ),
    [401, 401, 401, 429, 429, 200, 200],
    'the owner can sign in from another network, and others from that of the attacker',
  )
  const more = Array.from({ length: 20 }, () => () => guess(one.call, 'ann@example.org', '192.0.2.71'))
  t.strictSame(await statuses(t, ...more), Array<number>(20).fill(429))
  t.strictSame(
    await statuses(t, () => guess(two.call, 'ann@example.org', '192.0.2.79', password)),
    [200],
    'refused guesses do not count for the account',
  )
  await database.query(`update rowhouse_limits.buckets set changed_at = changed_at - interval '15 minutes'`)
  await pause(300)
  t.strictSame(
    await statuses(t, () => guess(two.call, 'ann@example.org', '192.0.2.71', password)),
    [200],
    'after the period',
  )
})

t.test('an IPv6 /64 network counts as one address', async (t) => {
  await forget()
  const from = (n: number) => () => guess(n % 2 ? one.call : two.call, 'ann@example.org', `2001:db8:1:2::${n + 1}`)
  t.strictSame(await statuses(t, from(0), from(1), from(2), from(3), from(4)), [401, 401, 401, 429, 429])
  t.strictSame(
    await statuses(
      t,
      () => guess(one.call, 'ann@example.org', '2001:db8:1:2:ffff::1', password),
      () => guess(one.call, 'ann@example.org', '2001:db8:1:3::1', password),
    ),
    [429, 200],
  )
})

/** As many wrong passwords as an account allows, from as many networks. */
const distributed = (email: string, count: number, secret?: string) =>
  Array.from({ length: count }, (_, n) => () => guess(n % 2 ? one.call : two.call, email, `203.0.113.${n + 1}`, secret))

t.test('guesses from many networks reach the limit of the account', async (t) => {
  await forget()
  t.strictSame(
    await statuses(t, ...distributed('ann@example.org', 10)),
    [...Array<number>(8).fill(401), 429, 429],
    'across all processes',
  )
  t.strictSame(await statuses(t, () => guess(one.call, 'ann@example.org', '198.51.100.9', password)), [429])
  t.strictSame(await statuses(t, () => guess(one.call, 'bob@example.org', '203.0.113.1', password)), [200])
})

t.test('an unknown address gets the same responses as an existing account', async (t) => {
  for (const email of ['ann@example.org', 'nobody@example.org']) {
    await forget()
    const near = Array.from({ length: 5 }, () => () => guess(one.call, email, '192.0.2.61'))
    t.strictSame(await statuses(t, ...near), [401, 401, 401, 429, 429], email)
    t.strictSame(await statuses(t, ...distributed(email, 7)), [...Array<number>(5).fill(401), 429, 429], email)
    t.strictSame(
      (await left()).filter((it) => !it.startsWith('guess-address')),
      ['guess-account 0', 'guess-pair 0', ...Array<string>(7).fill('guess-pair 2')],
      `${email}: the same counts`,
    )
  }
})

t.test('wrong passwords from one address are counted across all accounts', async (t) => {
  await forget()
  const requests = Array.from(
    { length: 8 },
    (_, n) => () => guess(n % 2 ? one.call : two.call, `n${n}@example.org`, '192.0.2.1'),
  )
  t.strictSame(await statuses(t, ...requests), [401, 401, 401, 401, 401, 401, 429, 429])
  t.strictSame(
    await statuses(
      t,
      () => guess(one.call, 'carol@example.org', '192.0.2.1', password),
      () => guess(one.call, 'carol@example.org', '192.0.2.2', password),
      () => guess(one.call, 'carol@example.org', 'made up, 192.0.2.1', password),
      () => guess(one.call, 'carol@example.org', '192.0.2.1, 192.0.2.3', password),
    ),
    [429, 200, 429, 200],
    'entries before that of the trusted proxy are ignored',
  )
})

t.test('attempts refused by the address limit do not count for the account', async (t) => {
  await forget()
  const requests = Array.from({ length: 6 }, (_, n) => () => guess(one.call, `m${n}@example.org`, '192.0.2.7'))
  await statuses(t, ...requests)
  const refused = Array.from({ length: 5 }, () => () => guess(one.call, 'dora@example.org', '192.0.2.7'))
  t.strictSame(await statuses(t, ...refused), [429, 429, 429, 429, 429])
  t.strictSame(await statuses(t, () => guess(one.call, 'dora@example.org', '192.0.2.8', password)), [200])
})

t.test('correct passwords are not counted', async (t) => {
  await forget()
  const requests = Array.from({ length: 12 }, () => () => guess(one.call, 'bob@example.org', '192.0.2.1', password))
  t.strictSame(await statuses(t, ...requests), Array<number>(12).fill(200))
})

t.test('concurrent wrong passwords cannot bypass the limit', async (t) => {
  await forget()
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => guess(n % 2 ? one.call : two.call, 'eve@example.org', `192.0.2.${n + 1}`)),
  )
  t.equal(answers.filter(({ status }) => status === 401).length, 8)
  t.equal(answers.filter(({ status }) => status === 429).length, 12)
  await forget()
  const near = await Promise.all(
    Array.from({ length: 20 }, (_, n) => guess(n % 2 ? one.call : two.call, 'eve@example.org', '192.0.2.81')),
  )
  t.equal(near.filter(({ status }) => status === 401).length, 3)
})

t.test('the limit applies to every route that checks a password', async (t) => {
  await forget()
  const user = await signUp(one.call, 'fay@example.org')
  const change = (current: string) => () =>
    user.call('PATCH', '/auth/me', { body: { currentPassword: current, email: 'fay@example.org' } })
  const remove = (secret: string) => () => user.call('DELETE', '/auth/me', { body: { password: secret } })
  t.strictSame(
    await statuses(t, change(password), change('a'), remove('b'), change('c'), change(password), remove(password)),
    [200, 403, 403, 403, 429, 429],
  )
  t.strictSame(
    (await left()).filter((it) => it.startsWith('guess-pair')),
    ['guess-pair 0'],
    'one count for all routes',
  )
})

t.test('registrations are counted by address and by e-mail', async (t) => {
  await forget()
  const register = (email: string, address: string) => () =>
    one.call('POST', '/auth/signup', {
      body: { email, firstName: 'R', password },
      headers: { 'X-Forwarded-For': address },
    })
  const byAddress = Array.from({ length: 7 }, (_, n) => register(`r${n}@example.org`, '192.0.2.1'))
  t.strictSame(await statuses(t, ...byAddress), [201, 201, 201, 201, 201, 201, 429])
  const byEmail = Array.from({ length: 7 }, (_, n) => register('same@example.org', `192.0.2.${n + 10}`))
  t.strictSame(await statuses(t, ...byEmail), [201, 409, 409, 409, 409, 409, 429])
  t.equal(
    (await guess(one.call, 'same@example.org', '192.0.2.1', password)).status,
    200,
    'sign-ins are counted separately',
  )
  const invalid = await one.call('POST', '/auth/signup', { body: {}, headers: { 'X-Forwarded-For': '192.0.2.50' } })
  t.equal(invalid.status, 400)
})

t.test('limits that are too high to count are no limits', async (t) => {
  const [accountLimit, accountTotalLimit, addressLimit] = [1e12, 1e15, 1e300]
  const { call } = await startService(t, database.authenticatorUri, { accountLimit, accountTotalLimit, addressLimit })
  t.strictSame(
    await statuses(t, ...Array.from({ length: 20 }, () => () => guess(call, 'ann@example.org'))),
    Array<number>(20).fill(401),
  )
})

t.test('the stored counts contain no address', async (t) => {
  const { rows } = await database.query('select subject from rowhouse_limits.buckets')
  t.ok(rows.length > 0)
  for (const { subject } of rows)
    t.match(subject, /^\["(guess|register)-(address|pair|account)",\d+,900,"[\w-]{43}"\]$/)
})

t.test('networks: address -> counted network', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['203.0.113.7', '203.0.113.7'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['203.0.113.7:5000', '203.0.113.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:0DB8:0001:0002::9', '2001:db8:1:2'],
    ['[2001:db8::1]:443', '2001:db8:0:0'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['::1', '0:0:0:0'],
    ['1::', '1:0:0:0'],
    ['fe80::1%eth0', 'fe80:0:0:0'],
    ['64:ff9b::203.0.113.7', '64:ff9b:0:0'],
    ['999.1.1.1', '999.1.1.1'],
    ['unknown', 'unknown'],
    ['x'.repeat(5000), 'x'.repeat(100)],
  ]
  for (const [address, network] of rows) t.equal(networkOf(address), network, address.slice(0, 50))
  t.end()
})

t.test('proxies: trusted proxies, X-Forwarded-For -> counted address', (t) => {
  const rows: readonly (readonly [number, string | undefined, string])[] = [
    [0, '192.0.2.1', 'local'],
    [1, undefined, 'local'],
    [1, '192.0.2.1', '192.0.2.1'],
    [1, '192.0.2.9, 192.0.2.1', '192.0.2.1'],
    [2, '192.0.2.9, 192.0.2.1', '192.0.2.9'],
    [3, '192.0.2.9, 192.0.2.1', '192.0.2.9'],
    [1, ' , ,192.0.2.1,, ', '192.0.2.1'],
    [1, '', 'local'],
  ]
  for (const [trusted, forwarded, network] of rows) {
    const request = new IncomingMessage(new Socket())
    if (forwarded !== undefined) request.headers['x-forwarded-for'] = forwarded
    t.equal(clientNetwork(request, trusted), network, `${trusted} ${forwarded}`)
  }
  t.end()
})

t.test('a flood of sign-ins does not starve other requests', async (t) => {
  const { call } = await startService(t, database.authenticatorUri, { passwords: createPasswords() })
  const user = await signUp(call, 'gil@example.org')
  let pending = 160
  const flood = Array.from({ length: 160 }, async (_, n) => {
    const answer = await guess(call, `f${n}@example.org`)
    pending--
    return answer
  })
  t.ok(await until(() => pending < 160))
  for (let n = 0; n < 4; n++) t.equal((await user.call('GET', '/auth/me')).status, 200)
  // Queued behind the hashes, the first request would have been answered after all of them.
  t.ok(pending > 0, `${pending} sign-ins are still pending`)
  const answers = await Promise.all(flood)
  const refused = answers.filter(({ status }) => status === 429)
  t.equal(answers.filter(({ status }) => status === 401).length + refused.length, 160)
  t.ok(refused.length > 0 && refused.length < 160, `${refused.length} were refused`)
  for (const { headers, body } of refused) {
    t.match(headers.get('retry-after'), /^\d+$/)
    t.match(body, { status: 'fail', statusCode: 429 })
  }
})
