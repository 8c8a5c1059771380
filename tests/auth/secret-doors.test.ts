// Guesses at each door of the secrets that have few bits, and of those of links: they are refused after the number of
// `services/secrets.ts`, whichever addresses of a network they come from, and whichever networks guess at an account.
import t, { type Test } from 'tap'
import { codeGuesses, factorGuesses, secrets } from '../../server/services/secrets.ts'
import { limitedNetworks } from '../../server/http/client-address.ts'
import { newAddress, password, sessionOf, signUp, type AuthAnswer, type Json } from '../support/auth.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { challenge, enroll, verify, codeOfApp, wrongCode, type Factor } from '../support/second-factor.ts'
import { askToken, registerClient } from '../support/oauth-client.ts'
import { signToken } from '../support/token.ts'

/** Limits of the settings, small so that the test is short. */
const [perNetwork, perPair, perAccount] = [4, 2, 6]
const common = {
  ...cookieSettings,
  TRUSTED_PROXIES: '1',
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  AUTH_ADDRESS_LIMIT: String(perNetwork),
  AUTH_ACCOUNT_LIMIT: String(perPair),
  AUTH_ACCOUNT_TOTAL_LIMIT: String(perAccount),
  GOTRUE_RATE_LIMIT_VERIFY: String(perNetwork),
  GOTRUE_RATE_LIMIT_OTP: String(perNetwork),
  GOTRUE_RATE_LIMIT_TOKEN_REFRESH: String(perNetwork),
  GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: String(perNetwork),
  GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
  GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_CURRENT_PASSWORD: 'true',
  GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
  GOTRUE_OAUTH_SERVER_ENABLED: 'true',
}
const { ask, call, database, sink, startAnother } = await startMailingService(t, common)
/** Without limits per network, as behind a proxy that the server does not know. */
const unlimited = await startAnother({
  GOTRUE_RATE_LIMIT_VERIFY: '0',
  GOTRUE_RATE_LIMIT_OTP: '0',
  GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '0',
  GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: '0',
  AUTH_ADDRESS_LIMIT: '100000',
})

let networks = 0
/** Addresses of one network that no other call returns, each in another of the networks within it. */
const shapes: Readonly<Record<string, () => (n: number) => string>> = {
  'an address': () => {
    const address = `203.0.113.${++networks}`
    return () => address
  },
  'a /64': () => {
    const network = `2001:db8:${(++networks).toString(16)}:77`
    return (n) => `${network}:${(n * 771).toString(16)}:1:2:3`
  },
  'a /56': () => {
    const network = `2001:db8:${(++networks).toString(16)}`
    return (n) => `${network}:${(0x4200 + n).toString(16)}::${(n + 1).toString(16)}`
  },
  'a /48': () => {
    const network = `2001:db8:${(++networks).toString(16)}`
    return (n) => `${network}:${(n * 256 + 5).toString(16)}::1`
  },
}
/** How many times as much as a single client the networks may do. */
const shares: Readonly<Record<string, number>> = { 'an address': 1, 'a /64': 1, 'a /56': 2, 'a /48': 4 }

type Guess = (n: number, address: string) => Promise<{ readonly status: number; readonly text: string }>

const from = (address: string) => ({ 'X-Forwarded-For': address })

/** How many of the guesses are not refused for their number. Those that are name the time to wait. */
async function admitted(t: Test, count: number, guess: Guess, addressOf: (n: number) => string): Promise<number> {
  let number = 0
  for (let n = 0; n < count; n++) {
    const { status, text } = await guess(n, addressOf(n))
    if (status >= 500) t.fail(text)
    if (status !== 429) number++
  }
  return number
}

const { client_id: oauthClient } = await registerClient({ ask, admin: await signToken({ role: 'service_role' }) })

/** Every account is a stranger's: only the network is the same. */
const ofNetwork: Readonly<Record<string, Guess>> = {
  'POST /auth/v1/verify token': (n, address) =>
    ask('POST', '/verify', {
      headers: from(address),
      body: { type: 'email', email: `s${n}-${networks}@example.org`, token: '000000' },
    }),
  'POST /auth/v1/verify token of a phone': (n, address) =>
    ask('POST', '/verify', {
      headers: from(address),
      body: { type: 'sms', phone: `1555${1000 * networks + n}`, token: '000000' },
    }),
  'POST /auth/v1/verify token_hash': (n, address) =>
    ask('POST', '/verify', { headers: from(address), body: { type: 'email', token_hash: `wrong ${n}` } }),
  'GET /auth/v1/verify token': (n, address) =>
    ask('GET', `/verify?type=signup&token=wrong${n}`, { headers: from(address) }),
  'POST /auth/v1/verify/confirm token': (n, address) =>
    ask('POST', `/verify/confirm?type=signup&token=wrong${n}`, { headers: from(address) }),
  'GET /auth/v1/authorize invite_token': (n, address) =>
    ask('GET', `/authorize?provider=none&invite_token=wrong${n}`, { headers: from(address) }),
  'GET /auth/v1/callback state': (n, address) =>
    ask('GET', `/callback?code=x&state=11111111-2222-4333-8444-${String(n).padStart(12, '0')}`, {
      headers: from(address),
    }),
  'POST /auth/v1/callback state': (n, address) =>
    ask('POST', '/callback', { text: `code=x&state=wrong${n}`, headers: from(address) }),
  'POST /auth/v1/token refresh_token': (_n, address) =>
    ask('POST', '/token?grant_type=refresh_token', { headers: from(address), body: { refresh_token: 'abcdefghijkl' } }),
  'POST /auth/v1/oauth/token refresh_token': (_n, address) =>
    askToken(
      { ask },
      { grant_type: 'refresh_token', client_id: oauthClient, refresh_token: 'abcdefghijkl' },
      from(address),
    ),
  'POST /auth/v1/token auth_code': (_n, address) =>
    ask('POST', '/token?grant_type=pkce', {
      headers: from(address),
      body: { auth_code: '11111111-2222-4333-8444-555555555555', code_verifier: 'v'.repeat(43) },
    }),
  'POST /auth/v1/token password': (n, address) =>
    ask('POST', '/token?grant_type=password', {
      headers: from(address),
      body: { email: `t${n}-${networks}@example.org`, password: 'wrong' },
    }),
  'POST /auth/signin password': (n, address) =>
    call('POST', '/auth/signin', {
      headers: from(address),
      body: { email: `u${n}-${networks}@example.org`, password: 'wrong' },
    }),
}

for (const [door, guess] of Object.entries(ofNetwork)) {
  t.test(`${door}: guesses from one network`, async (t) => {
    for (const [shape, create] of Object.entries(shapes)) {
      const limit = perNetwork * (shares[shape] ?? 0)
      t.equal(await admitted(t, limit + 5, guess, create()), limit, shape)
    }
  })
}

t.test('the doors of a link share one limit', async (t) => {
  const doors = Object.entries(ofNetwork).filter(([door]) => /verify|invite_token/.test(door))
  t.ok(doors.length >= 6)
  const address = shapes['an address']?.() ?? String
  let number = 0
  for (let round = 0; round < 2; round++) {
    for (const [, guess] of doors) number += await admitted(t, 1, guess, address)
  }
  t.equal(number, perNetwork)
})

/** An account whose session is old enough that a new password needs a nonce, and who guesses with it. */
async function member(): Promise<{ readonly email: string; readonly token: string; readonly cookie: string }> {
  const email = newAddress()
  const { access_token: token } = await signUp(unlimited.ask, email)
  const { cookie = '' } = await unlimited.call('POST', '/auth/signin', { body: { email, password } })
  return { email, token, cookie }
}

type Member = Awaited<ReturnType<typeof member>>

/** Guesses at the secret of an account, and how many are permitted of one account and network, and of the account. */
type OfAccount = {
  readonly guess: (member: Member) => Guess
  readonly pair: number
  readonly account: number
  readonly prepare?: (member: Member) => Promise<unknown>
}

const passwords = { pair: perPair, account: perAccount }
const codes = { pair: codeGuesses.pair, account: codeGuesses.account }
const ofAccount: Readonly<Record<string, OfAccount>> = {
  'POST /auth/v1/verify token': {
    ...codes,
    guess:
      ({ email }) =>
      (_n, address) =>
        unlimited.ask('POST', '/verify', {
          headers: from(address),
          body: { type: 'email', email, token: 'wrong' },
        }),
  },
  'PUT /auth/v1/user nonce': {
    ...codes,
    prepare: ({ email }) =>
      database.query(
        `update auth.sessions set created_at = now() - interval '2 days'
         where user_id = (select id from auth.users where email = $1)`,
        [email],
      ),
    guess:
      ({ token }) =>
      (_n, address) =>
        unlimited.ask('PUT', '/user', {
          token,
          headers: from(address),
          body: { password: 'another password', nonce: 'wrong' },
        }),
  },
  'POST /auth/v1/token password': {
    ...passwords,
    guess:
      ({ email }) =>
      (_n, address) =>
        unlimited.ask('POST', '/token?grant_type=password', {
          headers: from(address),
          body: { email, password: 'wrong' },
        }),
  },
  'PUT /auth/v1/user current_password': {
    ...passwords,
    guess:
      ({ token }) =>
      (_n, address) =>
        unlimited.ask('PUT', '/user', {
          token,
          headers: from(address),
          body: { password: 'another password', current_password: 'wrong' },
        }),
  },
  'POST /auth/signin password': {
    ...passwords,
    guess:
      ({ email }) =>
      (_n, address) =>
        unlimited.call('POST', '/auth/signin', { headers: from(address), body: { email, password: 'wrong' } }),
  },
  'PATCH /auth/me currentPassword': {
    ...passwords,
    guess:
      ({ email, cookie }) =>
      (_n, address) =>
        unlimited.call('PATCH', '/auth/me', {
          headers: { ...from(address), Cookie: cookie },
          body: { email, currentPassword: 'wrong' },
        }),
  },
  'DELETE /auth/me password': {
    ...passwords,
    guess:
      ({ cookie }) =>
      (_n, address) =>
        unlimited.call('DELETE', '/auth/me', {
          headers: { ...from(address), Cookie: cookie },
          body: { password: 'wrong' },
        }),
  },
}

for (const [door, { guess, pair, account, prepare }] of Object.entries(ofAccount)) {
  t.test(`${door}: guesses for one account`, async (t) => {
    for (const [shape, create] of Object.entries(shapes)) {
      const user = await member()
      await prepare?.(user)
      const limit = Math.min(pair * (shares[shape] ?? 0), account)
      t.equal(await admitted(t, limit + 3, guess(user), create()), limit, shape)
    }
    const user = await member()
    await prepare?.(user)
    const anywhere = (n: number): string => `2001:db8:${(0x1000 + ++networks).toString(16)}:${n.toString(16)}::1`
    t.equal(await admitted(t, account + 3, guess(user), anywhere), account, 'many networks')
  })
}

t.test('guesses from one network do not refuse the code of the owner elsewhere', async (t) => {
  for (const shape of ['an address', 'a /48']) {
    const user = await member()
    const { email } = user
    const guess = ofAccount['POST /auth/v1/verify token']?.guess(user)
    if (!guess) throw new Error('no such door')
    await admitted(t, 60, guess, shapes[shape]?.() ?? String)
    t.equal((await unlimited.ask('POST', '/otp', { body: { email } })).status, 200)
    const { code } = await sink.next(email)
    const body = { type: 'email', email, token: code }
    const used = await unlimited.ask('POST', '/verify', { headers: from(`198.51.100.${++networks}`), body })
    t.equal(used.status, 200, `${shape}: ${used.text}`)
  }
})

t.test('right codes and passwords do not count', async (t) => {
  const { email } = await member()
  const headers = from(`198.51.100.${++networks}`)
  for (let time = 0; time < codeGuesses.pair + 3; time++) {
    await unlimited.ask('POST', '/otp', { body: { email } })
    const { code } = await sink.next(email)
    const body = { type: 'email', email, token: code }
    t.equal((await unlimited.ask('POST', '/verify', { headers, body })).status, 200)
  }
})

t.test('forged states of a network do not refuse a true one', async (t) => {
  const address = `203.0.113.${++networks}`
  const guess = ofNetwork['GET /auth/v1/callback state']
  if (!guess) throw new Error('no such door')
  t.equal(await admitted(t, perNetwork + 3, guess, () => address), perNetwork)
  const { rows } = await database.query(
    `select auth.create_flow_state('{"provider_type": "none", "authentication_method": "oauth", "code_verifier": "v",
       "referrer": "https://app.test/page"}') ->> 'id' as state`,
  )
  const answer = await ask('GET', `/callback?code=x&state=${String(rows[0]?.state)}`, { headers: from(address) })
  t.equal(answer.status, 303, answer.text)
  t.match(answer.headers.get('location'), /^https:\/\/app\.test\/page.*oauth_provider_not_supported/)
})

t.test('an invitation is accepted by its route alone', async (t) => {
  const { token } = await member()
  const linked = await startAnother({ GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true' })
  const serviceToken = await signToken({ role: 'service_role' })
  const invited = await ask('POST', '/admin/generate_link', {
    token: serviceToken,
    body: { type: 'invite', email: newAddress() },
  })
  const tries = ['nonsense', String(invited.body.hashed_token)].map((it) =>
    linked.ask('GET', `/user/identities/authorize?provider=none&invite_token=${it}`, { token }),
  )
  const [wrong, right] = await Promise.all(tries)
  t.strictSame([wrong?.status, wrong?.text], [right?.status, right?.text], 'the route for linking does not test it')
})

t.test('codes of a second factor', async (t) => {
  const { email, token } = await member()
  const factor = await enroll(unlimited.ask, token)
  const raised = sessionOf(await verify(unlimited.ask, token, factor, codeOfApp(factor)))
  t.ok(raised.access_token)
  const again = sessionOf(
    await unlimited.ask('POST', '/token?grant_type=password', { body: { email, password } }),
  ).access_token
  const guessAt = (it: Factor, address: string, challengeId: string, asking = unlimited.ask): Promise<AuthAnswer> =>
    asking('POST', `/factors/${it.id}/verify`, {
      token: again,
      headers: from(address),
      body: { challenge_id: challengeId, code: wrongCode(it) } satisfies Json,
    })
  const begin = async (address: string, asking = unlimited.ask): Promise<AuthAnswer> =>
    asking('POST', `/factors/${factor.id}/challenge`, { token: again, headers: from(address), body: {} })

  for (const [shape, create] of Object.entries(shapes)) {
    const limit = perNetwork * (shares[shape] ?? 0)
    const address = create()
    t.equal(await admitted(t, limit + 3, (_n, at) => begin(at, ask), address), limit, `${shape}: challenges count`)
    const another = create()
    const unknown = '11111111-2222-4333-8444-555555555555'
    const guess: Guess = (_n, at) => guessAt(factor, at, unknown, ask)
    t.equal(await admitted(t, limit + 3, guess, another), limit, `${shape}: guesses count`)
  }

  // From as many networks as challenges: a challenge is bound to its address.
  let wrong = 0
  for (let round = 0; round < factorGuesses.perFactor / factorGuesses.perChallenge + 2; round++) {
    const address = `2001:db8:${(0x2000 + ++networks).toString(16)}::1`
    const begun = await begin(address)
    // Further tries of the first challenge count for the factor, too.
    const tries = factorGuesses.perChallenge + (round === 0 ? 2 : 0)
    let ofChallenge = 0
    for (let n = 0; n < tries; n++) {
      const { status, body, text } = await guessAt(factor, address, String(begun.body.id))
      if (status >= 500) t.fail(text)
      if (body.error_code === 'mfa_verification_failed') ofChallenge++
    }
    t.ok(ofChallenge <= factorGuesses.perChallenge, `${ofChallenge} of a challenge`)
    if (round === 0) t.equal(ofChallenge, factorGuesses.perChallenge)
    wrong += ofChallenge
  }
  t.equal(wrong, factorGuesses.perFactor - 2, 'no more codes were compared')
  t.not((await verify(unlimited.ask, again, factor, codeOfApp(factor, 1)).catch(() => undefined))?.status, 200)
  t.ok(await challenge(unlimited.ask, again, factor).catch(() => 'refused'))
})

t.test('every door of the table with few bits is guessed at here', (t) => {
  const tried = new Set([...Object.keys(ofNetwork), ...Object.keys(ofAccount)])
  const own = new Set(['POST /auth/v1/factors/{factor_id}/verify code'])
  for (const { bits, doors } of Object.values(secrets)) {
    if (bits !== null && bits >= 128 && bits !== secrets.linkToken.bits) continue
    for (const { route, fields } of doors) {
      for (const field of fields) {
        const door = `${route} ${field}`
        // A verifier and the code of a provider are sent together with another secret.
        if (/ code_verifier$|callback code$/.test(door)) continue
        t.ok(tried.has(door) || own.has(door), door)
      }
    }
  }
  t.end()
})

t.test('networks of limits', (t) => {
  const names = (network: string) => limitedNetworks(network).map(({ name, share }) => `${name} ${share}`)
  t.strictSame(names('203.0.113.7'), ['203.0.113.7 1'])
  t.strictSame(names('local'), ['local 1'])
  t.strictSame(names('2001:db8:1:2ff'), ['2001:db8:1:2ff 1', '2001:db8:1:200/56 2', '2001:db8:1/48 4'])
  t.strictSame(names('2001:db8:0:0'), ['2001:db8:0:0 1', '2001:db8:0:0/56 2', '2001:db8:0/48 4'])
  t.end()
})
