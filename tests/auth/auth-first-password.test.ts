// Sign-up at /auth/v1 with an address of another person. After the owner has proved it, only the owner's password is valid.
import t, { type Test } from 'tap'
import { codeOf, newAddress, passwordGrant, sessionOf, type AuthAnswer } from '../support/auth.ts'
import { startMailingService } from '../support/mailing-service.ts'
import { signToken } from '../support/token.ts'

const { ask, sink, database, startAnother } = await startMailingService(t, {
  GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
  GOTRUE_SMS_TEST_OTP: '15550100=123456,15550101=123456',
  GOTRUE_SMS_MAX_FREQUENCY: '0s',
})
const admin = await signToken({ role: 'service_role' })

const first = 'of the person who came first'
const second = 'of the owner, who came second'

const signUp = (email: string, password: string) => ask('POST', '/signup', { body: { email, password } })
const verify = (body: object) => ask('POST', '/verify', { body })

async function isValid(t: Test, email: string, password: string): Promise<void> {
  const { status, text } = await passwordGrant(ask, email, password)
  t.equal(status, 200, `${password}: ${text}`)
}

async function isInvalid(t: Test, email: string, password: string): Promise<void> {
  t.equal(codeOf(await passwordGrant(ask, email, password)), 'invalid_credentials', password)
}

/** The owner proves the address without a password. */
const proofs: Readonly<Record<string, (email: string) => Promise<AuthAnswer>>> = {
  'a code': async (email) => {
    await ask('POST', '/otp', { body: { email } })
    return verify({ type: 'email', email, token: (await sink.next(email)).code })
  },
  'a forgotten password': async (email) => {
    await ask('POST', '/recover', { body: { email } })
    return verify({ type: 'recovery', email, token: (await sink.next(email)).code })
  },
  'an invitation': async (email) => {
    await ask('POST', '/invite', { body: { email }, token: admin })
    return verify({ type: 'invite', email, token: (await sink.next(email)).code })
  },
  'a generated link': async (email) => {
    const { body } = await ask('POST', '/admin/generate_link', { body: { type: 'magiclink', email }, token: admin })
    return verify({ type: 'magiclink', token_hash: body.hashed_token })
  },
}

for (const [name, prove] of Object.entries(proofs)) {
  void t.test(`the first password is not valid after ${name}`, async (t) => {
    const email = newAddress()
    const { body } = await signUp(email, first)
    await sink.next(email)
    const { user, access_token: token } = sessionOf(await prove(email))
    t.equal(user.id, body.id)
    await isInvalid(t, email, first)
    t.equal((await ask('PUT', '/user', { body: { password: second }, token })).status, 200)
    await isValid(t, email, second)
    await ask('POST', '/recover', { body: { email } })
    t.equal((await verify({ type: 'recovery', email, token: (await sink.next(email)).code })).status, 200)
    await isValid(t, email, second)
  })
}

t.test('the password of the sign-up whose mail was confirmed is valid', async (t) => {
  const byCode = newAddress()
  await signUp(byCode, first)
  const stale = await sink.next(byCode)
  await signUp(byCode, second)
  t.equal((await verify({ type: 'signup', email: byCode, token: stale.code })).status, 403)
  t.equal((await verify({ type: 'signup', email: byCode, token: (await sink.next(byCode)).code })).status, 200)
  await isInvalid(t, byCode, first)
  await isValid(t, byCode, second)

  const byLink = newAddress()
  await signUp(byLink, first)
  await sink.next(byLink)
  const challenge = { code_challenge: 'v'.repeat(43), code_challenge_method: 'plain' }
  await ask('POST', '/signup', { body: { email: byLink, password: second, ...challenge } })
  const { headers } = await fetch((await sink.next(byLink)).link, { redirect: 'manual' })
  const code = new URL(headers.get('location') ?? '').searchParams.get('code')
  const exchange = { auth_code: code, code_verifier: 'v'.repeat(43) }
  t.equal((await ask('POST', '/token?grant_type=pkce', { body: exchange })).status, 200)
  await isInvalid(t, byLink, first)
  await isValid(t, byLink, second)
})

t.test('a later sign-up of another person does not replace the password that the own mail confirms', async (t) => {
  const follow = async (link: string) => {
    const { headers } = await fetch(link, { redirect: 'manual' })
    return new URL(headers.get('location') ?? '').hash
  }
  const email = newAddress()
  await signUp(email, first)
  const own = await sink.next(email)
  await signUp(email, second)
  const other = await sink.next(email)
  t.match(await follow(own.link), /access_token=/)
  await isValid(t, email, first)
  await isInvalid(t, email, second)
  t.match(await follow(other.link), /error_code=otp_expired/, 'the first click decides')
  await isValid(t, email, first)

  const late = newAddress()
  await signUp(late, first)
  const stale = await sink.next(late)
  await signUp(late, second)
  t.match(await follow((await sink.next(late)).link), /access_token=/)
  t.match(await follow(stale.link), /error_code=otp_expired/)
  await isValid(t, late, second)
  await isInvalid(t, late, first)

  const repeated = newAddress()
  await signUp(repeated, first)
  const replaced = await sink.next(repeated)
  await ask('POST', '/resend', { body: { type: 'signup', email: repeated } })
  await sink.next(repeated)
  t.match(await follow(replaced.link), /error_code=otp_expired/, 'a link that is sent again replaces that before')

  const old = newAddress()
  await signUp(old, first)
  const expired = await sink.next(old)
  await signUp(old, second)
  await database.query(
    "update auth.earlier_sign_ups set created_at = created_at - interval '1 day' where relates_to = $1",
    [old],
  )
  t.match(await follow(expired.link), /error_code=otp_expired/)
  const { rows } = await database.query(
    'select from auth.earlier_sign_ups join auth.users on users.id = user_id where email_confirmed_at is not null',
  )
  t.equal(rows.length, 0, 'nothing is left of the others after the confirmation')
})

t.test('a sign-up that sends no mail changes no password', async (t) => {
  const limited = await startAnother({ GOTRUE_SMTP_MAX_FREQUENCY: '60s' })
  const email = newAddress()
  await signUp(email, second)
  const { code } = await sink.next(email)
  t.equal((await limited.ask('POST', '/signup', { body: { email, password: first } })).status, 429)
  t.equal((await verify({ type: 'signup', email, token: code })).status, 200)
  await isValid(t, email, second)
  await isInvalid(t, email, first)
})

t.test('a code that is sent again stands for the same sign-up', async (t) => {
  const email = newAddress()
  await signUp(email, first)
  await sink.next(email)
  await signUp(email, second)
  await sink.next(email)
  await ask('POST', '/resend', { body: { type: 'signup', email } })
  t.equal((await verify({ type: 'signup', email, token: (await sink.next(email)).code })).status, 200)
  await isInvalid(t, email, first)
  await isValid(t, email, second)

  const without = newAddress()
  await signUp(without, first)
  await sink.next(without)
  await ask('POST', '/otp', { body: { email: without } })
  await sink.next(without)
  await ask('POST', '/resend', { body: { type: 'signup', email: without } })
  t.equal((await verify({ type: 'signup', email: without, token: (await sink.next(without)).code })).status, 200)
  await isInvalid(t, without, first)
})

t.test('a repeated sign-up with the same password', async (t) => {
  const email = newAddress()
  await signUp(email, second)
  await sink.next(email)
  await signUp(email, second)
  t.equal((await verify({ type: 'signup', email, token: (await sink.next(email)).code })).status, 200)
  await isValid(t, email, second)
})

t.test('a password after an abandoned sign-in by code', async (t) => {
  const email = newAddress()
  await ask('POST', '/otp', { body: { email } })
  await sink.next(email)
  await signUp(email, second)
  t.equal((await verify({ type: 'signup', email, token: (await sink.next(email)).code })).status, 200)
  await isValid(t, email, second)
})

t.test('a password that an administrator has chosen stays', async (t) => {
  for (const create of [
    (email: string) => ask('POST', '/admin/users', { body: { email, password: second }, token: admin }),
    (email: string) =>
      ask('POST', '/admin/generate_link', { body: { type: 'signup', email, password: second }, token: admin }),
    async (email: string) => {
      const { body } = await signUp(email, first)
      await sink.next(email)
      return ask('PUT', `/admin/users/${String(body.id)}`, { body: { password: second }, token: admin })
    },
  ]) {
    for (const prove of ['a code', 'a forgotten password', 'a generated link']) {
      const email = newAddress()
      t.equal((await create(email)).status, 200)
      t.equal((await proofs[prove]?.(email))?.status, 200, prove)
      await isValid(t, email, second)
      await isInvalid(t, email, first)
    }
  }
})

t.test('the password of an account that the project has confirmed stays', async (t) => {
  for (const [name, prove] of Object.entries(proofs)) {
    if (name === 'an invitation') continue
    const email = newAddress()
    await signUp(email, second)
    await sink.next(email)
    await database.query('update auth.users set email_confirmed_at = now() where email = $1', [email])
    t.equal((await prove(email)).status, 200, name)
    await isValid(t, email, second)
  }
})

t.test('a phone number', async (t) => {
  const grant = (phone: string, password: string) =>
    ask('POST', '/token?grant_type=password', { body: { phone, password } })
  const [byCode, bySignUp] = ['15550100', '15550101']
  await ask('POST', '/signup', { body: { phone: byCode, password: first } })
  t.equal((await ask('POST', '/otp', { body: { phone: byCode } })).status, 200)
  t.equal((await verify({ type: 'sms', phone: byCode, token: '123456' })).status, 200)
  t.equal(codeOf(await grant(byCode, first)), 'invalid_credentials')

  await ask('POST', '/signup', { body: { phone: bySignUp, password: first } })
  await ask('POST', '/signup', { body: { phone: bySignUp, password: second } })
  t.equal((await verify({ type: 'sms', phone: bySignUp, token: '123456' })).status, 200)
  t.equal(codeOf(await grant(bySignUp, first)), 'invalid_credentials')
  t.equal((await grant(bySignUp, second)).status, 200)
})
