// The OAuth server: how a client gets access to an account, what its tokens are, and how the access ends.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { createClient } from '@supabase/supabase-js'
import { decodeJwt, jwtVerify } from 'jose'
import * as openid from 'openid-client'
import t from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  codeOf,
  newAddress,
  passwordGrant,
  refreshGrant,
  sessionOf,
  signUp,
  type Json,
} from '../support/auth.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { notesProject } from '../support/notes-project.ts'
import {
  accessQuery,
  answerRequest,
  approvedCode,
  askToken,
  grantedTokens,
  locationOf,
  openRequest,
  pkce,
  redirectUri,
  refreshTokens,
  registerClient,
  returnedCode,
  startAccess,
  tokensOf,
} from '../support/oauth-client.ts'
import { readmeSection, sectionFunction } from '../support/readme-section.ts'
import { dial } from '../support/realtime.ts'
import { raise } from '../support/second-factor.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await database.query(notesProject)
const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const key = { ...privateKey.export({ format: 'jwk' }), kid: 'k', alg: 'ES256', use: 'sig', key_ops: ['sign', 'verify'] }
const settings = {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_SITE_URL: 'https://site.example',
  GOTRUE_OAUTH_SERVER_ENABLED: 'true',
  GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION: 'true',
  GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH: '/oauth/consent',
  GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000',
  GOTRUE_RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER: '100000',
  GOTRUE_JWT_KEYS: JSON.stringify([key]),
}
const { url, reload } = await startApplication(t, database.authenticatorUri, settings)
await reload({ API_EXTERNAL_URL: `${url}/auth/v1` })
const ask = askAuth(url)
const admin = await signToken({ role: 'service_role' })
const flow = { ask, admin }
const pageKey = await withClient(
  database.adminUri,
  async (client) => (await createApiKey(client, { role: 'anon', label: 'page' })).key,
)

t.test('a public client: request, consent, tokens, refresh, and the end of the grant', async (t) => {
  const person = await signUp(ask, undefined, {
    full_name: 'Ada',
    name: 'Ada Lovelace',
    avatar_url: 'https://a.example/i.png',
  })
  const { access_token: token } = person
  const client = await registerClient(flow, {
    client_uri: 'https://client.example',
    logo_uri: 'https://client.example/l.png',
  })
  t.equal(client.client_secret, undefined)
  const { verifier, challenge } = pkce()
  const scope = 'openid email profile'
  const asked = await ask('GET', `/oauth/authorize?${accessQuery(client.client_id, challenge, { scope, nonce: 'n1' })}`)
  t.equal(asked.status, 302)
  const page = locationOf(asked)
  t.equal(page.origin + page.pathname, 'https://site.example/oauth/consent')
  const id = page.searchParams.get('authorization_id') ?? ''

  const opened = await openRequest(flow, id, token)
  t.strictSame(opened.body, {
    authorization_id: id,
    redirect_uri: redirectUri,
    client: {
      id: client.client_id,
      name: 'Notes',
      uri: 'https://client.example',
      logo_uri: 'https://client.example/l.png',
    },
    scope,
    user: { id: person.user.id, email: person.user.email },
  })
  const approved = await answerRequest(flow, id, token)
  const back = new URL(String(approved.body.redirect_url))
  t.equal(back.origin + back.pathname, 'https://client.example/callback')
  t.match(Object.fromEntries(back.searchParams), { from: 'rowhouse', state: 'of the client', code: /^[\w-]{43}$/ })
  const code = back.searchParams.get('code') ?? ''
  const form = { grant_type: 'authorization_code', client_id: client.client_id, code, code_verifier: verifier }
  const exchanged = await askToken(flow, { ...form, redirect_uri: redirectUri })
  t.match(exchanged.body, { token_type: 'bearer', expires_in: 3600, scope, refresh_token: /^[a-z0-9]{12}$/ })
  t.equal(exchanged.headers.get('cache-control'), 'no-store')
  const tokens = tokensOf(exchanged)
  const claims = decodeJwt(tokens.access_token)
  t.match(claims, {
    ...{ sub: person.user.id, aud: 'authenticated', role: 'authenticated', client_id: client.client_id, scope },
    amr: [{ method: 'oauth_provider/authorization_code', timestamp: Number }],
  })
  const { payload } = await jwtVerify(tokens.id_token ?? '', createPublicKey(privateKey), { issuer: `${url}/auth/v1` })
  t.match(payload, {
    ...{ sub: person.user.id, aud: [client.client_id], nonce: 'n1', auth_time: Number, name: 'Ada Lovelace' },
    ...{ email: person.user.email, email_verified: false, picture: 'https://a.example/i.png' },
  })
  t.equal((await ask('GET', '/user', { token: tokens.access_token })).body.id, person.user.id)
  t.match((await ask('GET', '/oauth/userinfo', { token: tokens.access_token })).body, {
    ...{ sub: person.user.id, email: person.user.email, name: 'Ada Lovelace', picture: 'https://a.example/i.png' },
  })
  t.strictSame((await ask('GET', '/oauth/userinfo', { token })).body, { sub: person.user.id })

  const next = tokensOf(await refreshTokens(flow, client.client_id, tokens.refresh_token))
  t.match(decodeJwt(next.access_token), { session_id: claims.session_id, client_id: client.client_id, scope })

  const listed = await ask('GET', '/user/oauth/grants', { token })
  t.match(listed.body, [
    { client: { id: client.client_id, name: 'Notes' }, scopes: scope.split(' '), granted_at: /^\d{4}-.*Z$/ },
  ] as never)
  // What was granted before is approved without a question; anything more is asked.
  const again = await approvedCode(flow, client.client_id, token, { scope: 'email' })
  t.ok(again.code)
  const more = await openRequest(flow, (await startAccess(flow, client.client_id, { scope: 'phone' })).id, token)
  t.equal(more.body.redirect_url, undefined)

  const revoked = await ask('DELETE', `/user/oauth/grants?client_id=${client.client_id}`, { token })
  t.strictSame([revoked.status, revoked.text], [204, ''])
  t.strictSame((await ask('GET', '/user/oauth/grants', { token })).body, [])
  t.equal(codeOf(await ask('GET', '/user', { token: next.access_token })), 'session_not_found')
  t.equal((await refreshTokens(flow, client.client_id, next.refresh_token)).status, 400)
  const late = { ...form, code: again.code, code_verifier: again.verifier }
  t.match((await askToken(flow, late)).body, { error: 'invalid_grant' }, 'a code of the grant')
  t.equal((await ask('GET', '/user', { token })).status, 200, "the person's own session goes on")
})

/** supabase-js in a page. */
const page = () =>
  createClient(url, pageKey, {
    auth: { persistSession: false, autoRefreshToken: false },
    realtime: { transport: class {} as never },
  })

t.test('the oauth methods of supabase-js, unmodified: consent, grants, and clients of an administrator', async (t) => {
  const service = createClient(url, admin, {
    auth: { persistSession: false },
    realtime: { transport: class {} as never },
  })
  const clients = service.auth.admin.oauth
  const created = await clients.createClient({
    client_name: 'Calendar',
    client_uri: 'https://client.example',
    redirect_uris: [redirectUri, 'http://localhost:4711/callback'],
  })
  t.match(created.data, {
    ...{
      client_name: 'Calendar',
      client_type: 'confidential',
      registration_type: 'manual',
      client_secret: /^[\w-]{43}$/,
    },
    ...{ token_endpoint_auth_method: 'client_secret_basic', grant_types: ['authorization_code', 'refresh_token'] },
    ...{ response_types: ['code'], redirect_uris: [redirectUri, 'http://localhost:4711/callback'] },
  })
  const { client_id: id = '', client_secret: secret = '' } = created.data ?? {}
  t.strictSame({ ...(await clients.getClient(id)).data, client_secret: secret }, { ...created.data })
  const updated = await clients.updateClient(id, {
    client_name: 'Kalender',
    token_endpoint_auth_method: 'client_secret_post',
  })
  t.match(updated.data, { client_name: 'Kalender', client_uri: 'https://client.example' })
  const renewed = await clients.regenerateClientSecret(id)
  t.not(renewed.data?.client_secret, secret)
  await clients.createClient({ client_name: 'Another', redirect_uris: [redirectUri] })
  const listed = await clients.listClients({ page: 1, perPage: 1 })
  t.match(listed.data, { clients: [{ client_name: 'Another' }], nextPage: 2, total: Number })

  const person = page()
  const email = newAddress()
  await person.auth.signUp({ email, password: 'correct horse battery' })
  const { id: denied } = await startAccess(flow, id)
  t.match((await person.auth.oauth.getAuthorizationDetails(denied)).data, {
    client: { name: 'Kalender' },
    user: { email },
  })
  const denial = await person.auth.oauth.denyAuthorization(denied)
  t.match(
    denial.data?.redirect_url,
    /error=access_denied&error_description=User\+denied\+the\+request&state=of\+the\+client$/,
  )
  t.match((await person.auth.oauth.approveAuthorization(denied)).error, { status: 400, code: 'validation_failed' })
  const { id: asked, verifier } = await startAccess(flow, id)
  await person.auth.oauth.getAuthorizationDetails(asked)
  const approval = await person.auth.oauth.approveAuthorization(asked)
  const code = new URL(approval.data?.redirect_url ?? '').searchParams.get('code') ?? ''
  const form = { grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier }
  t.match(
    (await askToken(flow, { ...form, client_secret: secret })).body,
    { error: 'invalid_client' },
    'the old secret',
  )
  const tokens = tokensOf(await askToken(flow, { ...form, client_secret: renewed.data?.client_secret }))

  const asClient = createClient(url, pageKey, {
    accessToken: () => Promise.resolve(tokens.access_token),
    realtime: { transport: class {} as never },
  })
  await person.from('notes').insert({ text: 'mine' })
  const others = ['/storage/v1/bucket', '/auth/v1/user', '/auth/v1/oauth/userinfo']
  const statuses = async () => {
    const headers = { Authorization: `Bearer ${tokens.access_token}` }
    return Promise.all(others.map(async (path) => (await fetch(url + path, { headers })).status))
  }
  t.strictSame(await statuses(), [200, 200, 200])
  t.match((await asClient.from('notes').select('text')).data, [{ text: 'mine' }])
  t.match((await person.auth.oauth.listGrants()).data, [{ client: { id }, scopes: ['email', 'profile'] }])
  t.equal((await person.auth.oauth.revokeGrant({ clientId: id })).error, null)
  t.match((await asClient.from('notes').select('text')).error, { code: 'PGRST303' }, 'at once, at the REST API')
  const [storage = 0, ...ofAuth] = await statuses()
  t.ok(storage >= 400, `storage: ${storage}`)
  t.strictSame(ofAuth, [403, 403])
  t.match((await person.auth.oauth.revokeGrant({ clientId: id })).error, {
    status: 404,
    code: 'oauth_consent_not_found',
  })

  t.equal((await clients.deleteClient(id)).error, null)
  t.match((await clients.getClient(id)).error, { status: 404, code: 'oauth_client_not_found' })
  t.match((await clients.deleteClient(id)).error, { status: 404 })
})

t.test('openid-client, unmodified: discovery, registration, code flow, ID token, userinfo, refresh', async (t) => {
  const insecure = { execute: [openid.allowInsecureRequests] }
  // It leaves out the query of the URI to which the user has returned.
  const callback = 'https://client.example/callback'
  for (const [algorithm, method] of [
    ['oidc', openid.ClientSecretBasic],
    ['oauth2', openid.ClientSecretPost],
  ] as const) {
    const metadata = {
      redirect_uris: [callback],
      client_name: 'Reader',
      token_endpoint_auth_method: algorithm === 'oidc' ? 'client_secret_basic' : 'client_secret_post',
    }
    const config = await openid.dynamicClientRegistration(new URL(`${url}/auth/v1`), metadata, undefined, {
      ...insecure,
      algorithm,
    })
    const { client_secret: secret, client_id: id } = config.clientMetadata()
    const registered = await openid.discovery(new URL(`${url}/auth/v1`), id, {}, method(String(secret)), {
      ...insecure,
      algorithm,
    })
    const verifier = openid.randomPKCECodeVerifier()
    const [nonce, state] = [openid.randomNonce(), openid.randomState()]
    const at = openid.buildAuthorizationUrl(registered, {
      ...{ redirect_uri: callback, scope: 'openid email', nonce, state },
      ...{ code_challenge: await openid.calculatePKCECodeChallenge(verifier), code_challenge_method: 'S256' },
      resource: `${url}/mcp`,
    })
    const { access_token: token, user } = await signUp(ask)
    const sent = await fetch(at, { redirect: 'manual' })
    const request = new URL(sent.headers.get('location') ?? '').searchParams.get('authorization_id') ?? ''
    await openRequest(flow, request, token)
    const back = new URL(String((await answerRequest(flow, request, token)).body.redirect_url))
    const checks = { pkceCodeVerifier: verifier, expectedNonce: nonce, expectedState: state, idTokenExpected: true }
    const tokens = await openid.authorizationCodeGrant(registered, back, checks, { resource: `${url}/mcp` })
    t.equal(tokens.claims()?.sub, user.id, algorithm)
    t.match(await openid.fetchUserInfo(registered, tokens.access_token, user.id), { email: user.email })
    const next = await openid.refreshTokenGrant(registered, tokens.refresh_token ?? '')
    t.not(next.refresh_token, tokens.refresh_token)
    const refused: unknown = await openid.refreshTokenGrant(registered, 'abcdefghijkl').catch((error: unknown) => error)
    t.match(refused, { error: 'invalid_grant' })
  }
})

t.test('the metadata, at both places of RFC 8414', async (t) => {
  const document = (await ask('GET', '/.well-known/oauth-authorization-server')).body
  const base = `${url}/auth/v1`
  t.match(document, {
    ...{ issuer: base, authorization_endpoint: `${base}/oauth/authorize`, token_endpoint: `${base}/oauth/token` },
    ...{ registration_endpoint: `${base}/oauth/clients/register`, userinfo_endpoint: `${base}/oauth/userinfo` },
    ...{ code_challenge_methods_supported: ['S256', 'plain'], id_token_signing_alg_values_supported: ['ES256'] },
    scopes_supported: ['openid', 'profile', 'email', 'phone', 'offline_access'],
  })
  for (const path of ['oauth-authorization-server/auth/v1', 'openid-configuration/auth/v1']) {
    const answer = await fetch(`${url}/.well-known/${path}`, { headers: { Origin: 'https://page.example' } })
    t.strictSame(await answer.json(), document, path)
    t.equal(answer.headers.get('access-control-allow-origin'), '*')
  }
  t.strictSame((await ask('GET', '/.well-known/openid-configuration')).body, document)
  for (const path of ['oauth-authorization-server', 'oauth-authorization-server/auth', 'x', 'security.txt']) {
    t.equal((await fetch(`${url}/.well-known/${path}`)).status, 404, path)
  }
  await reload({ GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION: 'false' })
  t.equal((await ask('GET', '/.well-known/openid-configuration')).body.registration_endpoint, undefined)
  const body = { redirect_uris: [redirectUri] }
  t.equal(codeOf(await ask('POST', '/oauth/clients/register', { body })), 'oauth_dynamic_client_registration_disabled')
  await reload({ GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION: 'true' })
})

t.test('settings: no page, another default scope, no key for ID tokens, and no server', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const { challenge } = pkce()
  const errorOf = async (members: Record<string, string | undefined>) => {
    const { searchParams } = locationOf(await ask('GET', `/oauth/authorize?${accessQuery(id, challenge, members)}`))
    return [searchParams.get('error'), searchParams.get('error_description'), searchParams.get('state')]
  }
  await reload({ GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH: undefined })
  t.strictSame(await errorOf({}), ['server_error', 'oauth authorization path not configured', 'of the client'])
  await reload({
    GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH: '/oauth/consent',
    GOTRUE_OAUTH_SERVER_DEFAULT_SCOPE: 'openid phone',
    GOTRUE_JWT_KEYS: undefined,
  })
  t.match(await errorOf({ scope: undefined }), ['invalid_request', /HS256 is not supported for ID token signing/])
  t.strictSame((await ask('GET', '/.well-known/openid-configuration')).body.scopes_supported, [
    ...['profile', 'email', 'phone', 'offline_access'],
  ])
  await reload({ GOTRUE_JWT_KEYS: settings.GOTRUE_JWT_KEYS })
  const { access_token: token } = await signUp(ask)
  t.equal(
    (await openRequest(flow, (await startAccess(flow, id, { scope: undefined })).id, token)).body.scope,
    'openid phone',
  )
  await reload({ GOTRUE_OAUTH_SERVER_ENABLED: 'false' })
  const client = '11111111-2222-4333-8444-555555555555'
  for (const [method, path, caller] of [
    ['GET', '/.well-known/oauth-authorization-server', undefined],
    ['GET', '/oauth/authorize', undefined],
    ['POST', '/oauth/token', undefined],
    ['POST', '/oauth/clients/register', undefined],
    ['GET', '/oauth/userinfo', token],
    ['GET', '/oauth/authorizations/x', token],
    ['POST', '/oauth/authorizations/x/consent', token],
    ['GET', '/user/oauth/grants', token],
    ['DELETE', `/user/oauth/grants?client_id=${client}`, token],
    ['GET', '/admin/oauth/clients', admin],
    ['POST', '/admin/oauth/clients', admin],
    ['GET', `/admin/oauth/clients/${client}`, admin],
    ['PUT', `/admin/oauth/clients/${client}`, admin],
    ['DELETE', `/admin/oauth/clients/${client}`, admin],
    ['POST', `/admin/oauth/clients/${client}/regenerate_secret`, admin],
  ] as const) {
    const body = method === 'GET' || method === 'DELETE' ? {} : { body: {} }
    const answer = await ask(method, path, { token: caller, ...body })
    t.strictSame([answer.status, codeOf(answer)], [404, 'feature_disabled'], `${method} ${path}`)
  }
  await reload({ GOTRUE_OAUTH_SERVER_ENABLED: 'true', GOTRUE_OAUTH_SERVER_DEFAULT_SCOPE: undefined })
})

t.test("a client's token acts on data, and changes nothing of the account", async (t) => {
  const { access_token: token, user } = await signUp(ask)
  const { client_id: id } = await registerClient(flow)
  const { access_token: ofClient } = await grantedTokens(flow, id, token)
  const uuid = '11111111-2222-4333-8444-555555555555'
  const { id: request } = await startAccess(flow, id, { scope: 'phone' })
  for (const [method, path, body] of [
    ['PUT', '/user', { password: 'battery staple horse' }],
    ['PUT', '/user', { data: { name: 'Eve' } }],
    ['GET', '/reauthenticate', undefined],
    ['POST', '/factors', { factor_type: 'totp' }],
    ['POST', '/passkeys/registration/options', {}],
    ['GET', '/passkeys', undefined],
    ['DELETE', `/user/identities/${uuid}`, undefined],
    ['GET', '/user/identities/authorize?provider=google', undefined],
    ['GET', '/user/oauth/grants', undefined],
    ['DELETE', `/user/oauth/grants?client_id=${id}`, undefined],
    ['GET', `/oauth/authorizations/${request}`, undefined],
    ['POST', `/oauth/authorizations/${request}/consent`, { action: 'approve' }],
    ['POST', '/logout?scope=others', undefined],
  ] as const) {
    const answer = await ask(method, path, { token: ofClient, ...(body === undefined ? {} : { body }) })
    t.strictSame([answer.status, codeOf(answer)], [403, 'no_authorization'], `${method} ${path} ${answer.text}`)
  }
  const cookie = await fetch(`${url}/auth/session`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${ofClient}` },
  })
  t.equal(cookie.status, 401, 'no cookie for the token')
  const { session_id: session } = decodeJwt(ofClient)
  await t.rejects(
    database.query("update auth.sessions set id_hash = sha256('x') where id = $1", [session]),
    /sessions_cookie_of_person/,
  )
  const console = await fetch(`${url}/console/api/session`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ access_token: ofClient }),
  })
  t.not(console.status, 200)
  // Signing out, which ends all sessions by default, ends that of the client only.
  t.equal((await ask('POST', '/logout', { token: ofClient })).status, 204)
  t.equal((await ask('GET', '/user', { token: ofClient })).status, 403)
  t.equal((await ask('GET', '/user', { token })).status, 200)
  t.equal((await passwordGrant(ask, user.email)).status, 200, 'the password is the same')
})

t.test('an ID token is no access token, in no service', async (t) => {
  const { access_token: token } = await signUp(ask)
  const { client_id: id } = await registerClient(flow)
  const { id_token: idToken = '' } = await grantedTokens(flow, id, token, { scope: 'openid' })
  t.equal(codeOf(await ask('GET', '/user', { token: idToken })), 'bad_jwt')
  t.equal(codeOf(await ask('PUT', '/user', { token: idToken, body: { password: 'battery staple' } })), 'bad_jwt')
  for (const path of ['/rest/v1/notes', '/storage/v1/bucket']) {
    const answer = await fetch(url + path, { headers: { Authorization: `Bearer ${idToken}` } })
    t.notOk(answer.ok, path)
  }
})

t.test('what ends the sessions and the codes of clients', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const ends: Record<string, (person: { token: string; email: string; user: string }) => Promise<unknown>> = {
    'sign-out everywhere': ({ token }) => ask('POST', '/logout', { token }),
    'a new password': ({ token }) => ask('PUT', '/user', { token, body: { password: 'battery staple horse' } }),
    ban: ({ user }) => ask('PUT', `/admin/users/${user}`, { token: admin, body: { ban_duration: '1h' } }),
    deletion: ({ user }) => ask('DELETE', `/admin/users/${user}`, { token: admin }),
  }
  for (const [name, end] of Object.entries(ends)) {
    const { access_token: first, user } = await signUp(ask)
    const email = String(user.email)
    // The code of another session than the one that goes on.
    const { access_token: other } = sessionOf(await passwordGrant(ask, email))
    const tokens = await grantedTokens(flow, id, first)
    const { code, verifier } = await approvedCode(flow, id, other)
    await end({ token: first, email, user: user.id })
    t.equal((await ask('GET', '/user', { token: tokens.access_token })).status, 403, name)
    t.equal((await refreshTokens(flow, id, tokens.refresh_token)).status, 400, name)
    const form = { grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier }
    t.match((await askToken(flow, form)).body, { error: /^(?:invalid_grant|access_denied)$/ }, `${name}: the code`)
  }
})

t.test('an account with a second factor grants and revokes by a session that has used it', async (t) => {
  const { access_token: first, user } = await signUp(ask)
  const { session: high } = await raise(ask, first)
  const { access_token: low } = sessionOf(await passwordGrant(ask, user.email))
  const { client_id: id } = await registerClient(flow)
  const { id: request, verifier } = await startAccess(flow, id)
  t.equal((await openRequest(flow, request, low)).status, 200, 'it may see what is asked')
  const refused = await answerRequest(flow, request, low)
  t.strictSame([refused.status, codeOf(refused)], [403, 'insufficient_aal'])
  const code = returnedCode(await answerRequest(flow, request, high.access_token))
  const form = { grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier }
  const { access_token: ofClient } = tokensOf(await askToken(flow, form))
  t.equal(decodeJwt(ofClient).aal, 'aal1')
  const isAsked = async (token: string) =>
    (await openRequest(flow, (await startAccess(flow, id)).id, token)).body.redirect_url === undefined
  t.strictSame([await isAsked(low), await isAsked(high.access_token)], [true, false], 'nor is it approved at once')
  const path = `/user/oauth/grants?client_id=${id}`
  t.equal(codeOf(await ask('DELETE', path, { token: low })), 'insufficient_aal')
  t.equal((await ask('DELETE', path, { token: high.access_token })).status, 204)
})

t.test('the channels of a client end when the grant is revoked', async (t) => {
  const { access_token: token } = await signUp(ask)
  const { client_id: id } = await registerClient(flow)
  const { access_token: ofClient } = await grantedTokens(flow, id, token)
  const socket = await dial(t, url, { token: ofClient })
  t.equal((await socket.opened).status, 101)
  t.equal((await socket.join('room', {}, { access_token: ofClient })).status, 'ok')
  // The process listens by now.
  await pause(300)
  t.equal((await ask('DELETE', `/user/oauth/grants?client_id=${id}`, { token })).status, 204)
  t.match(await socket.next('system', 'realtime:room'), {
    payload: { message: 'The session of this token has ended' },
  })
})

t.test('a single session per user: those of clients do not end that of the person', async (t) => {
  await reload({ GOTRUE_SESSIONS_SINGLE_PER_USER: 'true' })
  const { access_token: token, refresh_token: refresh } = await signUp(ask)
  const { client_id: id } = await registerClient(flow)
  const earlier = await grantedTokens(flow, id, token)
  const later = await grantedTokens(flow, id, token)
  t.equal((await refreshGrant(ask, refresh)).status, 200)
  t.match((await refreshTokens(flow, id, earlier.refresh_token)).body, {
    error: 'invalid_grant',
    error_code: 'session_expired',
  })
  t.equal((await refreshTokens(flow, id, later.refresh_token)).status, 200)
  await reload({ GOTRUE_SESSIONS_SINGLE_PER_USER: undefined })
})

t.test('a deleted client: its grants and sessions end at once', async (t) => {
  const { access_token: token } = await signUp(ask)
  const { client_id: id } = await registerClient(flow)
  const tokens = await grantedTokens(flow, id, token)
  const { id: pending } = await startAccess(flow, id, { scope: 'phone' })
  await ask('DELETE', `/admin/oauth/clients/${id}`, { token: admin })
  t.equal(codeOf(await ask('GET', '/user', { token: tokens.access_token })), 'session_not_found')
  t.match((await refreshTokens(flow, id, tokens.refresh_token)).body, {
    error: 'invalid_client',
    error_code: 'invalid_credentials',
  })
  t.equal(codeOf(await openRequest(flow, pending, token)), 'oauth_authorization_not_found')
  const again = await ask('GET', `/oauth/authorize?${accessQuery(id, pkce().challenge)}`)
  t.strictSame([again.status, codeOf(again)], [400, 'oauth_client_not_found'])
  t.strictSame((await ask('GET', '/user/oauth/grants', { token })).body, [])
})

t.test('what is stored of secrets are hashes', async (t) => {
  const { access_token: token } = await signUp(ask)
  const client = await registerClient(flow, { token_endpoint_auth_method: 'client_secret_post' })
  const { code } = await approvedCode(flow, client.client_id, token)
  const { rows } = await database.query(
    `select (select json_agg(c) from auth.oauth_clients c)::text || (select json_agg(a) from auth.oauth_authorizations a)::text as stored`,
  )
  const stored = String((rows[0] as Json).stored)
  t.notMatch(stored, code)
  t.notMatch(stored, client.client_secret ?? '')
})

t.test('the recipes of the guide: settings, an application, and a policy for people only', async (t) => {
  const names = Array.from(
    readmeSection('oauth-server-settings').matchAll(/export (\w+)=(\S+)/g),
    ([, name = '', value]) => [name, value],
  )
  await reload(Object.fromEntries(names) as Record<string, string>)
  const { body } = await ask('GET', '/.well-known/oauth-authorization-server')
  t.match(body, { issuer: 'https://api.example.com/auth/v1', registration_endpoint: String })
  await reload({ ...settings, API_EXTERNAL_URL: `${url}/auth/v1` })

  const register = await sectionFunction<[unknown, string]>('register', ['createClient', 'url'], ['data'])
  const asAdmin = () =>
    createClient(url, admin, { auth: { persistSession: false }, realtime: { transport: class {} as never } })
  const { data: registered } = await register(asAdmin, url)
  t.match(registered, { client_name: 'Calendar', client_type: 'public' })

  const consent = await sectionFunction('consent', ['location', 'supabase', 'ask', 'show'] as never)
  const supabase = page()
  await supabase.auth.signUp({ email: newAddress(), password: 'correct horse battery' })
  const asked = await registerClient(flow)
  const { id: request } = await startAccess(flow, asked.client_id)
  const shown: unknown[] = []
  const location = { search: `?authorization_id=${request}`, assign: (to: string) => shown.push(to) }
  const agree = (data: unknown) => {
    shown.push(data)
    return Promise.resolve(true)
  }
  await (consent as (...args: readonly unknown[]) => Promise<unknown>)(location, supabase, agree, (text: string) =>
    shown.push(text),
  )
  t.match(shown, [{ client: { name: 'Notes' }, redirect_uri: redirectUri }])
  t.match((await supabase.auth.oauth.listGrants()).data, [{ client: { id: asked.client_id } }])

  await database.query(`
    create table private_notes (text text);
    alter table private_notes enable row level security;
    grant select on private_notes to authenticated;
    create policy everything on private_notes using (true);
    insert into private_notes values ('secret');
    ${readmeSection('policy')}`)
  await database.query("notify pgrst, 'reload schema'")
  const { access_token: token } = await signUp(ask)
  const { client_id: id } = await registerClient(flow)
  const { access_token: ofClient } = await grantedTokens(flow, id, token)
  const rows = async (bearer: string): Promise<unknown> => {
    const answer = await fetch(`${url}/rest/v1/private_notes`, { headers: { Authorization: `Bearer ${bearer}` } })
    return answer.json()
  }
  await until(async () => Array.isArray(await rows(token)))
  t.strictSame([await rows(token), await rows(ofClient)], [[{ text: 'secret' }], []])
})

t.test('a hook for access tokens must keep the client', async (t) => {
  await database.query(`
    create function public.forget_client(event jsonb) returns jsonb language sql stable as
      $$ select jsonb_set(event, '{claims}', (event -> 'claims') - 'client_id') $$;
    grant execute on function public.forget_client to supabase_auth_admin`)
  const { access_token: token } = await signUp(ask)
  const { client_id: id } = await registerClient(flow)
  const { code, verifier } = await approvedCode(flow, id, token)
  await reload({
    GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED: 'true',
    GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: 'pg-functions://postgres/public/forget_client',
  })
  const form = { grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier }
  const answer = await askToken(flow, form)
  t.strictSame([answer.status, answer.body.access_token], [500, undefined])
  t.match(answer.body.msg, /client_id is required/)
  await reload({ GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED: 'false', GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: undefined })
})
