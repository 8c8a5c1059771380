// Attacks that use one door against the other, and second factors.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, claimsOf, codeOf, newAddress, password, sessionOf, signUp } from '../support/auth.ts'
import type { Answer } from '../support/call.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { challenge, codeOfApp, raise, verify, wrongCode } from '../support/second-factor.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const settings = {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  SESSION_SECRETS: 's'.repeat(32),
  SECURE_COOKIES: 'false',
}
const { url, call } = await startApplication(t, database.authenticatorUri, settings)
const ask = askAuth(url)
const cookieOf = ({ cookie }: Answer) => ({ headers: { Cookie: cookie ?? '' } })

t.test('a user who knows the password alone changes nothing of an account with a second factor', async (t) => {
  const first = await signUp(ask)
  const { factor, session } = await raise(ask, first.access_token)
  const email = String(first.user.email)
  const cookie = cookieOf(await call('POST', '/auth/signin', { body: { email, password } }))
  t.equal((await call('GET', '/auth/me', cookie)).status, 200)
  const stolen = { email: newAddress(), password: 'battery staple', currentPassword: password }
  const changed = await call('PATCH', '/auth/me', { ...cookie, body: stolen })
  t.match([changed.status, changed.body], [403, { message: /second factor/ }])
  const deleted = await call('DELETE', '/auth/me', { ...cookie, body: { password } })
  t.match([deleted.status, deleted.body], [403, { message: /second factor/ }])

  const tokens = await call('POST', '/auth/tokens', cookie)
  const { access_token: token } = (tokens.body as { details: { access_token: string } }).details
  const rows = [
    ['PUT', '/user', { password: 'battery staple' }, 401],
    ['PUT', '/user', { email: newAddress() }, 401],
    ['DELETE', `/factors/${factor.id}`, undefined, 422],
    ['POST', '/factors', { factor_type: 'totp', friendly_name: 'of the thief' }, 403],
    ['POST', '/factors/recovery-codes', undefined, 403],
  ] as const
  for (const [method, path, body, status] of rows) {
    const refused = await ask(method, path, { token, ...(body === undefined ? {} : { body }) })
    t.strictSame([refused.status, codeOf(refused)], [status, 'insufficient_aal'], `${method} ${path}`)
  }

  const raised = await call('POST', '/auth/session', { headers: { Authorization: `Bearer ${session.access_token}` } })
  const own = cookieOf(raised)
  const body = { currentPassword: password, password: 'battery staple' }
  t.equal((await call('PATCH', '/auth/me', { ...own, body })).status, 200, 'with the factor, it works')
  t.equal((await call('DELETE', '/auth/me', { ...own, body: { password: 'battery staple' } })).status, 200)
})

t.test('many challenges at once give no further tries', async (t) => {
  const { access_token: token } = await signUp(ask)
  const { factor, session } = await raise(ask, token)
  const { access_token: raised } = session
  const challenges = await Promise.all(Array.from({ length: 60 }, () => challenge(ask, raised, factor)))
  const code = wrongCode(factor)
  const answers = await Promise.all(
    challenges.map((id) =>
      ask('POST', `/factors/${factor.id}/verify`, { token: raised, body: { challenge_id: id, code } }),
    ),
  )
  const { rows } = await database.query(
    'select sum(attempts)::integer as attempts from auth.mfa_challenges where factor_id = $1 and verified_at is null',
    [factor.id],
  )
  t.equal(rows[0]?.attempts, 30)
  t.strictSame(new Set(answers.map(({ status }) => status)), new Set([422, 429]))
  t.equal((await verify(ask, raised, factor, codeOfApp(factor, 1))).status, 429)
})

t.test('factors, challenges and sessions of another user', async (t) => {
  const victim = await raise(ask, (await signUp(ask)).access_token)
  const thief = await raise(ask, (await signUp(ask)).access_token)
  const token = thief.session.access_token
  const { factor } = victim
  const their = await challenge(ask, victim.session.access_token, factor)
  const own = await challenge(ask, token, thief.factor)
  const rows = [
    ['POST', `/factors/${factor.id}/challenge`, {}, 404],
    ['POST', `/factors/${factor.id}/verify`, { challenge_id: their, code: codeOfApp(factor, 1) }, 404],
    ['POST', `/factors/${factor.id}/verify`, { challenge_id: own, code: codeOfApp(thief.factor, 1) }, 404],
    ['POST', `/factors/${thief.factor.id}/verify`, { challenge_id: their, code: codeOfApp(thief.factor, 1) }, 422],
    ['DELETE', `/factors/${factor.id}`, undefined, 404],
  ] as const
  for (const [method, path, body, status] of rows) {
    const refused = await ask(method, path, { token, ...(body === undefined ? {} : { body }) })
    t.strictSame([refused.status, codeOf(refused)], [status, 'mfa_factor_not_found'], `${method} ${path}`)
  }
  t.equal(claimsOf(sessionOf(await verify(ask, victim.session.access_token, factor, codeOfApp(factor, 1)))).aal, 'aal2')
})

t.test('where sign-up is disabled, it is disabled with a cookie, too', async (t) => {
  const closed = await startApplication(t, database.authenticatorUri, { ...settings, GOTRUE_DISABLE_SIGNUP: 'true' })
  const email = newAddress()
  t.equal(codeOf(await askAuth(closed.url)('POST', '/signup', { body: { email, password } })), 'signup_disabled')
  const refused = await closed.call('POST', '/auth/signup', { body: { email, password, firstName: 'Eve' } })
  t.match([refused.status, refused.body], [403, { message: /sign up/i }])
  const { rows } = await database.query('select from auth.users where email = $1', [email])
  t.equal(rows.length, 0)
})
