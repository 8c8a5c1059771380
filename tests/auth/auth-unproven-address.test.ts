// Accounts that are used before their address is proved, or whose address is confirmed without proof. The owner who proves
// it later gets the account without its former ways in.
import t, { type Test } from 'tap'
import { detailsOf, password, signUp as signUpWithCookie, type SignedIn } from '../support/account.ts'
import { claimsOf, codeOf, newAddress, passwordGrant, refreshGrant, sessionOf } from '../support/auth.ts'
import { startIssuer } from '../support/id-token-issuer.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { raise } from '../support/second-factor.ts'
import { signToken } from '../support/token.ts'

const issuer = await startIssuer(t)
const { ask, call, database, sink, startAnother } = await startMailingService(t, {
  ...cookieSettings,
  AUTH_ADDRESS_LIMIT: '100000',
  ...{ GOTRUE_RATE_LIMIT_OTP: '100000', GOTRUE_RATE_LIMIT_VERIFY: '100000', GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000' },
  ...{ GOTRUE_EXTERNAL_GOOGLE_ENABLED: 'true', GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID: 'app' },
  ...{ GOTRUE_EXTERNAL_GOOGLE_URL: issuer.issuer, GOTRUE_EXTERNAL_GOOGLE_SKIP_NONCE_CHECK: 'true' },
})
const token = await signToken({ role: 'service_role' })

/** Signs up with the cookie. The mail that confirms this sign-up stays unread. */
async function signUp(_: typeof call, email: string): Promise<SignedIn> {
  const user = await signUpWithCookie(call, email)
  await sink.next(email)
  return user
}

type Tokens = { readonly access_token: string; readonly refresh_token: string }

/** The owner of an address signs in by a mail, and gets a session. */
const proofs: Readonly<Record<string, (email: string) => Promise<Tokens>>> = {
  'a magic link': async (email) => {
    await ask('POST', '/otp', { body: { email } })
    const { headers } = await fetch((await sink.next(email)).link, { redirect: 'manual' })
    const fragment = new URL(headers.get('location') ?? '').hash.slice(1)
    return Object.fromEntries(new URLSearchParams(fragment)) as Tokens
  },
  'a code': async (email) => {
    await ask('POST', '/otp', { body: { email } })
    const { code } = await sink.next(email)
    return (await ask('POST', '/verify', { body: { type: 'email', email, token: code } })).body as Tokens
  },
  'a forgotten password': async (email) => {
    await ask('POST', '/recover', { body: { email } })
    const { code } = await sink.next(email)
    return (await ask('POST', '/verify', { body: { type: 'recovery', email, token: code } })).body as Tokens
  },
  PKCE: async (email) => {
    const challenge = { code_challenge: 'v'.repeat(43), code_challenge_method: 'plain' }
    await ask('POST', '/otp', { body: { email, ...challenge } })
    const { headers } = await fetch((await sink.next(email)).link, { redirect: 'manual' })
    const code = new URL(headers.get('location') ?? '').searchParams.get('code')
    const body = { auth_code: code, code_verifier: 'v'.repeat(43) }
    return (await ask('POST', '/token?grant_type=pkce', { body })).body as Tokens
  },
  'a generated link': async (email) => {
    const { body } = await ask('POST', '/admin/generate_link', { body: { type: 'magiclink', email }, token })
    const hash = body.hashed_token
    return (await ask('POST', '/verify', { body: { type: 'magiclink', token_hash: hash } })).body as Tokens
  },
}

/** A sign-in with the verified address at a provider. */
async function proveByProvider(email: string): Promise<Tokens> {
  const idToken = await issuer.sign({ sub: crypto.randomUUID(), email, email_verified: true })
  const body = { provider: 'google', id_token: idToken }
  return (await ask('POST', '/token?grant_type=id_token', { body })).body as Tokens
}

/** Checks that no credentials of the user who signed up are valid any more. */
async function isOut(t: Test, mallory: SignedIn, tokens: Tokens, email: string): Promise<void> {
  t.equal((await mallory.call('GET', '/auth/me')).status, 401, 'the cookie')
  t.equal((await mallory.call('POST', '/auth/tokens')).status, 401)
  t.equal((await call('POST', '/auth/signin', { body: { email, password } })).status, 401, 'the password')
  t.equal(codeOf(await passwordGrant(ask, email, password)), 'invalid_credentials')
  t.equal((await ask('GET', '/user', { token: tokens.access_token })).status, 403, 'the access token')
  const refresh = await refreshGrant(ask, tokens.refresh_token)
  t.equal(refresh.status, 400, 'the refresh token')
}

for (const [name, prove] of Object.entries(proofs)) {
  void t.test(`the owner of the address signs in by ${name}`, async (t) => {
    const email = newAddress()
    const mallory = await signUp(call, email)
    const tokens = ((await mallory.call('POST', '/auth/tokens')).body as { details: Tokens }).details
    await database.query('update auth.users set phone = $1, phone_confirmed_at = now() where id = $2', [
      mallory.id.replace(/\D/g, '').slice(0, 12),
      mallory.id,
    ])
    const session = await prove(email)
    const user = await ask('GET', '/user', { token: session.access_token })
    t.match(user.body, { id: mallory.id, email, phone: '', app_metadata: { providers: ['email'] } }, user.text)
    await isOut(t, mallory, tokens, email)

    const secret = 'the password of the owner'
    t.equal((await ask('PUT', '/user', { body: { password: secret }, token: session.access_token })).status, 200)
    t.equal((await passwordGrant(ask, email, secret)).status, 200)
    await prove(email)
    t.equal((await passwordGrant(ask, email, secret)).status, 200, 'the second proof changes nothing')
    t.equal((await ask('GET', '/user', { token: session.access_token })).status, 200)
  })
}

t.test('an address that was changed with the cookie is not proved, either', async (t) => {
  const mallory = await signUp(call, newAddress())
  await proofs['a forgotten password']?.(mallory.email).then(({ access_token: own }) =>
    ask('PUT', '/user', { body: { password }, token: own }),
  )
  const again = await call('POST', '/auth/signin', { body: { email: mallory.email, password } })
  t.equal(again.status, 200)
  const headers = { Cookie: again.cookie ?? '' }
  const email = newAddress()
  const change = await call('PATCH', '/auth/me', { headers, body: { currentPassword: password, email } })
  t.equal(change.status, 200, change.text)
  await sink.next(email)
  await proofs['a code']?.(email)
  t.equal((await call('GET', '/auth/me', { headers })).status, 401)
  t.equal(codeOf(await passwordGrant(ask, email, password)), 'invalid_credentials')
})

t.test('a change of the password alone leaves a proved address proved', async (t) => {
  const owner = await signUp(call, newAddress())
  const session = await proofs['a code']?.(owner.email)
  await ask('PUT', '/user', { body: { password }, token: session?.access_token })
  const { cookie = '' } = await call('POST', '/auth/signin', { body: { email: owner.email, password } })
  const body = { currentPassword: password, password: 'another password' }
  t.equal((await call('PATCH', '/auth/me', { headers: { Cookie: cookie }, body })).status, 200)
  await proofs['a code']?.(owner.email)
  t.equal((await passwordGrant(ask, owner.email, 'another password')).status, 200)
})

const confirming = await startAnother({ GOTRUE_MAILER_AUTOCONFIRM: 'true', GOTRUE_SMTP_MAX_FREQUENCY: '0s' })

/** Ways to get an account whose address is confirmed without proof: its tokens, as mallory has them. */
const openings: Readonly<Record<string, (email: string) => Promise<Tokens>>> = {
  'a sign-up': async (email) => sessionOf(await confirming.ask('POST', '/signup', { body: { email, password } })),
  'a sign-up with the cookie': async (email) => {
    await signUpWithCookie(confirming.call, email)
    return sessionOf(await passwordGrant(confirming.ask, email, password))
  },
  'a provider that has not verified the address': async (email) => {
    const idToken = await issuer.sign({ sub: `of ${email}`, email, email_verified: false })
    const body = { provider: 'google', id_token: idToken }
    return sessionOf(await confirming.ask('POST', '/token?grant_type=id_token', { body }))
  },
  'a confirmation by an administrator': async (email) => {
    const { body } = await ask('POST', '/signup', { body: { email, password } })
    await sink.next(email)
    const confirm = { email_confirm: true }
    await ask('PUT', `/admin/users/${String(body.id)}`, { body: confirm, token })
    return sessionOf(await passwordGrant(ask, email, password))
  },
  'an address of an anonymous user': async (email) => {
    const anonymous = await startAnother({
      GOTRUE_MAILER_AUTOCONFIRM: 'true',
      GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
    })
    const session = sessionOf(await anonymous.ask('POST', '/signup', { body: {} }))
    const body = { email, password }
    t.equal((await anonymous.ask('PUT', '/user', { body, token: session.access_token })).status, 200)
    return sessionOf(await passwordGrant(ask, email, password))
  },
}

for (const [opening, open] of Object.entries(openings)) {
  for (const [proof, prove] of Object.entries({ ...proofs, 'a provider': proveByProvider })) {
    // All proofs after the most frequent opening, and one of each kind after the others.
    if (opening !== 'a sign-up' && proof !== 'a code' && proof !== 'a provider') continue
    void t.test(`${opening}, then ${proof}: nothing of before is left`, async (t) => {
      const email = newAddress()
      const opened = await open(email)
      const { session } = await raise(ask, opened.access_token)
      const { id } = session.user
      const noted = await database.query(
        'select email_unproven from auth.users where id = $1 and email_confirmed_at <= now()',
        [id],
      )
      t.strictSame(noted.rows, [{ email_unproven: true }], 'that the address is not proved is noted')
      await database.query(
        `insert into auth.identities (provider_id, user_id, identity_data, provider, created_at)
         values ('mallory of ' || $1::text, $1::uuid, jsonb_build_object('sub', 'mallory', 'email', 'm@example.org'), 'google', now())`,
        [id],
      )
      await ask('POST', '/factors/recovery-codes', { token: session.access_token })
      await ask('PUT', '/user', { token: session.access_token, body: { email: newAddress() } })
      // The mail of the change.
      await sink.next(email)
      const owner = await prove(email)
      t.equal((await ask('GET', '/user', { token: owner.access_token })).body.id, id, 'the owner has the account')
      const { rows } = await database.query(
        `select coalesce(encrypted_password, '') as password, email_unproven, email_change,
           (select count(*)::int from auth.sessions where user_id = users.id) as sessions,
           (select count(*)::int from auth.refresh_tokens where user_id = users.id::text) as tokens,
           (select count(*)::int from auth.mfa_factors where user_id = users.id) as factors,
           (select count(*)::int from auth.mfa_recovery_codes where user_id = users.id) as codes,
           (select count(*)::int from auth.one_time_tokens where user_id = users.id) as mails,
           (select count(*)::int from auth.identities where user_id = users.id) <= 1 as has_one_identity
         from auth.users where id = $1`,
        [id],
      )
      t.strictSame(rows, [
        {
          ...{ password: '', email_unproven: false, email_change: '', sessions: 1, tokens: 1, factors: 0, codes: 0 },
          ...{ mails: 0, has_one_identity: true },
        },
      ])
      t.equal(codeOf(await passwordGrant(confirming.ask, email, password)), 'invalid_credentials')
      t.equal((await ask('GET', '/user', { token: session.access_token })).status, 403)
      t.equal((await refreshGrant(ask, session.refresh_token)).status, 400)
      await ask('PUT', '/user', { body: { password: 'of the owner' }, token: owner.access_token })
      await prove(email)
      t.equal((await passwordGrant(ask, email, 'of the owner')).status, 200, 'the second proof changes nothing')
    })
  }
}

t.test('no account says of itself that its address is proven', async (t) => {
  const email = newAddress()
  const user = await signUp(call, email)
  const tokens = detailsOf<Tokens>(await user.call('POST', '/auth/tokens'))
  const forged = { email_verified: true, phone_verified: true, a: 1 }
  for (const text of [JSON.stringify({ data: forged }), String.raw`{"data":{"email_\u0076erified":true,"b":2}}`]) {
    t.equal((await ask('PUT', '/user', { text, token: tokens.access_token })).status, 200)
  }
  const claims = claimsOf(sessionOf(await refreshGrant(ask, tokens.refresh_token)))
  t.match(claims, { email: undefined, user_metadata: { email_verified: false, a: 1, b: 2 } })
  t.notHas(claims.user_metadata, { phone_verified: true })

  const signedUp = await ask('POST', '/signup', { body: { email: newAddress(), password, data: forged } })
  t.strictSame(signedUp.body.user_metadata, { a: 1 })
  const invited = newAddress()
  await ask('POST', '/otp', { body: { email: invited, data: forged } })
  const { rows } = await database.query('select raw_user_meta_data as data from auth.users where email = $1', [invited])
  t.strictSame(rows, [{ data: { a: 1 } }])
})

t.test('a second sign-up shows nothing of an account whose address is not proven', async (t) => {
  const email = newAddress()
  const user = await signUp(call, email)
  const { access_token } = detailsOf<Tokens>(await user.call('POST', '/auth/tokens'))
  await ask('PUT', '/user', { body: { data: { iban: 'DE1' } }, token: access_token })
  await database.query(
    `update auth.users set phone_change = '15550299', phone_change_sent_at = now(), phone = '15550298',
       created_at = now() - interval '1 year', raw_app_meta_data = raw_app_meta_data || '{"plan": "gold"}'
     where id = $1`,
    [user.id],
  )
  const asStranger = (data?: object) => ask('POST', '/signup', { body: { email, password: 'of a stranger', data } })
  const fresh = await ask('POST', '/signup', { body: { email: newAddress(), password } })
  const { text, body } = await asStranger({ mine: 1 })
  for (const secret of ['DE1', 'gold', '1555029', 'Test']) t.notMatch(text, secret)
  t.strictSame(Object.keys(body).sort(), Object.keys(fresh.body).sort(), 'the members of a new account')
  t.match(body, {
    ...{ id: user.id, email, phone: '', role: 'authenticated', user_metadata: { mine: 1 } },
    app_metadata: { provider: 'email', providers: ['email'] },
    identities: [{ identity_data: { sub: user.id, email, email_verified: false, phone_verified: false } }],
  })
  t.ok(Date.parse(String(body.created_at)) > Date.now() - 60_000, 'the time of the request')
  t.strictSame((await asStranger()).body.user_metadata, {})
})

t.test('what an administrator has chosen stays', async (t) => {
  const email = newAddress()
  await ask('POST', '/admin/users', { body: { email, password, email_confirm: true }, token })
  await proofs['a code']?.(email)
  t.equal((await passwordGrant(ask, email, password)).status, 200)
})

t.test('a phone number', async (t) => {
  const numbers = { GOTRUE_EXTERNAL_PHONE_ENABLED: 'true', GOTRUE_SMS_TEST_OTP: '15550200=123456,15550201=123456' }
  const phones = await startAnother({ ...numbers, GOTRUE_SMS_MAX_FREQUENCY: '0s' })
  const free = await startAnother({ ...numbers, GOTRUE_SMS_AUTOCONFIRM: 'true', GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  const prove = async (phone: string) => {
    await phones.ask('POST', '/otp', { body: { phone } })
    return sessionOf(await phones.ask('POST', '/verify', { body: { type: 'sms', phone, token: '123456' } }))
  }
  const mallory = sessionOf(await free.ask('POST', '/signup', { body: { phone: '15550200', password } }))
  const owner = await prove('15550200')
  t.equal(owner.user.id, mallory.user.id)
  t.equal(
    codeOf(await phones.ask('POST', '/token?grant_type=password', { body: { phone: '15550200', password } })),
    'invalid_credentials',
  )
  t.equal((await ask('GET', '/user', { token: mallory.access_token })).status, 403)

  const email = newAddress()
  await ask('POST', '/otp', { body: { email } })
  const known = sessionOf(
    await ask('POST', '/verify', { body: { type: 'email', email, token: (await sink.next(email)).code } }),
  )
  await free.ask('PUT', '/user', { body: { phone: '15550201', password: 'of the owner' }, token: known.access_token })
  t.equal((await prove('15550201')).user.id, known.user.id)
  t.equal(
    (await passwordGrant(ask, email, 'of the owner')).status,
    200,
    'a proved address is another way to the same person',
  )
})
