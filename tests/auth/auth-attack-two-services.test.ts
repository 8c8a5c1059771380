// Two services with one database: a code, a refresh token and a limit count once for both.
import t from 'tap'
import {
  codeOf,
  newAddress,
  password,
  refreshGrant,
  sessionOf,
  type AskAuth,
  type AuthAnswer,
} from '../support/auth.ts'
import { startMailingService } from '../support/mailing-service.ts'

const { ask: first, database, sink, startAnother } = await startMailingService(t)
const { ask: second } = await startAnother()
const doors = [first, second] as const

/** Sends a request to both services by turns, all at once. */
const toBoth = (number: number, send: (ask: AskAuth) => Promise<AuthAnswer>, [one, other] = doors) =>
  Promise.all(Array.from({ length: number }, (_, index) => send(index % 2 ? one : other)))
const statuses = (answers: readonly AuthAnswer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length

async function confirmed() {
  const email = newAddress()
  await first('POST', '/signup', { body: { email, password } })
  const { code } = await sink.next(email)
  return sessionOf(await second('POST', '/verify', { body: { type: 'signup', email, token: code } }))
}

t.test('one of many uses of a code succeeds', async (t) => {
  const { user } = await confirmed()
  const email = String(user.email)
  await first('POST', '/otp', { body: { email } })
  const { code } = await sink.next(email)
  const answers = await toBoth(20, (ask) => ask('POST', '/verify', { body: { type: 'email', email, token: code } }))
  t.equal(statuses(answers, 200), 1)
  const refusals = answers.filter(({ status }) => status !== 200).map(codeOf)
  const expected = new Set(['otp_expired', 'over_request_rate_limit'])
  t.strictSame(
    refusals.filter((code) => !expected.has(String(code))),
    [],
    'too many at once are refused before they are compared',
  )
})

t.test('wrong codes count together', async (t) => {
  const { user } = await confirmed()
  const email = String(user.email)
  await first('POST', '/otp', { body: { email } })
  const { code } = await sink.next(email)
  const wrong = code === '000000' ? '000001' : '000000'
  await toBoth(6, (ask) => ask('POST', '/verify', { body: { type: 'email', email, token: wrong } }))
  const { rows } = await database.query('select wrong_tries from auth.one_time_tokens where relates_to = $1', [email])
  t.strictSame(rows, [{ wrong_tries: 5 }])
  for (const ask of doors) {
    t.equal(codeOf(await ask('POST', '/verify', { body: { type: 'email', email, token: code } })), 'otp_expired')
  }
})

t.test('all refreshes of a token get one child', async (t) => {
  const { refresh_token: token, user } = await confirmed()
  const body = { refresh_token: token }
  const answers = await toBoth(30, (ask) => ask('POST', '/token?grant_type=refresh_token', { body }))
  t.equal(statuses(answers, 200), 30)
  t.equal(new Set(answers.map((answer) => sessionOf(answer).refresh_token)).size, 1)
  const { rows } = await database.query('select from auth.refresh_tokens where user_id = $1', [user.id])
  t.equal(rows.length, 2, 'the token and its child')
})

t.test('a family that one service ends has ended at the other', async (t) => {
  const { refresh_token: one } = await confirmed()
  const two = sessionOf(await refreshGrant(second, one)).refresh_token
  const three = sessionOf(await refreshGrant(first, two)).refresh_token
  t.equal(codeOf(await refreshGrant(second, one)), 'refresh_token_already_used')
  t.equal(codeOf(await refreshGrant(first, three)), 'refresh_token_already_used')
})

t.test('requests and mails are limited together', async (t) => {
  const limits = { GOTRUE_RATE_LIMIT_HEADER: 'X-Client', GOTRUE_RATE_LIMIT_OTP: '6' }
  const limited = [(await startAnother(limits)).ask, (await startAnother(limits)).ask] as const
  const headers = { 'X-Client': '203.0.113.1' }
  const requests = await toBoth(
    20,
    (ask) => ask('POST', '/recover', { body: { email: newAddress() }, headers }),
    limited,
  )
  t.equal(statuses(requests, 200), 6)
  t.equal(statuses(requests, 429), 14)

  await database.query("delete from rowhouse_limits.buckets where subject like '%email_sent%'")
  const sent = { GOTRUE_RATE_LIMIT_EMAIL_SENT: '4/1h' }
  const mailing = [(await startAnother(sent)).ask, (await startAnother(sent)).ask] as const
  const mails = await toBoth(20, (ask) => ask('POST', '/otp', { body: { email: newAddress() } }), mailing)
  t.equal(statuses(mails, 200), 4)
  t.strictSame(
    new Set(mails.filter(({ status }) => status !== 200).map(codeOf)),
    new Set(['over_email_send_rate_limit']),
  )
})

t.test('one of many sign-ups with an address creates the account', async (t) => {
  const auto = { GOTRUE_MAILER_AUTOCONFIRM: 'true' }
  const confirming = [(await startAnother(auto)).ask, (await startAnother(auto)).ask] as const
  const email = newAddress()
  const answers = await toBoth(20, (ask) => ask('POST', '/signup', { body: { email, password } }), confirming)
  t.equal(statuses(answers, 200), 1)
  t.equal(statuses(answers, 422), 19)
})
