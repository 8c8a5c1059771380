// What is good for one use, sent twenty times at once to two processes: one use succeeds, or none.
import t, { type Test } from 'tap'
import { newAddress, password, type AskAuth, type AuthAnswer } from '../support/auth.ts'
import { startMailingService } from '../support/mailing-service.ts'
import {
  answerRequest,
  approvedCode,
  askToken,
  openRequest,
  pkce,
  registerClient,
  returnedCode,
  startAccess,
} from '../support/oauth-client.ts'
import { answerRegistration, answerSignIn, beginRegistration, beginSignIn, register } from '../support/passkey.ts'
import { challenge, codeOfApp, enroll, raise } from '../support/second-factor.ts'
import { SoftAuthenticator } from '../support/soft-authenticator.ts'
import { signToken } from '../support/token.ts'

const unlimited = '1000000'
const {
  ask: first,
  database,
  sink,
  signInByMail,
  startAnother,
} = await startMailingService(t, {
  GOTRUE_PASSKEY_ENABLED: 'true',
  GOTRUE_OAUTH_SERVER_ENABLED: 'true',
  GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH: '/consent',
  GOTRUE_SECURITY_UPDATE_PASSWORD_REQUIRE_REAUTHENTICATION: 'true',
  ...{ GOTRUE_RATE_LIMIT_OTP: unlimited, GOTRUE_RATE_LIMIT_VERIFY: unlimited, GOTRUE_RATE_LIMIT_PASSKEY: unlimited },
  ...{ GOTRUE_RATE_LIMIT_TOKEN_REFRESH: unlimited, GOTRUE_MFA_RATE_LIMIT_CHALLENGE_AND_VERIFY: unlimited },
})
const { ask: second } = await startAnother()
const doors = [first, second] as const
const admin = await signToken({ role: 'service_role' })
const flow = { ask: first, admin }
const newKey = () => new SoftAuthenticator({ origin: 'https://app.test' })

/** Sends requests at once, by turns to one process and to the other. */
const race = (send: (ask: AskAuth, index: number) => Promise<AuthAnswer>): Promise<AuthAnswer[]> =>
  Promise.all(Array.from({ length: 20 }, (_, index) => send(doors[index % 2] ?? first, index)))

/** Expects one success, and refusals without errors of the server. @returns the success */
function onlyOne(t: Test, answers: readonly AuthAnswer[], status = 200): AuthAnswer | undefined {
  const won = answers.filter((answer) => answer.status === status)
  t.equal(won.length, 1, `one of ${answers.length}`)
  for (const answer of answers)
    t.ok(answer.status === status || [400, 403, 404, 409, 422, 429].includes(answer.status), answer.text)
  return won[0]
}

const numberOf = async (sql: string, values: readonly unknown[]): Promise<unknown> =>
  (await database.query(`select count(*)::int as number ${sql}`, [...values])).rows[0]?.number

const user = async () => {
  const email = newAddress()
  const { access_token: token, user } = await signInByMail(email)
  return { email, token, id: user.id }
}

t.test('the link of a mail', async (t) => {
  const { email, id } = await user()
  await first('POST', '/otp', { body: { email } })
  const { search } = new URL((await sink.next(email)).link)
  const answers = await race((ask) => ask('GET', `/verify${search}`))
  const won = answers.filter(({ headers }) => headers.get('location')?.includes('access_token='))
  t.equal(won.length, 1)
  t.ok(answers.every(({ status }) => status === 303))
  t.equal(await numberOf('from auth.sessions where user_id = $1', [id]), 2)
})

t.test('a code of PKCE', async (t) => {
  const { email } = await user()
  const { verifier, challenge: hash } = pkce()
  await first('POST', '/otp', { body: { email, code_challenge: hash, code_challenge_method: 's256' } })
  const { search } = new URL((await sink.next(email)).link)
  const location = (await second('GET', `/verify${search}`)).headers.get('location') ?? ''
  const body = { auth_code: new URL(location).searchParams.get('code'), code_verifier: verifier }
  onlyOne(t, await race((ask) => ask('POST', '/token?grant_type=pkce', { body })))
})

t.test('a code of the OAuth server: its second use ends what the first has got', async (t) => {
  const { token, id } = await user()
  const { client_id: client } = await registerClient(flow)
  const { code, verifier } = await approvedCode(flow, client, token)
  const form = { grant_type: 'authorization_code', client_id: client, code, code_verifier: verifier }
  const won = onlyOne(t, await race((ask) => askToken({ ask }, form)))
  const ended = await first('GET', '/user', { token: String(won?.body.access_token) })
  t.equal(ended.status, 403)
  t.equal(await numberOf('from auth.sessions where user_id = $1', [id]), 1, 'that of the user')
})

t.test('the answer to an application', async (t) => {
  const { token } = await user()
  const { client_id: client } = await registerClient(flow)
  const { id, verifier } = await startAccess(flow, client)
  await openRequest(flow, id, token)
  const answers = await race((ask, index) => answerRequest({ ask, admin }, id, token, index % 3 ? 'approve' : 'deny'))
  const won = onlyOne(t, answers)
  const url = new URL(String(won?.body.redirect_url))
  if (url.searchParams.get('error') === null && won) {
    const form = {
      grant_type: 'authorization_code',
      client_id: client,
      code: returnedCode(won),
      code_verifier: verifier,
    }
    t.equal((await askToken(flow, form)).status, 200)
  } else t.equal(await numberOf('from auth.oauth_consents where client_id = $1', [client]), 0)
})

t.test('the signature of a passkey', async (t) => {
  const { token } = await user()
  const key = newKey()
  await register(first, token, key)
  const { challengeId, options } = await beginSignIn(second)
  const signature = key.get(options)
  onlyOne(t, await race((ask) => answerSignIn(ask, challengeId, signature)))
  const another = await Promise.all(doors.map(beginSignIn))
  for (const { challengeId: other } of another) t.equal((await answerSignIn(first, other, signature)).status, 400)
})

t.test('a new passkey: one answer, and one account', async (t) => {
  const [one, two] = [await user(), await user()]
  const { challengeId, options } = await beginRegistration(first, one.token)
  const created = newKey().create(options)
  onlyOne(t, await race((ask) => answerRegistration(ask, one.token, challengeId, created)))
  t.equal(await numberOf('from auth.webauthn_credentials where user_id = $1', [one.id]), 1)

  // Two users register one key at the same time.
  const key = newKey()
  const begun = await Promise.all([one, two].map(({ token }) => beginRegistration(second, token)))
  const answers = await Promise.all(
    [one, two].map(({ token }, index) => {
      const { challengeId: id, options: wanted } = begun[index] ?? { challengeId: '', options }
      return answerRegistration(doors[index] ?? first, token, id, key.create(wanted))
    }),
  )
  onlyOne(t, answers)
})

t.test('a code of an authenticator app, for challenges of two processes', async (t) => {
  const { token } = await user()
  const factor = await enroll(first, token)
  const challenges = await Promise.all(
    Array.from({ length: 20 }, (_, index) => challenge(doors[index % 2] ?? first, token, factor)),
  )
  const code = codeOfApp(factor)
  const path = `/factors/${factor.id}/verify`
  onlyOne(t, await race((ask, index) => ask('POST', path, { token, body: { challenge_id: challenges[index], code } })))
})

t.test('a recovery code', async (t) => {
  const { token } = await user()
  const { factor, session } = await raise(first, token)
  const { access_token: high } = session
  const codes = (await first('POST', '/factors/recovery-codes', { token: high })).body.codes as string[]
  const challenges = await Promise.all(Array.from({ length: 20 }, () => challenge(second, high, factor)))
  const path = `/factors/${factor.id}/verify`
  const answers = await race((ask, index) =>
    ask('POST', path, { token: high, body: { challenge_id: challenges[index], code: codes[0] } }),
  )
  const won = onlyOne(t, answers)
  const left = await first('GET', '/factors/recovery-codes', { token: String(won?.body.access_token) })
  t.match(left.body, { total: 10, remaining: 9 })
})

t.test('the nonce of a new password', async (t) => {
  const { email, token } = await user()
  await database.query(
    `update auth.sessions set created_at = now() - interval '2 days'
     where user_id = (select id from auth.users where email = $1)`,
    [email],
  )
  await first('GET', '/reauthenticate', { token })
  const { code: nonce } = await sink.next(email)
  const answers = await race((ask, index) =>
    ask('PUT', '/user', { token, body: { password: `${password} ${index}`, nonce } }),
  )
  onlyOne(t, answers)
})

t.test('an address that two users want', async (t) => {
  const [one, two] = [await user(), await user()]
  const wanted = newAddress()
  const codes: { readonly email: string; readonly token: string }[] = []
  for (const { email, token } of [one, two]) {
    await first('PUT', '/user', { token, body: { email: wanted } })
    const [current, pending] = [await sink.next(email), await sink.next(wanted)]
    await first('POST', '/verify', { body: { type: 'email_change', email, token: current.code } })
    codes.push({ email: wanted, token: pending.code })
  }
  const answers = await race((ask, index) =>
    ask('POST', '/verify', { body: { type: 'email_change', ...codes[index % 2] } }),
  )
  onlyOne(t, answers)
  t.equal(await numberOf('from auth.users where email = $1', [wanted]), 1)
})
