// Passkeys of a person who has registered another person's address: they end when the owner proves the address. And how a user
// who has lost the last passkey gets back in.
import t from 'tap'
import { signUp as signUpWithCookie } from '../support/account.ts'
import { claimsOf, codeOf, newAddress, sessionOf, type SessionBody } from '../support/auth.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { answerRegistration, beginRegistration, register, signInWith } from '../support/passkey.ts'
import { SoftAuthenticator } from '../support/soft-authenticator.ts'

const { ask, call, database, sink, signInByMail, startAnother } = await startMailingService(t, {
  ...cookieSettings,
  GOTRUE_PASSKEY_ENABLED: 'true',
  AUTH_ADDRESS_LIMIT: '100000',
  ...{ GOTRUE_RATE_LIMIT_OTP: '100000', GOTRUE_RATE_LIMIT_VERIFY: '100000', GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000' },
})
const newKey = () => new SoftAuthenticator({ origin: 'https://app.test' })

/** The tokens of a person who has signed up with the cookie, and does not read the mail. */
async function mallory(email: string): Promise<{ readonly access_token: string }> {
  const user = await signUpWithCookie(call, email)
  await sink.next(email)
  return ((await user.call('POST', '/auth/tokens')).body as { details: SessionBody }).details
}

t.test('an address that is not confirmed does not sign in, unless the settings confirm it', async (t) => {
  const email = newAddress()
  const { access_token: token } = await mallory(email)
  const key = newKey()
  t.equal((await register(ask, token, key)).status, 200)
  t.match(await signInWith(ask, key), { status: 403, body: { error_code: 'email_not_confirmed' } })
  const { ask: confirming } = await startAnother({ GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  const session = sessionOf(await signInWith(confirming, key))
  t.match(claimsOf(session), { amr: [{ method: 'passkey' }] })
  t.match(session.user, { email_confirmed_at: String })
  const { rows } = await database.query('select email_unproven from auth.users where email = $1', [email])
  t.strictSame(rows, [{ email_unproven: true }], 'which proves nothing')

  t.equal((await signInByMail(email)).user.id, session.user.id)
  t.match((await signInWith(ask, key)).body, { error_code: 'webauthn_verification_failed', msg: /not registered/ })
  t.equal(codeOf(await ask('GET', '/user', { token: session.access_token })), 'session_not_found')
})

t.test('a passkey that is added while the owner proves the address', async (t) => {
  for (let round = 0; round < 8; round++) {
    const email = newAddress()
    const { access_token: token } = await mallory(email)
    const [first, second] = [newKey(), newKey()]
    await register(ask, token, first)
    const begun = await beginRegistration(ask, token)
    const [owner] = await Promise.all([
      signInByMail(email),
      ...Array.from({ length: 3 }, () =>
        answerRegistration(ask, token, begun.challengeId, second.create(begun.options)),
      ),
      signInWith(ask, first),
    ])
    for (const key of [first, second]) t.equal((await signInWith(ask, key)).status, 400, `round ${round}`)
    t.strictSame((await ask('GET', '/passkeys', { token: owner.access_token })).body, [])
  }
})

t.test('a user who has lost the last passkey signs in by mail, deletes it, and adds another', async (t) => {
  const email = newAddress()
  const { access_token: token } = await signInByMail(email)
  const [lost, found] = [newKey(), newKey()]
  const { body } = await register(ask, token, lost)
  t.match(sessionOf(await signInWith(ask, lost)).user, { email }, 'without a password')
  const { access_token: again } = await signInByMail(email)
  t.match((await ask('GET', '/passkeys', { token: again })).body, [{ id: body.id }], 'the mail of an owner keeps it')
  t.equal((await ask('DELETE', `/passkeys/${String(body.id)}`, { token: again })).status, 204)
  t.equal((await signInWith(ask, lost)).status, 400)
  t.equal((await register(ask, again, found)).status, 200)
  t.equal((await signInWith(ask, found)).status, 200)
})

t.test('wrong answers are limited per network, right ones are not', async (t) => {
  const limit = 4
  const { ask: limited } = await startAnother({ TRUSTED_PROXIES: '1', GOTRUE_RATE_LIMIT_PASSKEY: String(limit) })
  const from = (address: string) => ({ 'X-Forwarded-For': address })
  const wrong = { challenge_id: crypto.randomUUID(), credential: newKey().get({ challenge: 'x' }) }
  const statuses = async (path: string, body: unknown, address: string) => {
    const seen: number[] = []
    for (let n = 0; n < limit + 2; n++) {
      seen.push((await limited('POST', path, { headers: from(address), body })).status)
    }
    return seen
  }
  const verify = '/passkeys/authentication/verify'
  t.strictSame(await statuses(verify, wrong, '203.0.113.1'), [400, 400, 400, 400, 429, 429])
  t.strictSame(await statuses('/passkeys/authentication/options', {}, '203.0.113.2'), [200, 200, 200, 200, 429, 429])
  t.equal((await limited('POST', verify, { headers: from('203.0.113.3'), body: wrong })).status, 400, 'elsewhere')
  const garbage = { challenge_id: crypto.randomUUID(), credential: {} }
  t.strictSame(await statuses(verify, garbage, '203.0.113.4'), [400, 400, 400, 400, 429, 429], 'of any form')
})

t.test('challenges of new passkeys are limited per network, and do not use up those of sign-ins', async (t) => {
  const limit = 3
  const { ask: limited } = await startAnother({ TRUSTED_PROXIES: '1', GOTRUE_RATE_LIMIT_PASSKEY: String(limit) })
  const { access_token: token } = await signInByMail(newAddress())
  const headers = { 'X-Forwarded-For': '203.0.113.9' }
  const begin = async (path: string) => limited('POST', path, { token, headers, body: {} })
  for (let n = 0; n < limit; n++) t.equal((await begin('/passkeys/registration/options')).status, 200)
  const refused = await begin('/passkeys/registration/options')
  t.match(
    [refused.status, refused.body.error_code, refused.body.msg],
    [429, 'over_request_rate_limit', /RATE_LIMIT_PASSKEY/],
  )
  t.equal((await begin('/passkeys/authentication/options')).status, 200)
})
