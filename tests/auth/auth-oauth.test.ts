// Sign-in with a real OpenID Connect provider: redirects, PKCE, linking, forged and replayed requests.
import { createClient } from '@supabase/supabase-js'
import t, { type Test } from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, claimsOf, codeOf, type SessionBody } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { browse, client, startProvider } from '../support/oidc-provider.ts'
import { fragmentOf } from '../support/page-client.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const verified = (name: string) => ({
  email: `${name}@example.org`,
  email_verified: true,
  name,
  picture: `http://x/${name}`,
})
const accounts = {
  ann: verified('ann'),
  bob: verified('bob'),
  carl: verified('carl'),
  dora: verified('dora'),
  eve: { email: 'Victim@example.org', email_verified: false },
  noAddress: {},
}
const acme = await startProvider(t, accounts)
const other = await startProvider(t, accounts)
const page = 'http://localhost:3000/welcome'
const provider = (name: string, issuer: string) => ({
  [`GOTRUE_EXTERNAL_${name}_ENABLED`]: 'true',
  [`GOTRUE_EXTERNAL_${name}_CLIENT_ID`]: client.id,
  [`GOTRUE_EXTERNAL_${name}_SECRET`]: client.secret,
  [`GOTRUE_EXTERNAL_${name}_URL`]: issuer,
})
const settings = {
  ...provider('ACME', acme.issuer),
  ...provider('OTHER', other.issuer),
  ...provider('DOWN', 'http://127.0.0.1:9'),
  GOTRUE_EXTERNAL_KEYCLOAK_ENABLED: 'true',
  GOTRUE_EXTERNAL_KEYCLOAK_CLIENT_ID: 'x',
  GOTRUE_SITE_URL: 'http://localhost:3000',
  GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
}
const { url } = await startApplication(t, database.authenticatorUri, settings)
acme.serve(`${url}/auth/v1/callback`)
other.serve(`${url}/auth/v1/callback`)
const ask = askAuth(url)

const supabase = (flowType: 'pkce' | 'implicit') =>
  createClient(url, 'key', {
    auth: { flowType, autoRefreshToken: false, persistSession: false, detectSessionInUrl: false },
    // Node 20 has no WebSocket, and the test does not need one.
    realtime: { transport: class {} as never },
  })

const authorizeUrl = (who: string, more: Readonly<Record<string, string>> = {}) =>
  `${url}/auth/v1/authorize?${new URLSearchParams({ provider: 'acme', redirect_to: page, login_hint: who, ...more }).toString()}`
const plain = { code_challenge: 'v'.repeat(43), code_challenge_method: 'plain' }
const signIn = async (who: string, more?: Readonly<Record<string, string>>) =>
  fragmentOf(await browse(authorizeUrl(who, more), page))

/** An error is in the query and in the fragment. */
function failed(t: Test, target: URL, expected: Readonly<Record<string, unknown>>): void {
  t.match(Object.fromEntries(target.searchParams), expected)
  t.match(fragmentOf(target), { ...expected, sb: '' })
  t.notMatch(target.href, 'access_token')
}

t.test('signInWithOAuth with PKCE: authorize, callback, exchangeCodeForSession', async (t) => {
  const { auth } = supabase('pkce')
  const options = { redirectTo: page, skipBrowserRedirect: true, queryParams: { login_hint: 'ann' } }
  const { data } = await auth.signInWithOAuth({ provider: 'custom:acme', options })
  const target = await browse(data.url ?? '', page)
  const code = target.searchParams.get('code') ?? ''
  const result = await auth.exchangeCodeForSession(code)
  t.equal(result.error, null)
  const { session } = result.data
  t.match(session, { provider_token: String, provider_refresh_token: String, user: { email: 'ann@example.org' } })
  t.match(session?.user, {
    app_metadata: { provider: 'acme', providers: ['acme'] },
    user_metadata: { name: 'ann', full_name: 'ann', avatar_url: 'http://x/ann', email_verified: true, sub: 'ann' },
    identities: [{ provider: 'acme', id: 'ann', identity_data: { iss: acme.issuer, email_verified: true } }],
  })
  t.match(claimsOf(session as unknown as SessionBody), { amr: [{ method: 'oauth' }], aal: 'aal1' })
  const { data: user } = await auth.getUser()
  t.equal(user.user?.email, 'ann@example.org')
  const replayed = await ask('POST', '/token?grant_type=pkce', { body: { auth_code: code, code_verifier: 'x' } })
  t.equal(replayed.status, 404)
  t.equal(codeOf(replayed), 'flow_state_not_found')
})

t.test('signInWithOAuth without PKCE returns the session in the fragment', async (t) => {
  const { auth } = supabase('implicit')
  const options = { redirectTo: page, skipBrowserRedirect: true, queryParams: { login_hint: 'ann' } }
  const { data } = await auth.signInWithOAuth({ provider: 'custom:acme', options })
  const target = await browse(data.url ?? '', page)
  t.equal(target.search, '', 'nothing is in the query, which servers log')
  const session = fragmentOf(target)
  t.match(session, { access_token: String, token_type: 'bearer', expires_in: '3600', expires_at: /^\d+$/, sb: '' })
  t.match(session, { refresh_token: String, provider_token: String, provider_refresh_token: String })
  const tokens = { access_token: session.access_token ?? '', refresh_token: session.refresh_token ?? '' }
  const { error, data: set } = await auth.setSession(tokens)
  t.equal(error, null)
  t.equal(set.user?.email, 'ann@example.org')
  const { rows } = await database.query("select count(*) from auth.users where email = 'ann@example.org'")
  t.equal(rows[0]?.count, '1', 'it is the account of the first sign-in')
})

t.test(
  'the request to the provider has state, nonce and a challenge, and only some parameters of the client',
  async (t) => {
    const forged = {
      ...{
        redirect_uri: 'http://evil.example/',
        client_id: 'evil',
        state: 'forged',
        nonce: 'n',
        response_type: 'token',
      },
      ...{ request_uri: 'http://evil.example/', Response_Mode: 'fragment', prompt: 'login', scopes: 'calendar,email' },
    }
    const { status, headers } = await ask(
      'GET',
      `/authorize?${new URLSearchParams({ provider: 'ACME', ...forged }).toString()}`,
    )
    t.equal(status, 302)
    const target = new URL(headers.get('location') ?? '')
    t.equal(target.origin, acme.issuer)
    const sent = Object.fromEntries(target.searchParams)
    t.match(sent, {
      ...{ redirect_uri: `${url}/auth/v1/callback`, client_id: client.id, response_type: 'code', prompt: 'login' },
      ...{ scope: 'openid email profile calendar', code_challenge_method: 'S256', state: /^[0-9a-f-]{36}$/ },
    })
    t.not(sent.nonce, 'n')
    t.strictSame(Object.keys(sent).sort(), [
      'client_id',
      'code_challenge',
      'code_challenge_method',
      'nonce',
      'prompt',
      'redirect_uri',
      'response_type',
      'scope',
      'state',
    ])
  },
)

t.test('refuses providers that are unknown or not set up, and invalid challenges', async (t) => {
  const message = 'PKCE flow requires code_challenge_method and code_challenge'
  for (const [query, expected] of [
    ['provider=google', 'Unsupported provider: provider is not enabled'],
    ['provider=nope', 'Unsupported provider: Provider nope could not be found'],
    ['', 'Unsupported provider: Provider  could not be found'],
    ['provider=keycloak', 'Unsupported provider: unable to find URL for the keycloak provider'],
    ['provider=acme&code_challenge=x', message],
    ['provider=acme&code_challenge_method=s256', message],
    [
      'provider=acme&code_challenge_method=s256&code_challenge=x',
      'code challenge has to be between 43 and 128 characters',
    ],
    [
      `provider=acme&code_challenge_method=s256&code_challenge=${'%2B'.repeat(43)}`,
      'code challenge can only contain alphanumeric characters, hyphens, periods, underscores and tildes',
    ],
    [`provider=acme&code_challenge_method=md5&code_challenge=${'x'.repeat(43)}`, 'Invalid code_challenge_method'],
  ] as const) {
    const answer = await ask('GET', `/authorize?${query}`)
    t.equal(answer.status, 400, query)
    t.match(answer.body, { code: 400, error_code: 'validation_failed', msg: expected }, query)
  }
})

t.test('a provider about which nothing is known, and which cannot be reached', async (t) => {
  const error = {
    error: 'temporarily_unavailable',
    error_code: 'unexpected_failure',
    error_description: 'Unable to reach the provider down',
  }
  for (const [redirectTo, expected] of [
    [page, page],
    ['http://evil.example/', 'http://localhost:3000/'],
  ] as const) {
    const down = await ask('GET', `/authorize?provider=down&redirect_to=${encodeURIComponent(redirectTo)}`)
    t.equal(down.status, 302)
    const target = new URL(down.headers.get('location') ?? '')
    t.equal(target.origin + target.pathname, expected)
    failed(t, target, error)
  }
  const { data } = await supabase('implicit').auth.signInAnonymously()
  const path = '/user/identities/authorize?provider=down'
  const token = data.session?.access_token
  const linking = await ask('GET', `${path}&redirect_to=${page}`, { token })
  failed(t, new URL(linking.headers.get('location') ?? ''), error)
  const asJson = await ask('GET', `${path}&skip_http_redirect=true`, { token })
  t.match(asJson, { status: 503, body: { msg: error.error_description } })
  t.ok(asJson.headers.get('retry-after'))
})

t.test('does not redirect to other sites', async (t) => {
  const { headers } = await ask('GET', '/authorize?provider=acme&login_hint=ann&redirect_to=http://evil.example/')
  const target = await browse(headers.get('location') ?? '', 'http://localhost:3000')
  t.equal(target.origin, 'http://localhost:3000')
  t.ok(fragmentOf(target).access_token)
})

t.test('errors of the provider go to the page', async (t) => {
  const target = await browse(authorizeUrl('nobody'), page)
  failed(t, target, { error: 'access_denied', error_description: 'The user said no' })
})

const callback = async (query: string): Promise<URL> => {
  const { status, headers } = await ask('GET', `/callback?${query}`)
  if (status !== 303) throw new Error(`no redirect: ${status}`)
  return new URL(headers.get('location') ?? '')
}
/** A flow that waits for its callback: its state, and a valid code. */
async function waiting(who: string, more?: Readonly<Record<string, string>>) {
  const target = await browse(authorizeUrl(who, more), `${url}/auth/v1/callback`)
  return { state: target.searchParams.get('state') ?? '', code: target.searchParams.get('code') ?? '', target }
}

t.test('a callback without a valid state goes to the site with an error', async (t) => {
  const { code } = await waiting('ann')
  for (const [query, error, description] of [
    [`code=${code}`, 'bad_oauth_callback', 'OAuth state parameter missing'],
    [`code=${code}&state=forged`, 'bad_oauth_state', 'OAuth state parameter is invalid'],
    [`code=${code}&state=${crypto.randomUUID()}`, 'bad_oauth_state', 'OAuth state not found or expired'],
  ] as const) {
    const target = await callback(query)
    t.equal(target.origin + target.pathname, 'http://localhost:3000/')
    failed(t, target, { error: 'invalid_request', error_code: error, error_description: description })
  }
})

t.test('a callback counts once', async (t) => {
  for (const more of [{}, plain]) {
    const { target } = await waiting('ann', more)
    const results = await Promise.all(Array.from({ length: 5 }, () => callback(target.search.slice(1))))
    const codes = results.map(({ searchParams }) => searchParams.get('error_code'))
    t.equal(codes.filter((code) => code === null).length, 1)
    for (const code of codes) t.ok(['bad_oauth_state', 'flow_state_already_used', null].includes(code), String(code))
  }
})

t.test('an expired flow is refused', async (t) => {
  const { state, code } = await waiting('ann')
  await database.query("update auth.flow_state set created_at = now() - interval '1 day' where id = $1", [state])
  failed(t, await callback(`state=${state}&code=${code}`), {
    ...{ error_code: 'bad_oauth_state', error_description: 'OAuth state has expired' },
  })
})

t.test('a code of another flow or provider is refused', async (t) => {
  const ann = await waiting('ann')
  const bob = await waiting('bob')
  failed(t, await callback(`state=${ann.state}&code=${bob.code}`), {
    error: 'server_error',
    error_code: 'unexpected_failure',
  })
  const carl = await waiting('carl')
  const mixed = await waiting('carl', { provider: 'other' })
  failed(t, await callback(`state=${carl.state}&code=${mixed.code}&iss=${encodeURIComponent(other.issuer)}`), {
    error: 'server_error',
  })
  const missing = await waiting('ann')
  failed(t, await callback(`state=${missing.state}`), { error: 'invalid_request', error_code: 'bad_oauth_callback' })
  const { rows } = await database.query(
    "select count(*) from auth.users where email in ('bob@example.org', 'carl@example.org')",
  )
  t.equal(rows[0]?.count, '0')
})

t.test('an ID token with the nonce of another flow is refused', async (t) => {
  const { state, target } = await waiting('ann')
  // The challenge at the provider stays valid, the nonce does not.
  await database.query(
    `update auth.oauth_client_states set code_verifier = code_verifier || 'x'
     where id = (select oauth_client_state_id from auth.flow_state where id = $1)`,
    [state],
  )
  failed(t, await callback(target.search.slice(1)), { error: 'server_error' })
})

t.test('a callback may be a form', async (t) => {
  const { target } = await waiting('ann', plain)
  const type = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const { status, headers } = await ask('POST', '/callback', { text: target.search.slice(1), headers: type })
  t.equal(status, 303)
  t.ok(new URL(headers.get('location') ?? '').searchParams.get('code'))
  const large = await ask('POST', '/callback', { text: 'x'.repeat(200_000), headers: type })
  t.equal(large.status, 413)
})

t.test('an unverified address does not lead to its account', async (t) => {
  await database.query(
    `insert into auth.users (id, aud, role, email, email_confirmed_at, created_at, encrypted_password)
     values (gen_random_uuid(), 'authenticated', 'authenticated', 'victim@example.org', now(), now(), 'hash')`,
  )
  failed(t, await browse(authorizeUrl('eve'), page), {
    error: 'access_denied',
    error_code: 'provider_email_needs_verification',
    error_description: 'Unverified email with acme. Verify the email with acme in order to sign in',
  })
  failed(t, await browse(authorizeUrl('noAddress'), page), {
    error_description: 'Error getting user email from external provider',
  })
})

t.test('errors of a trigger reach the page', async (t) => {
  await database.query(
    `create function public.refuse() returns trigger language plpgsql as $$
     begin raise exception 'only staff may sign up' using hint = 'ask us'; end $$;
     create trigger refuse before insert on auth.users for each row when (new.email = 'bob@example.org')
     execute function public.refuse()`,
  )
  const target = await browse(authorizeUrl('bob'), page)
  failed(t, target, { error: 'server_error', error_description: /only staff may sign up/ })
  await database.query('drop trigger refuse on auth.users')
  t.ok((await signIn('bob')).access_token, 'a failed sign-in leaves nothing behind')
})

t.test('linkIdentity and unlinkIdentity', async (t) => {
  const { auth } = supabase('implicit')
  const { data: anonymous } = await auth.signInAnonymously()
  const link = (who: string, name: 'custom:acme' | 'custom:other') =>
    auth.linkIdentity({ provider: name, options: { redirectTo: page, queryParams: { login_hint: who } } })
  const { data, error } = await link('carl', 'custom:acme')
  t.equal(error, null)
  const session = fragmentOf(await browse(data.url ?? '', page))
  const { data: linked } = await auth.getUser(session.access_token)
  t.match(linked.user, { id: anonymous.user?.id, email: 'carl@example.org', is_anonymous: false })
  const again = await link('carl', 'custom:acme')
  failed(t, await browse(again.data.url ?? '', page), {
    ...{ error_code: 'identity_already_exists', error_description: 'Identity is already linked' },
  })
  const ofBob = await link('bob', 'custom:acme')
  failed(t, await browse(ofBob.data.url ?? '', page), {
    ...{ error_code: 'identity_already_exists', error_description: 'Identity is already linked to another user' },
  })
  const second = await link('dora', 'custom:other')
  t.ok(fragmentOf(await browse(second.data.url ?? '', page)).access_token)
  const { data: list } = await auth.getUserIdentities()
  t.strictSame(list?.identities.map(({ provider }) => provider).sort(), ['acme', 'other'])
  const [first, last] = list?.identities ?? []
  const bob = await signIn('bob')
  const stolen = await ask('DELETE', `/user/identities/${first?.identity_id}`, { token: bob.access_token })
  t.match(stolen, { status: 422, body: { error_code: 'single_identity_not_deletable' } })
  t.equal(first && (await auth.unlinkIdentity(first)).error, null)
  t.equal(last && (await auth.unlinkIdentity(last)).error?.code, 'single_identity_not_deletable')
  const token = session.access_token
  t.match(await ask('DELETE', '/user/identities/x', { token }), {
    status: 404,
    body: { error_code: 'validation_failed' },
  })
  t.match(await ask('GET', '/user/identities/authorize?provider=acme'), { status: 401 })
  const redirect = await ask('GET', '/user/identities/authorize?provider=acme', { token })
  t.equal(redirect.status, 302)
})

t.test('manual linking can be disabled', async (t) => {
  const service = await startApplication(t, database.authenticatorUri, {
    ...settings,
    GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'false',
    GOTRUE_DISABLE_SIGNUP: 'true',
  })
  const { access_token: token } = await signIn('ann')
  const askOther = askAuth(service.url)
  for (const [method, path] of [
    ['GET', '/user/identities/authorize?provider=acme'],
    ['DELETE', `/user/identities/${crypto.randomUUID()}`],
  ] as const) {
    const answer = await askOther(method, path, { token })
    t.match(answer, { status: 404, body: { error_code: 'manual_linking_disabled', msg: 'Manual linking is disabled' } })
  }
})
