// Codes and links that are refused: used, guessed, expired, malformed, or above the limits.
import t from 'tap'
import { askAuth, codeOf, newAddress } from '../support/auth.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { follow, fragmentOf, pageClient, signUpByMail } from '../support/page-client.ts'
import { signToken } from '../support/token.ts'

const { ask, database, sink, startAnother, url } = await startMailingService(t, cookieSettings)
const serviceToken = await signToken({ role: 'service_role' })

const client = () => pageClient(url, 'anon')

/** Signs up and confirms the address. */
const confirmedUser = async (supabase = client()) => ({ supabase, email: await signUpByMail(supabase, sink) })

t.test('of two confirmations of one link, one wins', async (t) => {
  const { email } = await confirmedUser()
  await client().auth.signInWithOtp({ email })
  const { link, code } = await sink.next(email)
  const byLink = Array.from({ length: 10 }, async () => 'access_token' in fragmentOf(await follow(link)))
  const byCode = Array.from({ length: 10 }, async () => {
    const { status } = await ask('POST', '/verify', { body: { type: 'email', email, token: code } })
    return status === 200
  })
  const results = await Promise.all([...byLink, ...byCode])
  t.equal(results.filter((it) => it).length, 1)
})

t.test('a code has five tries, its link is not affected', async (t) => {
  const { email } = await confirmedUser()
  await client().auth.signInWithOtp({ email })
  const { link, code } = await sink.next(email)
  const guesses = Array.from({ length: 5 }, (_, index) =>
    String((Number(code) + index + 1) % 1_000_000).padStart(6, '0'),
  )
  await Promise.all(guesses.map((token) => ask('POST', '/verify', { body: { type: 'email', email, token } })))
  const right = await ask('POST', '/verify', { body: { type: 'email', email, token: code } })
  t.strictSame([right.status, codeOf(right)], [403, 'otp_expired'])
  t.ok('access_token' in fragmentOf(await follow(link)))
})

t.test('codes expire, belong to one address, and are not accepted from banned users', async (t) => {
  const { email } = await confirmedUser()
  const { email: other } = await confirmedUser()
  await client().auth.signInWithOtp({ email })
  const { code, link } = await sink.next(email)
  const foreign = await ask('POST', '/verify', { body: { type: 'email', email: other, token: code } })
  t.equal(codeOf(foreign), 'otp_expired')
  const wrongType = await ask('POST', '/verify', { body: { type: 'signup', email, token: code } })
  t.equal(codeOf(wrongType), 'otp_expired')
  await database.query(`update auth.users set banned_until = now() + interval '1 h' where email = '${email}'`)
  const banned = await ask('POST', '/verify', { body: { type: 'email', email, token: code } })
  t.strictSame([banned.status, codeOf(banned)], [403, 'user_banned'])
  await database.query(
    `update auth.users set banned_until = null, recovery_sent_at = now() - interval '2 days' where email = '${email}'`,
  )
  const late = await ask('POST', '/verify', { body: { type: 'email', email, token: code } })
  t.strictSame([late.status, codeOf(late)], [403, 'otp_expired'])
  t.match(fragmentOf(await follow(link)), { error_code: 'otp_expired' })
})

const errors: readonly (readonly [path: string, body: unknown, status: number, code: string, message: RegExp])[] = [
  ['/otp', {}, 400, 'validation_failed', /One of email or phone must be set/],
  ['/otp', { email: 'a@b.test', phone: '1234' }, 400, 'validation_failed', /Only an email address or phone/],
  ['/otp', { email: 'a@b.test', channel: 'sms' }, 400, 'validation_failed', /Channel should only/],
  ['/otp', { email: 'nobody' }, 400, 'validation_failed', /Unable to validate email address: invalid format/],
  ['/otp', { email: 'a@b.test\r\nBcc: c@d.test' }, 400, 'validation_failed', /invalid format/],
  ['/otp', { email: 'a@b.test', code_challenge: 'x' }, 400, 'validation_failed', /PKCE flow requires/],
  ['/otp', { phone: '15551234567' }, 400, 'phone_provider_disabled', /Unsupported phone provider/],
  ['/otp', { email: 1 }, 400, 'bad_json', /email/],
  ['/magiclink', {}, 422, 'validation_failed', /requires an email/],
  ['/recover', {}, 400, 'validation_failed', /Password recovery requires an email/],
  ['/recover', { email: 'x' }, 400, 'validation_failed', /invalid format/],
  ['/resend', { email: 'a@b.test' }, 400, 'validation_failed', /Missing one of these types/],
  ['/resend', { type: 'signup' }, 400, 'validation_failed', /requires an email address/],
  ['/resend', { type: 'sms' }, 400, 'validation_failed', /requires a phone number/],
  ['/resend', { type: 'email_change' }, 400, 'validation_failed', /Missing email address or phone number/],
  ['/resend', { type: 'sms', phone: '15551234567' }, 400, 'phone_provider_disabled', /Phone logins are disabled/],
  ['/verify', {}, 400, 'validation_failed', /requires a verification type/],
  ['/verify', { type: 'email' }, 400, 'validation_failed', /either a token or a token hash/],
  ['/verify', { type: 'email', token: '1', token_hash: '2' }, 400, 'validation_failed', /either a token/],
  ['/verify', { type: 'email', token: '1' }, 400, 'validation_failed', /Only an email address or phone number/],
  ['/verify', { type: 'email', token_hash: '1', email: 'a@b.test' }, 400, 'validation_failed', /Only the token_hash/],
  ['/verify', { type: 'sms', token_hash: '1' }, 400, 'validation_failed', /Invalid email verification type/],
  ['/verify', { type: 'email', token: '1', email: 'x' }, 422, 'validation_failed', /Invalid email format/],
  ['/verify', { type: 'email', token: '1', email: 'a@b.test' }, 403, 'otp_expired', /Token has expired or is invalid/],
  ['/verify', { type: 'email', token_hash: '1' }, 403, 'otp_expired', /Email link is invalid or has expired/],
  ['/verify', { type: 'nonsense', token: '1', email: 'a@b.test' }, 403, 'otp_expired', /Token has expired/],
  ['/invite', { email: 'a@b.test' }, 401, 'no_authorization', /./],
  ['/admin/generate_link', { email: 'a@b.test' }, 401, 'no_authorization', /./],
]

t.test('errors', async (t) => {
  for (const [path, body, status, code, message] of errors) {
    const answer = await ask('POST', path, { body })
    t.match(answer.body, { code: status, error_code: code, msg: message }, `${path} ${JSON.stringify(body)}`)
    t.equal(answer.status, status)
  }
  for (const query of ['', '?type=signup', '?token=x']) {
    t.match(await ask('GET', `/verify${query}`), { status: 400, body: { error_code: 'validation_failed' } })
  }
  t.match(await ask('GET', '/reauthenticate'), { status: 401, body: { error_code: 'no_authorization' } })
  const odd = await ask('GET', '/verify?type=sms&token=x')
  t.equal(odd.status, 303)
  t.match(odd.headers.get('location'), /^https:\/\/app\.test#error=invalid_request&error_code=validation_failed/)
  const wrong = { type: 'nonsense', email: newAddress() }
  t.match(await ask('POST', '/admin/generate_link', { body: wrong, token: serviceToken }), { status: 400 })
  t.equal((await ask('GET', '/dev/mailbox')).status, 404, 'the mailbox is for development only')
})

t.test('the limits are the same for strangers', async (t) => {
  const limited = await startAnother({ GOTRUE_SMTP_MAX_FREQUENCY: '1m' })
  const askLimited = askAuth(limited.url)
  const { email } = await confirmedUser()
  const stranger = newAddress()
  for (const path of ['/recover', '/resend']) {
    const body = path === '/resend' ? { type: 'signup' } : {}
    const answers = []
    for (const address of [email, stranger]) {
      const first = await askLimited('POST', path, { body: { ...body, email: address } })
      const second = await askLimited('POST', path, { body: { ...body, email: address } })
      answers.push([first.status, first.text, second.status, codeOf(second), second.headers.has('retry-after')])
      t.match(second.body.msg, /^For security purposes, you can only request this after \d+ seconds\.$/)
    }
    t.strictSame(answers[0], answers[1], path)
    t.strictSame(answers[0], [200, '{}', 429, 'over_email_send_rate_limit', true], path)
  }
  const phoned = await startAnother({ GOTRUE_EXTERNAL_PHONE_ENABLED: 'true' })
  for (const type of ['phone_change', 'phone_change', 'sms']) {
    const answer = await askAuth(phoned.url)('POST', '/resend', { body: { type, phone: '15550001111' } })
    t.match(answer, { status: 200, text: '{}' }, `${type}: there is nothing to send`)
  }
  const none = await startAnother({ GOTRUE_RATE_LIMIT_EMAIL_SENT: '0' })
  const refused = await askAuth(none.url)('POST', '/recover', { body: { email } })
  t.strictSame([refused.status, codeOf(refused)], [429, 'over_email_send_rate_limit'])
  t.match(refused.body.msg, /GOTRUE_RATE_LIMIT_EMAIL_SENT/)
})
