// Mails about changes of an account: password, address, phone number, linked identities, and what administrators remove.
import t from 'tap'
import { signUp as signUpWithCookie } from '../support/account.ts'
import { newAddress, password, sessionOf, type Json } from '../support/auth.ts'
import { startIssuer } from '../support/id-token-issuer.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { register } from '../support/passkey.ts'
import { raise } from '../support/second-factor.ts'
import { SoftAuthenticator } from '../support/soft-authenticator.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const google = await startIssuer(t)
const kinds = [
  ...['PASSWORD_CHANGED', 'EMAIL_CHANGED', 'PHONE_CHANGED', 'IDENTITY_LINKED', 'IDENTITY_UNLINKED'],
  ...['PASSKEY_REMOVED', 'MFA_FACTOR_UNENROLLED'],
]
const enabled = Object.fromEntries(kinds.map((kind) => [`GOTRUE_MAILER_NOTIFICATIONS_${kind}_ENABLED`, 'true']))
const [first, second, third] = ['15550401', '15550402', '15550403'] as const
const { ask, call, database, sink, signInByMail, startAnother } = await startMailingService(t, {
  ...cookieSettings,
  ...{ GOTRUE_PASSKEY_ENABLED: 'true', GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true' },
  ...{ GOTRUE_EXTERNAL_GOOGLE_ENABLED: 'true', GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID: 'app' },
  GOTRUE_EXTERNAL_GOOGLE_URL: google.issuer,
  GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
  GOTRUE_SMS_TEST_OTP: [first, second, third].map((number) => `${number}=123456`).join(),
  GOTRUE_SMS_MAX_FREQUENCY: '0s',
  AUTH_ADDRESS_LIMIT: '100000',
  ...{ GOTRUE_RATE_LIMIT_OTP: '100000', GOTRUE_RATE_LIMIT_VERIFY: '100000', GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000' },
  ...enabled,
})
const admin = await signToken({ role: 'service_role' })

t.test('a new password', async (t) => {
  const email = newAddress()
  const { access_token: token } = await signInByMail(email)
  t.equal((await ask('PUT', '/user', { token, body: { data: { full_name: '<b>Ann</b>' } } })).status, 200)
  t.equal((await ask('PUT', '/user', { token, body: { password } })).status, 200)
  const mail = await sink.next(email)
  t.equal(mail.subject, 'Your password was changed')
  t.match(mail.text, email)
  t.match(mail.text, 'https://app.test')
  t.equal((await ask('PUT', '/user', { token, body: { password } })).status, 422, 'the same')
  t.equal((await ask('PUT', '/user', { token, body: { password: 'x' } })).status, 422, 'a weak one')
  const { ask: quiet } = await startAnother({ GOTRUE_MAILER_NOTIFICATIONS_PASSWORD_CHANGED_ENABLED: 'false' })
  t.equal((await quiet('PUT', '/user', { token, body: { password: `${password} 2` } })).status, 200)
  const { access_token: anonymous } = sessionOf(
    await (
      await startAnother({ GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true' })
    ).ask('POST', '/signup', { body: {} }),
  )
  const { ask: confirming } = await startAnother({ GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  const taken = newAddress()
  t.equal((await confirming('PUT', '/user', { token: anonymous, body: { email: taken, password } })).status, 200)
  const last = newAddress()
  await ask('PUT', '/user', { token: (await signInByMail(last)).access_token, body: { password } })
  await sink.next(last)
  t.equal(sink.countTo(email), 2, 'none about what failed, or without the setting')
  t.equal(sink.countTo(taken), 0, 'none about the first password of an anonymous user')
})

t.test('a new password and a new address with a cookie', async (t) => {
  const email = newAddress()
  const user = await signUpWithCookie(call, email)
  const { code } = await sink.next(email)
  await ask('POST', '/verify', { body: { type: 'signup', email, token: code } })
  const change = async (body: object) =>
    user.call('PATCH', '/auth/me', { body: { currentPassword: 'correct horse', ...body } })
  t.equal((await change({ currentPassword: 'wrong', password: 'another horse' })).status, 403)
  const moved = newAddress()
  t.equal((await change({ email: moved, password: 'another horse' })).status, 200)
  const subjects = [await sink.next(email), await sink.next(email)]
  t.strictSame(
    new Set(subjects.map(({ subject }) => subject)),
    new Set(['Your password was changed', 'The address of your account was changed']),
    'both to the old address, which was proved',
  )
  t.ok(subjects.some(({ text }) => text.includes(email) && text.includes(moved)))
  await sink.next(moved)
  t.equal(sink.countTo(moved), 1, 'the new one gets its code only')
  t.equal((await change({ currentPassword: 'another horse', email: newAddress() })).status, 200)
  t.equal(sink.countTo(moved), 1, 'an address that was never proved gets none')
})

t.test('a new address, from both mailboxes, by codes and by links', async (t) => {
  for (const pkce of [false, true]) {
    const [email, next] = [newAddress(), newAddress()]
    const { access_token: token } = await signInByMail(email)
    const challenge = { code_challenge: 'c'.repeat(43), code_challenge_method: 's256' }
    await ask('PUT', '/user', { token, body: { email: next, ...(pkce ? challenge : {}) } })
    const [old, current] = [await sink.next(email), await sink.next(next)]
    for (const [address, { code, link }] of [
      [email, old],
      [next, current],
    ] as const) {
      t.equal(sink.countTo(email), 2, 'nothing before both have confirmed')
      const answer = pkce
        ? await ask('GET', new URL(link).href.slice(new URL(link).href.indexOf('/verify')), {})
        : await ask('POST', '/verify', { body: { type: 'email_change', email: address, token: code } })
      t.equal(answer.status, pkce ? 303 : 200, answer.text)
    }
    const notice = await sink.next(email)
    t.equal(notice.subject, 'The address of your account was changed')
    t.match(notice.text, email)
    t.match(notice.text, next)
  }
})

t.test('a phone number', async (t) => {
  const email = newAddress()
  const { access_token: token } = await signInByMail(email)
  for (const [phone, subject] of [
    [first, 'A way to sign in was added to your account'],
    [second, 'The phone number of your account was changed'],
  ] as const) {
    t.equal((await ask('PUT', '/user', { token, body: { phone } })).status, 200)
    const answer = await ask('POST', '/verify', { body: { type: 'phone_change', phone, token: '123456' } })
    t.equal(answer.status, 200, answer.text)
    const mail = await sink.next(email)
    t.equal(mail.subject, subject)
    t.match(mail.text, phone === first ? 'phone' : new RegExp(`${first}.*${second}`, 's'))
  }
  const { ask: confirming } = await startAnother({ GOTRUE_SMS_AUTOCONFIRM: 'true' })
  t.equal((await confirming('PUT', '/user', { token, body: { phone: third } })).status, 200)
  t.match((await sink.next(email)).text, new RegExp(`${second}.*${third}`, 's'))
})

t.test('a linked identity', async (t) => {
  const email = newAddress()
  const { access_token: token, user } = await signInByMail(email)
  const ann = { sub: crypto.randomUUID(), email: newAddress(), email_verified: true }
  const body = { provider: 'google', id_token: await google.sign(ann), link_identity: true }
  sessionOf(await ask('POST', '/token?grant_type=id_token', { token, body }))
  const linked = await sink.next(email)
  t.equal(linked.subject, 'A way to sign in was added to your account')
  t.match(linked.text, 'google')
  t.equal((await ask('POST', '/token?grant_type=id_token', { token, body })).status, 422, 'again')
  // The identity of the address goes, and the account gets the address of the other.
  const { rows } = await database.query("select id from auth.identities where user_id = $1 and provider = 'email'", [
    user.id,
  ])
  const path = `/user/identities/${String(rows[0]?.id).toUpperCase()}`
  t.equal((await ask('DELETE', path, { token })).status, 200)
  const removed = await sink.next(email)
  t.equal(removed.subject, 'A way to sign in was removed from your account')
  t.match(removed.text, /email/)
  t.equal((await ask('DELETE', path, { token })).status, 422)
  t.equal(sink.countTo(ann.email), 0, 'to the address that the account had')
  t.equal(sink.countTo(email), 3)
})

t.test('what an administrator removes', async (t) => {
  const email = newAddress()
  const { access_token: token, user } = await signInByMail(email)
  const { body: passkey } = await register(ask, token, new SoftAuthenticator({ origin: 'https://app.test' }))
  const { factor } = await raise(ask, token)
  const remove = (path: string) => ask('DELETE', `/admin/users/${user.id}/${path}`, { token: admin })
  t.equal((await remove(`passkeys/${crypto.randomUUID()}`)).status, 404)
  t.equal((await remove(`passkeys/${String(passkey.id)}`)).status, 204)
  t.equal((await sink.next(email)).subject, 'A passkey was removed from your account')
  t.match((await remove(`factors/${factor.id}`)).body, { id: factor.id })
  t.equal((await sink.next(email)).subject, 'A second factor was removed from your account')
  t.equal(sink.countTo(email), 3)
})

t.test('the hook in the place of mails', async (t) => {
  await database.query(`
    create schema hooks;
    create table hooks.mails (event jsonb);
    create function hooks.keep(event jsonb) returns jsonb language plpgsql set search_path = hooks as $$
    begin
      insert into mails values (event);
      return '{}';
    end $$;
    grant usage on schema hooks to supabase_auth_admin;
    grant insert on hooks.mails to supabase_auth_admin;
  `)
  const { ask: hooked } = await startAnother({
    GOTRUE_HOOK_SEND_EMAIL_ENABLED: 'true',
    GOTRUE_HOOK_SEND_EMAIL_URI: 'pg-functions://postgres/hooks/keep',
    GOTRUE_MAILER_SECURE_EMAIL_CHANGE_ENABLED: 'false',
  })
  const [email, next] = [newAddress(), newAddress()]
  const { access_token: token, user } = await signInByMail(email)
  await ask('PUT', '/user', { token, body: { email: next } })
  await sink.next(email)
  const { code } = await sink.next(next)
  const body = { type: 'email_change', email: next, token: code }
  sessionOf(await hooked('POST', '/verify', { body }))
  const kept = async () => (await database.query('select event from hooks.mails')).rows as { event: Json }[]
  t.ok(await until(async () => (await kept()).length === 1))
  t.match((await kept())[0]?.event, {
    user: { id: user.id, email: next },
    email_data: { email_action_type: 'email_changed_notification', old_email: email, provider: '', old_phone: '' },
  })
})
