// Mails about passkeys and second factors that were added or removed.
import t from 'tap'
import { signUp as signUpWithCookie } from '../support/account.ts'
import { newAddress, sessionOf, type Json, type SessionBody } from '../support/auth.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'
import { register, signInWith } from '../support/passkey.ts'
import { codeOfApp, enroll, verify } from '../support/second-factor.ts'
import { SoftAuthenticator } from '../support/soft-authenticator.ts'
import { until } from '../support/until.ts'

const kinds = ['MFA_FACTOR_ENROLLED', 'MFA_FACTOR_UNENROLLED', 'PASSKEY_ADDED', 'PASSKEY_REMOVED']
const enabled = Object.fromEntries(kinds.map((kind) => [`GOTRUE_MAILER_NOTIFICATIONS_${kind}_ENABLED`, 'true']))
const { ask, call, database, sink, signInByMail, startAnother } = await startMailingService(t, {
  ...cookieSettings,
  GOTRUE_PASSKEY_ENABLED: 'true',
  AUTH_ADDRESS_LIMIT: '100000',
  ...{ GOTRUE_RATE_LIMIT_OTP: '100000', GOTRUE_RATE_LIMIT_VERIFY: '100000', GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000' },
  ...enabled,
})
const newKey = () => new SoftAuthenticator({ origin: 'https://app.test' })

t.test('a passkey that is added and removed', async (t) => {
  const email = newAddress()
  const { access_token: token } = await signInByMail(email)
  const { body } = await register(ask, token, newKey())
  const added = await sink.next(email)
  t.equal(added.subject, 'A passkey was added to your account')
  t.match(added.text, 'Passkey')
  t.match(added.text, email)
  t.match(added.text, 'https://app.test')
  t.equal((await register(ask, token, newKey(), { origin: 'https://evil.test' })).status, 400)

  const path = `/passkeys/${String(body.id)}`
  await ask('PATCH', path, { token, body: { friendly_name: '<script>{{ .Email }}' } })
  t.equal((await ask('DELETE', path, { token })).status, 204)
  const removed = await sink.next(email)
  t.equal(removed.subject, 'A passkey was removed from your account')
  t.match(removed.text, '&lt;script&gt;{{ .Email }}', 'a name is text')
  t.equal((await ask('DELETE', path, { token })).status, 404)
  t.equal(sink.countTo(email), 3, 'none about what failed')
})

t.test('a second factor, once it is verified', async (t) => {
  const email = newAddress()
  const { access_token: token } = await signInByMail(email)
  const forgotten = await enroll(ask, token, 'forgotten')
  t.equal((await ask('DELETE', `/factors/${forgotten.id}`, { token })).status, 200)
  const factor = await enroll(ask, token)
  const raised = sessionOf(await verify(ask, token, factor, codeOfApp(factor)))
  const added = await sink.next(email)
  t.equal(added.subject, 'A second factor was added to your account')
  t.match(added.text, '(totp)')
  sessionOf(await verify(ask, raised.access_token, factor, codeOfApp(factor, 1)))
  t.equal((await ask('DELETE', `/factors/${factor.id.toUpperCase()}`, { token: raised.access_token })).status, 200)
  t.equal((await sink.next(email)).subject, 'A second factor was removed from your account')
  t.equal(sink.countTo(email), 3, 'none for a factor that was never verified, or is used')
})

t.test('who gets no mail', async (t) => {
  const email = newAddress()
  const user = await signUpWithCookie(call, email)
  await sink.next(email)
  const { access_token: token } = ((await user.call('POST', '/auth/tokens')).body as { details: SessionBody }).details
  t.equal((await register(ask, token, newKey())).status, 200)

  const { ask: quiet } = await startAnother(Object.fromEntries(Object.keys(enabled).map((name) => [name, 'false'])))
  const other = newAddress()
  const session = await signInByMail(other, quiet)
  t.equal((await register(quiet, session.access_token, newKey())).status, 200)

  // The change does not depend on the mail.
  const { ask: limited } = await startAnother({ GOTRUE_RATE_LIMIT_EMAIL_SENT: '1' })
  const third = newAddress()
  const { access_token: thirdToken } = await signInByMail(third)
  const keys = [newKey(), newKey(), newKey()]
  for (const key of keys) t.equal((await register(limited, thirdToken, key)).status, 200)
  t.equal((await signInWith(limited, keys[2] ?? newKey())).status, 200)

  const last = newAddress()
  const { access_token: lastToken } = await signInByMail(last)
  await register(ask, lastToken, newKey())
  await sink.next(last)
  t.equal(sink.countTo(email), 1, 'an address that is not confirmed')
  t.equal(sink.countTo(other), 1, 'without the settings')
  t.ok(sink.countTo(third) <= 2, 'the limit of mails')
})

t.test('the hook in the place of mails', async (t) => {
  await database.query(`
    create schema hooks;
    create table hooks.mails (event jsonb);
    create function hooks.keep(event jsonb) returns jsonb language plpgsql set search_path = hooks as $$
    begin
      if event #>> '{email_data,email_action_type}' = 'passkey_removed_notification' then raise exception 'broken'; end if;
      insert into mails values (event);
      return '{}';
    end $$;
    grant usage on schema hooks to supabase_auth_admin;
    grant insert on hooks.mails to supabase_auth_admin;
  `)
  const { ask: hooked } = await startAnother({
    GOTRUE_HOOK_SEND_EMAIL_ENABLED: 'true',
    GOTRUE_HOOK_SEND_EMAIL_URI: 'pg-functions://postgres/hooks/keep',
  })
  const email = newAddress()
  const { access_token: token, user } = await signInByMail(email)
  const { body } = await register(hooked, token, newKey())
  const kept = async () => (await database.query('select event from hooks.mails')).rows as { event: Json }[]
  t.ok(await until(async () => (await kept()).length === 1))
  const [{ event } = { event: {} }] = await kept()
  t.match(event, {
    user: { id: user.id, email },
    email_data: {
      ...{ email_action_type: 'passkey_added_notification', passkey_name: 'Passkey', token: '', factor_type: '' },
      redirect_to: 'https://app.test',
    },
  })
  t.equal((await hooked('DELETE', `/passkeys/${String(body.id)}`, { token })).status, 204, 'a hook that fails')
  const factor = await enroll(hooked, token)
  sessionOf(await verify(hooked, token, factor, codeOfApp(factor)))
  t.ok(await until(async () => (await kept()).length === 2))
  t.match((await kept())[1]?.event.email_data, {
    email_action_type: 'mfa_factor_enrolled_notification',
    factor_type: 'totp',
  })
})
