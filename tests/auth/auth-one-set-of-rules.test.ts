// Sign-up, sign-in, passwords, hooks and limits of sessions: the same decisions at /auth/v1 and with a cookie.
import { decodeJwt } from 'jose'
import t from 'tap'
import { detailsOf, password, signIn, signUp } from '../support/account.ts'
import { codeOf, newAddress, passwordGrant, refreshGrant, sessionOf } from '../support/auth.ts'
import { cookieSettings, startMailingService } from '../support/mailing-service.ts'

const { ask, call, database, sink, startAnother, reload } = await startMailingService(t, {
  ...cookieSettings,
  AUTH_ADDRESS_LIMIT: '100000',
  GOTRUE_RATE_LIMIT_OTP: '100000',
  GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000',
})
const firstName = 'Test'
type Tokens = { readonly access_token: string; readonly refresh_token: string }

t.test('a setting: /auth/v1 -> cookie', async (t) => {
  const known = await signUp(call, newAddress())
  await database.query('update auth.users set email_confirmed_at = now() where id = $1', [known.id])
  const signsUp = (email: string, secret: string) => ({
    tokens: () => ask('POST', '/signup', { body: { email, password: secret } }),
    cookie: () => call('POST', '/auth/signup', { body: { email, password: secret, firstName } }),
  })
  const signsIn = {
    tokens: () => passwordGrant(ask, known.email, password),
    cookie: () => call('POST', '/auth/signin', { body: { email: known.email, password } }),
  }
  const body = { currentPassword: password, password: 'letters only' }
  const changes = {
    tokens: async () => {
      const { access_token: token } = sessionOf(await passwordGrant(ask, known.email, password))
      return ask('PUT', '/user', { token, body: { password: 'letters only' } })
    },
    cookie: () => known.call('PATCH', '/auth/me', { body }),
  }
  const weak = { GOTRUE_PASSWORD_REQUIRED_CHARACTERS: '0123456789', GOTRUE_PASSWORD_MIN_LENGTH: '10' }
  for (const [setting, doors, atTokens, atCookie] of [
    [{ GOTRUE_DISABLE_SIGNUP: 'true' }, signsUp(newAddress(), password), 'signup_disabled', 403],
    [{ GOTRUE_EXTERNAL_EMAIL_ENABLED: 'false' }, signsUp(newAddress(), password), 'email_provider_disabled', 403],
    [{ GOTRUE_EXTERNAL_EMAIL_ENABLED: 'false' }, signsIn, 'email_provider_disabled', 403],
    [weak, signsUp(newAddress(), '12345678'), 'weak_password', 400],
    [weak, changes, 'weak_password', 400],
  ] as const) {
    await reload(setting)
    const [tokens, cookie] = [await doors.tokens(), await doors.cookie()]
    await reload(Object.fromEntries(Object.keys(setting).map((name) => [name, undefined])))
    const name = JSON.stringify(setting)
    t.equal(codeOf(tokens), atTokens, name)
    t.equal(cookie.status, atCookie, `${name}: ${cookie.text}`)
    t.equal(cookie.cookie, undefined, name)
  }
  const { rows } = await database.query('select count(*)::int as count from auth.users')
  t.strictSame(rows, [{ count: 1 }], 'no account was created')
})

t.test('hooks are called at both doors, with the same payload', async (t) => {
  await database.query(`
    create schema hooks;
    create table hooks.calls (id serial, hook text, event jsonb);
    create function hooks.before_user_created(event jsonb) returns jsonb language plpgsql security definer set search_path = ''
      as $$ begin insert into hooks.calls (hook, event) values ('before', event);
        return case when event -> 'user' ->> 'email' like 'refused%'
          then '{"error": {"http_code": 418, "message": "not you"}}' else '{}' end::jsonb; end $$;
    create function hooks.after_user_created(event jsonb) returns jsonb language plpgsql security definer set search_path = ''
      as $$ begin insert into hooks.calls (hook, event) values ('after', event); return '{}'; end $$;
    create function hooks.attempt(event jsonb) returns jsonb language plpgsql security definer set search_path = ''
      as $$ begin insert into hooks.calls (hook, event) values ('attempt', event);
        return case when event ->> 'valid' = 'true' then '{"decision": "continue"}'
          else '{"decision": "reject", "message": "no more"}' end::jsonb; end $$;
    create function hooks.token(event jsonb) returns jsonb language plpgsql security definer set search_path = ''
      as $$ begin insert into hooks.calls (hook, event) values ('token', event);
        return jsonb_build_object('claims', event -> 'claims' || '{"tenant": 7}'); end $$;
    grant usage on schema hooks to supabase_auth_admin;
    grant execute on all functions in schema hooks to supabase_auth_admin;
    revoke execute on all functions in schema hooks from public, anon, authenticated`)
  const hook = (name: string, routine: string) => ({
    [`GOTRUE_HOOK_${name}_ENABLED`]: 'true',
    [`GOTRUE_HOOK_${name}_URI`]: `pg-functions://postgres/hooks/${routine}`,
  })
  const hooked = await startAnother({
    ...hook('BEFORE_USER_CREATED', 'before_user_created'),
    ...hook('AFTER_USER_CREATED', 'after_user_created'),
    ...hook('PASSWORD_VERIFICATION_ATTEMPT', 'attempt'),
    ...hook('CUSTOM_ACCESS_TOKEN', 'token'),
  })
  const calls = async (): Promise<readonly { readonly hook: string; readonly event: Record<string, unknown> }[]> => {
    const { rows } = await database.query(
      'with gone as (delete from hooks.calls returning *) select * from gone order by id',
    )
    return rows as { hook: string; event: Record<string, unknown> }[]
  }
  const names = async () => (await calls()).map((it) => it.hook)

  const email = newAddress()
  const user = await signUp(hooked.call, email)
  const created = await calls()
  t.match(created, [
    { hook: 'before', event: { user: { id: user.id, email, user_metadata: { first_name: 'Test' } } } },
    { hook: 'after', event: { user: { id: user.id, email, user_metadata: { first_name: 'Test' } } } },
  ])
  t.equal(created.length, 2)
  await hooked.ask('POST', '/signup', { body: { email: newAddress(), password } })
  t.strictSame(await names(), ['before', 'after'], 'as at /auth/v1')

  const refused = `refused-${newAddress()}`
  const atCookie = await hooked.call('POST', '/auth/signup', { body: { email: refused, password, firstName } })
  t.match([atCookie.status, atCookie.body], [418, { message: 'not you' }])
  t.equal((await hooked.ask('POST', '/signup', { body: { email: refused, password } })).status, 418)
  t.equal((await database.query('select from auth.users where email = $1', [refused])).rowCount, 0)
  t.strictSame(await names(), ['before', 'before'])
  t.equal((await hooked.call('POST', '/auth/signup', { body: { email, password, firstName } })).status, 409)
  t.strictSame(await names(), [], 'an address that is taken is not that of a new user')

  const wrong = await hooked.call('POST', '/auth/signin', { body: { email, password: 'wrong' } })
  t.match([wrong.status, wrong.body], [400, { message: 'no more' }])
  t.equal((await passwordGrant(hooked.ask, email, 'wrong')).status, 400)
  const attempts = await calls()
  t.match(attempts, [
    { hook: 'attempt', event: { user_id: user.id, valid: false } },
    { hook: 'attempt', event: { user_id: user.id, valid: false } },
  ])
  const again = await signIn(hooked.call, email)
  t.strictSame(await names(), ['attempt'])
  t.equal((await again.call('PATCH', '/auth/me', { body: { currentPassword: 'wrong', email } })).status, 400)
  t.equal((await again.call('DELETE', '/auth/me', { body: { password: 'wrong' } })).status, 400)
  t.strictSame(await names(), ['attempt', 'attempt'], 'and where the cookie asks for the password')

  const token = detailsOf<Tokens>(await again.call('POST', '/auth/token')).access_token
  const pair = detailsOf<Tokens>(await again.call('POST', '/auth/tokens')).access_token
  for (const claims of [decodeJwt(token), decodeJwt(pair)]) {
    t.match(claims, {
      sub: user.id,
      tenant: 7,
      role: 'authenticated',
      session_id: String,
      amr: [{ method: 'password' }],
    })
    t.notOk('email' in claims, 'the address is not confirmed')
  }
  t.equal(Number(decodeJwt(token).exp) - Number(decodeJwt(token).iat), 900)
  t.strictSame(await names(), ['token', 'token'])
  t.equal((await hooked.call('GET', '/rest/v1/reports', { headers: { Authorization: `Bearer ${token}` } })).status, 200)
})

/** Moves the whole life of the user's sessions into the past. */
const age = (id: string, seconds: number) =>
  database.query(
    `update auth.sessions set created_at = created_at - $2 * interval '1 second',
       refreshed_at = refreshed_at - $2 * interval '1 second' where user_id = $1`,
    [id, seconds],
  )

t.test('a session with a cookie has the limits of one with tokens', async (t) => {
  for (const [limit, setting, used] of [
    ['timebox', { GOTRUE_SESSIONS_TIMEBOX: '1h' }, false],
    ['inactivity', { GOTRUE_SESSIONS_INACTIVITY_TIMEOUT: '1h' }, true],
  ] as const) {
    const limited = await startAnother(setting)
    const user = await signUp(limited.call, newAddress())
    const tokens = detailsOf<Tokens>(await user.call('POST', '/auth/tokens'))
    if (limit === 'timebox') {
      const { cookie } = await limited.call('POST', '/auth/signin', { body: { email: user.email, password } })
      const expires = Number(/\.(\d{10})\./.exec(cookie ?? '')?.[1])
      t.ok(expires - Date.now() / 1000 < 3700, 'the cookie does not outlive the session')
      await database.query(
        'delete from auth.sessions where user_id = $1 and id_hash is not null and refreshed_at is null and id not in (select session_id from auth.refresh_tokens)',
        [user.id],
      )
    }
    await age(user.id, 3000)
    t.equal((await user.call('GET', '/auth/me')).status, 200, `${limit}: it has not ended`)
    t.equal((await user.call('GET', '/report')).status, 200)
    await age(user.id, 3000)
    // Its use has been noted.
    t.equal((await user.call('GET', '/auth/me')).status, used ? 200 : 401, limit)
    await age(user.id, 4000)
    for (const [method, path] of [
      ['GET', '/auth/me'],
      ['GET', '/report'],
      ['POST', '/auth/token'],
      ['POST', '/auth/tokens'],
    ] as const) {
      t.equal((await user.call(method, path)).status, 401, `${limit}: ${method} ${path}`)
    }
    const bearer = { headers: { Authorization: `Bearer ${tokens.access_token}` } }
    t.equal((await limited.call('POST', '/auth/session', bearer)).status, 403, `${limit}: no cookie for its token`)
    t.equal(codeOf(await refreshGrant(limited.ask, tokens.refresh_token)), 'session_expired')
    t.equal((await call('GET', '/auth/me', { headers: { Cookie: user.cookie } })).status, 200, 'without the limit')
  }
})

t.test('one session per user', async (t) => {
  const single = await startAnother({ GOTRUE_SESSIONS_SINGLE_PER_USER: 'true' })
  const first = await signUp(single.call, newAddress())
  const tokens = detailsOf<Tokens>(await first.call('POST', '/auth/tokens'))
  t.equal((await first.call('GET', '/report')).status, 200)
  const other = await signUp(single.call, newAddress())
  const second = await signIn(single.call, first.email)
  for (const path of ['/auth/me', '/report']) t.equal((await first.call('GET', path)).status, 401, path)
  t.equal((await first.call('POST', '/auth/tokens')).status, 401)
  t.equal(codeOf(await refreshGrant(single.ask, tokens.refresh_token)), 'session_expired')
  t.equal((await second.call('GET', '/report')).status, 200)
  t.equal(detailsOf<object[]>(await second.call('GET', '/auth/sessions')).length, 1)
  t.equal((await other.call('GET', '/report')).status, 200, 'of another user')
})

t.test('a cookie sign-up has its address confirmed by its mail', async (t) => {
  const email = newAddress()
  const user = await signUp(call, email)
  t.equal((await user.call('GET', '/report')).status, 200)
  t.equal(codeOf(await passwordGrant(ask, email, password)), 'email_not_confirmed')
  const { access_token: token } = detailsOf<Tokens>(await user.call('POST', '/auth/tokens'))
  t.match(decodeJwt(token), { sub: user.id, user_metadata: { email_verified: false } })
  t.notOk('email' in decodeJwt(token))
  const shown = await ask('GET', '/user', { token })
  t.match(shown.body, { email, identities: [{ identity_data: { email_verified: false } }] })
  t.notOk('email_confirmed_at' in shown.body)
  await signIn(call, email)

  const { link } = await sink.next(email)
  t.equal((await fetch(link, { redirect: 'manual' })).status, 303)
  t.equal((await user.call('GET', '/auth/me')).status, 200, 'its session goes on')
  const claims = decodeJwt(detailsOf<Tokens>(await user.call('POST', '/auth/token')).access_token)
  t.match(claims, { email, sub: user.id })
  t.equal((await passwordGrant(ask, email, password)).status, 200, 'its password is valid')
  const { rows } = await database.query('select email_unproven, password_unproven from auth.users where id = $1', [
    user.id,
  ])
  t.strictSame(rows, [{ email_unproven: false, password_unproven: false }])
})

t.test('a policy on auth.email() does not see an address that is not confirmed', async (t) => {
  await database.query(`
    create table public.invitations (id int primary key, address text);
    alter table public.invitations enable row level security;
    grant select on public.invitations to authenticated;
    create policy own on public.invitations for select to authenticated using (address = (select auth.email()));
    create function public.my_address() returns text language sql stable as 'select auth.email()';
    grant execute on function public.my_address to authenticated`)
  const victim = newAddress()
  await database.query('insert into public.invitations values (1, $1)', [victim])
  const rest = await startAnother()
  const mallory = await signUp(rest.call, victim)
  const key = await database.query(
    `insert into auth.api_keys (key_hash, hint, label, role, user_id) values (sha256('x'), 'x', 'x', 'authenticated', $1)
     returning (select email from auth.find_api_key(sha256('x')))`,
    [mallory.id],
  )
  t.equal(key.rowCount, 1)
  const emailOfKey = await database.query("select email from auth.find_api_key(sha256('x'))")
  t.strictSame(emailOfKey.rows, [{ email: null }], 'nor does a key that acts for the account')
  for (const path of ['/auth/token', '/auth/tokens']) {
    const { access_token: token } = detailsOf<Tokens>(await mallory.call('POST', path))
    const headers = { Authorization: `Bearer ${token}` }
    t.strictSame((await rest.call('GET', '/rest/v1/invitations', { headers })).body, [], path)
    t.equal((await rest.call('POST', '/rest/v1/rpc/my_address', { headers, body: {} })).text, 'null', path)
  }
})

t.test('a new address is confirmed by its mail, too', async (t) => {
  const user = await signUp(call, newAddress())
  await fetch((await sink.next(user.email)).link, { redirect: 'manual' })
  const email = newAddress()
  const body = { currentPassword: password, email }
  t.match(detailsOf(await user.call('PATCH', '/auth/me', { body })), { email })
  t.notOk('email' in decodeJwt(detailsOf<Tokens>(await user.call('POST', '/auth/token')).access_token))
  t.equal((await fetch((await sink.next(email)).link, { redirect: 'manual' })).status, 303)
  t.match(decodeJwt(detailsOf<Tokens>(await user.call('POST', '/auth/token')).access_token), { email })
  t.equal((await passwordGrant(ask, email, password)).status, 200)
})

t.test('an account of a cookie that is in use is not taken over where addresses need no proof', async (t) => {
  const user = await signUp(call, newAddress())
  const confirming = await startAnother({ GOTRUE_MAILER_AUTOCONFIRM: 'true' })
  const taken = await confirming.ask('POST', '/signup', { body: { email: user.email, password: 'of the thief' } })
  t.equal(codeOf(taken), 'user_already_exists')
  t.equal((await user.call('GET', '/auth/me')).status, 200)
  t.equal(codeOf(await passwordGrant(confirming.ask, user.email, 'of the thief')), 'invalid_credentials')
  const session = sessionOf(await passwordGrant(confirming.ask, user.email, password))
  t.match(decodeJwt(session.access_token), { email: user.email }, 'its own password confirms it')
  const { rows } = await database.query('select email_unproven from auth.users where id = $1', [user.id])
  t.strictSame(rows, [{ email_unproven: true }], 'and that is noted')
})

t.test('auth-v1 is sign-in without cookies', async (t) => {
  const without = await startAnother({ SERVICES: 'rest,auth-v1' })
  const email = newAddress()
  t.equal((await without.call('POST', '/auth/signup', { body: { email, password, firstName } })).status, 404)
  t.equal((await without.call('POST', '/auth/signin', { body: { email, password } })).status, 404)
  t.equal((await without.ask('POST', '/signup', { body: { email, password } })).status, 200)
  t.equal((await without.ask('GET', '/settings')).status, 200)
})
