// How the OAuth server is attacked: by people, by clients, and by those who pretend to be either.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import {
  askAuth,
  codeOf,
  password,
  passwordGrant,
  refreshGrant,
  sessionOf,
  signUp,
  type AuthAnswer,
  type Json,
} from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
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
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const settings = {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_SITE_URL: 'https://site.example',
  GOTRUE_OAUTH_SERVER_ENABLED: 'true',
  GOTRUE_OAUTH_SERVER_ALLOW_DYNAMIC_REGISTRATION: 'true',
  GOTRUE_OAUTH_SERVER_AUTHORIZATION_PATH: '/oauth/consent',
  GOTRUE_RATE_LIMIT_OTP: '100000',
  GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000',
  GOTRUE_RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER: '100000',
  TRUSTED_PROXIES: '1',
  SESSION_SECRETS: 's'.repeat(32),
  SECURE_COOKIES: 'false',
}
const { url, call, reload } = await startApplication(t, database.authenticatorUri, settings)
const ask = askAuth(url)
const admin = await signToken({ role: 'service_role' })
const flow = { ask, admin }
const post = { token_endpoint_auth_method: 'client_secret_post' }

/** Ends the lifetime of a request. */
const expire = (id: string) =>
  database.query(
    `update auth.oauth_authorizations set created_at = now() - interval '1 hour', expires_at = now() - interval '1 minute'
     where authorization_id = $1`,
    [id],
  )

t.test("another person's request: neither read nor answered", async (t) => {
  const { client_id: id } = await registerClient(flow)
  const { access_token: first } = await signUp(ask)
  const { access_token: second } = await signUp(ask)
  const { id: request } = await startAccess(flow, id)
  t.equal(codeOf(await answerRequest(flow, request, second)), 'oauth_authorization_not_found', 'before it was opened')
  t.equal((await openRequest(flow, request, first)).status, 200)
  t.equal((await openRequest(flow, request, first)).status, 200, 'again, as after a reload')
  for (const answer of [
    await openRequest(flow, request, second),
    await answerRequest(flow, request, second),
    await answerRequest(flow, request, second, 'deny'),
  ]) {
    t.strictSame([answer.status, codeOf(answer)], [404, 'oauth_authorization_not_found'])
  }
  for (const action of ['', 'Approve', 'yes', null, 1]) {
    const answer = await ask('POST', `/oauth/authorizations/${request}/consent`, { token: first, body: { action } })
    t.match(codeOf(answer), /^(?:validation_failed|bad_json)$/, JSON.stringify(action))
  }
})

t.test('two people open a request at once, and one answers it twice at once: one wins', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const people = await Promise.all([signUp(ask), signUp(ask)])
  const { id: request } = await startAccess(flow, id)
  const opened = await Promise.all(people.map(({ access_token: token }) => openRequest(flow, request, token)))
  t.strictSame(opened.map(({ status }) => status).sort(), [200, 404])
  const winner = people[opened.findIndex(({ status }) => status === 200)]?.access_token ?? ''
  const answers = await Promise.all([1, 2, 3].map(() => answerRequest(flow, request, winner)))
  t.strictSame(answers.map(({ status }) => status).sort(), [200, 400, 400])
})

t.test('requests that are unknown, expired, answered, or of another page', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const { access_token: token } = await signUp(ask)
  const { id: old } = await startAccess(flow, id)
  await openRequest(flow, old, token)
  await expire(old)
  for (const request of [old, 'x'.repeat(43), '\0', "'; drop table auth.users; --", 'x'.repeat(5000)]) {
    const answer = await openRequest(flow, encodeURIComponent(request), token)
    t.ok([400, 404].includes(answer.status), answer.text)
  }
  t.equal(codeOf(await answerRequest(flow, old, token)), 'oauth_authorization_not_found', 'expired')
  const { id: request } = await startAccess(flow, id)
  for (const origin of ['https://evil.example', 'https://site.example.evil.example', 'null', 'http://site.example']) {
    const headers = { Origin: origin }
    const read = await ask('GET', `/oauth/authorizations/${request}`, { token, headers })
    const path = `/oauth/authorizations/${request}/consent`
    const answered = await ask('POST', path, { token, headers, body: { action: 'approve' } })
    t.strictSame([read.status, answered.status], [400, 400], origin)
  }
  t.equal((await ask('GET', `/oauth/authorizations/${request}`, { token })).status, 200)
  t.equal((await answerRequest(flow, request, token, 'deny')).status, 200)
  t.equal((await answerRequest(flow, request, token)).status, 400)
  t.equal((await ask('GET', `/oauth/authorizations/${request}`)).status, 401)
  // A token without a session: what it approves could not end with it.
  const { sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { sub: string }
  const lone = await signToken({ sub, role: 'authenticated' })
  t.equal(codeOf(await openRequest(flow, (await startAccess(flow, id)).id, lone)), 'session_not_found')
})

t.test('codes: forged, of another client, with another verifier or URI, expired', async (t) => {
  const client = await registerClient(flow, post)
  const other = await registerClient(flow, post)
  const { access_token: token } = await signUp(ask)
  const { code, verifier } = await approvedCode(flow, client.client_id, token, { resource: 'https://api.example/mcp' })
  const form = {
    grant_type: 'authorization_code',
    client_id: client.client_id,
    client_secret: client.client_secret,
    code,
    code_verifier: verifier,
  }
  const cases: readonly (readonly [string, Record<string, string | undefined>, string, RegExp])[] = [
    ['no code', { code: undefined }, 'invalid_request', /code is required/],
    ['a forged code', { code: 'x'.repeat(43) }, 'invalid_grant', /Invalid authorization code/],
    ['the id of a request', { code: (await startAccess(flow, client.client_id)).id }, 'invalid_grant', /Invalid/],
    [
      'another client',
      { client_id: other.client_id, client_secret: other.client_secret },
      'invalid_grant',
      /not issued for this client/,
    ],
    ['the secret of another', { client_secret: other.client_secret }, 'invalid_client', /invalid client credentials/],
    ['no secret', { client_secret: undefined }, 'invalid_client', /'client_secret_post' but 'none' was used/],
    ['no client', { client_id: undefined }, 'invalid_client', /client_id is required/],
    ['no id', { client_id: 'x' }, 'invalid_client', /Invalid client_id format/],
    ['no verifier', { code_verifier: undefined }, 'invalid_grant', /code_verifier is required/],
    ['another verifier', { code_verifier: pkce().verifier }, 'invalid_grant', /does not match/],
    ['the challenge', { code_verifier: pkce().challenge }, 'invalid_grant', /does not match/],
    ['another URI', { redirect_uri: `${redirectUri}/` }, 'invalid_grant', /Invalid redirect_uri/],
    ['another resource', { resource: 'https://api.example' }, 'invalid_grant', /resource/],
    ['another grant', { grant_type: 'password' }, 'unsupported_grant_type', /password/],
    ['no grant', { grant_type: undefined }, 'invalid_request', /grant_type is required/],
    ['NUL', { code: 'a\0b' }, 'invalid_request', /characters/],
  ]
  for (const [name, changes, error, description] of cases) {
    const { status, body } = await askToken(flow, { ...form, ...changes })
    t.match({ status, ...body }, { status: 400, error, error_description: description }, name)
  }
  const twice = await ask('POST', '/oauth/token', {
    text: `${new URLSearchParams(form as Record<string, string>).toString()}&code=x`,
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
  })
  t.match(twice.body, { error: 'invalid_request', error_description: /more than once/ })
  const basic = `Basic ${Buffer.from(`${client.client_id}:${client.client_secret ?? ''}`).toString('base64')}`
  t.match((await askToken(flow, form, { Authorization: basic })).body, { error: 'invalid_request' }, 'two ways at once')
  t.equal((await ask('POST', '/oauth/token', { text: 'x'.repeat(200_000) })).status, 413)
  t.match((await ask('POST', '/oauth/token', { text: '[1]' })).body, { error: 'invalid_request' })
  t.match((await ask('POST', '/oauth/token', { body: { ...form, code: 1 } })).body, { error: 'invalid_request' })
  // After all of these, the code is still that of its client.
  t.equal((await ask('POST', '/oauth/token', { body: { ...form, resource: 'https://api.example/mcp' } })).status, 200)

  const late = await startAccess(flow, client.client_id)
  const approved = await openRequest(flow, late.id, token)
  await expire(late.id)
  const expired = { ...form, code: returnedCode(approved), code_verifier: late.verifier }
  t.match((await askToken(flow, expired)).body, { error: 'invalid_grant', error_description: /expired/ })
})

t.test('a code that is used twice: what it gave ends, unless the verifier is wrong', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const { access_token: token } = await signUp(ask)
  const { code, verifier } = await approvedCode(flow, id, token)
  const form = { grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier }
  const { access_token: ofClient, refresh_token: refresh } = tokensOf(await askToken(flow, form))
  const seen = await askToken(flow, { ...form, code_verifier: pkce().verifier })
  t.match(seen.body, { error: 'invalid_grant' }, 'who has seen the code in a log')
  t.equal((await ask('GET', '/user', { token: ofClient })).status, 200)
  t.match((await askToken(flow, form)).body, {
    error: 'invalid_grant',
    error_description: 'Invalid authorization code',
  })
  t.equal(codeOf(await ask('GET', '/user', { token: ofClient })), 'session_not_found')
  t.equal((await refreshTokens(flow, id, refresh)).status, 400)
  t.equal((await ask('GET', '/user', { token })).status, 200)

  const again = await approvedCode(flow, id, token)
  const both = { ...form, code: again.code, code_verifier: again.verifier }
  const results = await Promise.all(Array.from({ length: 4 }, () => askToken(flow, both)))
  t.equal(results.filter(({ status }) => status === 200).length, 1, 'at once: one')
  const won = results.find(({ status }) => status === 200)
  t.equal((await ask('GET', '/user', { token: String(won?.body.access_token) })).status, 403, 'which the others ended')
})

t.test("refresh tokens: another client's, a person's, and used ones", async (t) => {
  const { client_id: id } = await registerClient(flow)
  const { client_id: other } = await registerClient(flow)
  const { access_token: token, refresh_token: ofPerson } = await signUp(ask)
  const { refresh_token: refresh, access_token: ofClient } = await grantedTokens(flow, id, token)
  t.match((await refreshTokens(flow, other, refresh)).body, {
    error: 'invalid_client',
    error_description: /does not match/,
  })
  t.match((await refreshTokens(flow, other, ofPerson)).body, {
    error: 'invalid_client',
    error_description: /non-OAuth/,
  })
  const direct = await refreshGrant(ask, refresh)
  t.match(direct.body, { error: 'invalid_client', error_description: /Client authentication required/ }, 'as a person')
  t.equal((await refreshGrant(ask, ofPerson)).status, 200, 'and all of them are as they were')
  const next = tokensOf(await refreshTokens(flow, id, refresh))
  tokensOf(await refreshTokens(flow, id, next.refresh_token))
  t.match((await refreshTokens(flow, id, refresh)).body, {
    error: 'invalid_grant',
    error_code: 'refresh_token_already_used',
  })
  t.equal((await refreshTokens(flow, id, next.refresh_token)).status, 400, 'the family has ended')
  t.match((await refreshTokens(flow, id, 'x')).body, { error: 'invalid_grant' })
  t.match((await askToken(flow, { grant_type: 'refresh_token', client_id: id })).body, { error: 'invalid_request' })
  t.equal((await ask('GET', '/user', { token: ofClient })).status, 200)

  const { client_id: once } = await registerClient(flow, { grant_types: ['authorization_code'] })
  const short = await grantedTokens(flow, once, token)
  t.equal(short.refresh_token, undefined, 'a client without the grant')
  t.match((await refreshTokens(flow, once, 'abcdefghijkl')).body, { error: 'unsupported_grant_type' })
})

t.test('redirects: only to a URI that is exactly one of the client', async (t) => {
  const { client_id: id } = await registerClient(flow, {
    redirect_uris: [redirectUri, 'http://localhost:4711/cb', 'app.example://callback'],
  })
  const { challenge } = pkce()
  const tricks = [
    ...['https://client.example/callback', `${redirectUri}&x=y`, `${redirectUri}#x`, `${redirectUri}/../evil`],
    ...['https://client.example.evil.example/callback?from=rowhouse', 'https://client.example@evil.example/callback'],
    ...['HTTPS://client.example/callback?from=rowhouse', 'https://CLIENT.example/callback?from=rowhouse'],
    ...['https://client.example/Callback?from=rowhouse', 'https://client.example:443/callback?from=rowhouse'],
    ...['https:/\\client.example/callback?from=rowhouse', ` ${redirectUri}`, `${redirectUri}\n`, `${redirectUri}%20`],
    ...['http://localhost:4712/cb', 'http://127.0.0.1:4711/cb', 'http://localhost/cb', '//evil.example', ''],
    ...['javascript:alert(1)//https://client.example', `${redirectUri},https://evil.example`, 'x'.repeat(10_000)],
  ]
  for (const uri of tricks) {
    const answer = await ask('GET', `/oauth/authorize?${accessQuery(id, challenge, { redirect_uri: uri })}`)
    t.strictSame([answer.status, answer.headers.get('location')], [400, null], uri.slice(0, 60))
  }
  const query = accessQuery(id, challenge)
  for (const second of [
    'redirect_uri=https%3A%2F%2Fevil.example',
    'redirect_uri=',
    `client_id=${id}`,
    'redirect_uri',
  ]) {
    for (const both of [`${query}&${second}`, `${second}&${query}`]) {
      const answer = await ask('GET', `/oauth/authorize?${both}`)
      t.strictSame([answer.status, answer.headers.get('location')], [400, null], second)
    }
  }
  // Before the client is known, nothing is believed.
  for (const unknown of ['11111111-2222-4333-8444-555555555555', 'x', '', "' or true --", `${id}x`]) {
    const answer = await ask('GET', `/oauth/authorize?${accessQuery(unknown, challenge, { scope: 'nonsense' })}`)
    t.strictSame([answer.status, answer.headers.get('location')], [400, null], unknown)
  }
  const upper = await ask('GET', `/oauth/authorize?${accessQuery(id.toUpperCase(), challenge)}`)
  t.equal(upper.status, 302, 'a UUID has no case')
})

t.test('errors that the client learns of', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const { challenge } = pkce()
  const cases: readonly (readonly [Record<string, string | undefined>, RegExp])[] = [
    [{ response_type: 'token' }, /only response_type=code/],
    [{ scope: 'email admin' }, /unsupported scope: admin/],
    [{ scope: '   ' }, /cannot be empty/],
    [{ scope: 'email '.repeat(1000) }, /scope must not have more than 4096/],
    [{ code_challenge: undefined }, /PKCE flow requires both/],
    [{ code_challenge_method: undefined }, /PKCE flow requires both/],
    [{ code_challenge_method: 'none' }, /must be 'S256' or 'plain'/],
    [{ code_challenge: 'short' }, /between 43 and 128/],
    [{ code_challenge: '+'.repeat(43) }, /can only contain/],
    [{ resource: 'api' }, /absolute URI/],
    [{ resource: 'https://api.example/#x' }, /fragment/],
    [{ resource: 'https://api.example/?x' }, /query/],
    [{ resource: `https://api.example/${'x'.repeat(2048)}` }, /resource must not have more/],
    [{ nonce: 'n'.repeat(256) }, /nonce must not have more than 255/],
    [{ state: 's'.repeat(4097) }, /state must not have more than 4096/],
  ]
  for (const [members, description] of cases) {
    const at = locationOf(await ask('GET', `/oauth/authorize?${accessQuery(id, challenge, members)}`))
    t.equal(at.origin + at.pathname, 'https://client.example/callback')
    t.match(Object.fromEntries(at.searchParams), { error: 'invalid_request', error_description: description })
    t.equal(at.searchParams.get('state'), members.state === undefined ? 'of the client' : null)
  }
  const twice = locationOf(await ask('GET', `/oauth/authorize?${accessQuery(id, challenge)}&scope=phone`))
  t.match(twice.searchParams.get('error_description'), /scope must not be given more than once/)
  const strange = '"><script>alert(1)</script>\r\nSet-Cookie: a=b'
  const back = locationOf(
    await ask('GET', `/oauth/authorize?${accessQuery(id, challenge, { state: strange, scope: 'x' })}`),
  )
  t.equal(back.searchParams.get('state'), strange, 'as it was, encoded')
  const plain = await ask('GET', `/oauth/authorize?${accessQuery(id, challenge, { code_challenge_method: 'plain' })}`)
  const { access_token: token } = await signUp(ask)
  const request = locationOf(plain).searchParams.get('authorization_id') ?? ''
  await openRequest(flow, request, token)
  const code = returnedCode(await answerRequest(flow, request, token))
  const form = { grant_type: 'authorization_code', client_id: id, code, code_verifier: challenge }
  t.equal((await askToken(flow, form)).status, 200, 'plain, as GoTrue permits it')
})

t.test('a link to the server leads no browser to the page of an application that registered itself', async (t) => {
  const local = 'http://localhost:4711/cb'
  const hostile = 'https://evil.example/?"><script>alert(1)</script>'
  const uris = [redirectUri, local, hostile]
  const register = (members: Json) => ask('POST', '/oauth/clients/register', { body: { ...post, ...members } })
  const { body: own } = await register({ client_name: 'Evil', redirect_uris: uris })
  const known = await registerClient(flow, { redirect_uris: uris })
  const browser = { Accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }
  const { challenge } = pkce()
  const authorize = (id: unknown, uri: string, headers: Record<string, string>, scope = 'admin') =>
    ask('GET', `/oauth/authorize?${accessQuery(String(id), challenge, { redirect_uri: uri, scope })}`, { headers })
  for (const uri of [redirectUri, hostile]) {
    const { status, text, headers } = await authorize(own.client_id, uri, browser)
    t.strictSame([status, headers.get('location')], [400, null], uri)
    t.match(headers.get('content-type'), /text\/html/)
    t.match(headers.get('content-security-policy'), /frame-ancestors 'none'/)
    t.match(text, /unsupported scope: admin/)
    t.notMatch(text, '<script>', 'a URI is text')
    const [, href = ''] = /<a href="([^"]*)"/.exec(text) ?? []
    t.match(href, /error=invalid_request/)
  }
  t.equal((await authorize(own.client_id, redirectUri, {})).status, 302, 'a program gets the redirect')
  t.equal((await authorize(own.client_id, local, browser)).status, 302, 'a program on this machine learns of it')
  t.equal((await authorize(known.client_id, redirectUri, browser)).status, 302, 'an application of an administrator')
  const valid = locationOf(await authorize(own.client_id, redirectUri, browser, 'email'))
  t.equal(valid.origin, 'https://site.example', 'a valid request leads to the page that asks')
})

t.test('a program that pretends to be an app that was granted access gets nothing without a question', async (t) => {
  const { access_token: token } = await signUp(ask)
  const uris = ['http://localhost:4711/cb', 'app.example://callback', redirectUri]
  const app = await registerClient(flow, { redirect_uris: uris })
  const server = await registerClient(flow, { redirect_uris: uris, ...post })
  await approvedCode(flow, app.client_id, token)
  await approvedCode(flow, server.client_id, token)
  const isAsked = async (id: string, uri: string) => {
    const { id: request } = await startAccess(flow, id, { redirect_uri: uri })
    return (await openRequest(flow, request, token)).body.redirect_url === undefined
  }
  for (const uri of uris) {
    t.equal(await isAsked(app.client_id, uri), uri !== redirectUri, uri)
    t.equal(await isAsked(server.client_id, uri), false, `${uri} of a client with a secret`)
  }
})

t.test('what clients say of themselves', async (t) => {
  const register = (members: Json, headers = {}) =>
    ask('POST', '/oauth/clients/register', { headers, body: { redirect_uris: [redirectUri], ...members } })
  const refused: readonly (readonly [Json, RegExp])[] = [
    [{ redirect_uris: [] }, /redirect_uris is required/],
    [{ redirect_uris: undefined }, /redirect_uris is required/],
    [{ redirect_uris: Array.from({ length: 11 }, () => redirectUri) }, /cannot exceed 10/],
    ...[
      ...['javascript:alert(1)', 'javascript://x/%0aalert(1)', 'data:text/html,x', 'JavaScript://x', 'blob://x/y'],
      ...['http://client.example', 'https://client.example/#', 'https://a:b@client.example', '/callback', 'https://'],
      ...['https://client.example/,javascript://x', 'https://client.example/\\x', 'https://client.example/ x', ''],
      ...['https://client.example/?code=x', 'https://clïent.example/', `https://client.example/${'x'.repeat(2048)}`],
      ...['file://host/x', 'view-source://x/y', 'intent://x/y', 'http://localhost.evil.example/'],
    ].map((uri) => [{ redirect_uris: [redirectUri, uri] }, /invalid redirect_uri/] as const),
    [{ client_name: 'x'.repeat(1025) }, /client_name cannot exceed 1024/],
    [{ client_name: 'Bank\u202egnp.exe' }, /control characters/],
    [{ client_name: 'a\nb' }, /control characters/],
    [{ logo_uri: 'javascript:alert(1)' }, /logo_uri must be a valid URL/],
    [{ logo_uri: 'data:image/svg+xml,<svg onload=alert(1)>' }, /logo_uri/],
    [{ logo_uri: 'https://x.example/"onerror="alert(1)' }, /logo_uri/],
    [{ client_uri: 'JAVASCRIPT:alert(1)' }, /client_uri/],
    [{ client_uri: `https://x.example/${'x'.repeat(2048)}` }, /client_uri cannot exceed 2048/],
    [{ grant_types: ['client_credentials'] }, /grant_types must only contain/],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, /must be one of/],
    [{ client_type: 'public', token_endpoint_auth_method: 'client_secret_post' }, /inconsistent/],
    [{ client_type: 'secret' }, /client_type must be/],
  ]
  for (const [members, message] of refused) {
    const { status, body } = await register(members)
    const name = JSON.stringify(members).slice(0, 80)
    t.match({ status, ...body }, { status: 400, error_code: 'validation_failed', msg: message }, name)
    t.match(body.error, /^invalid_(?:redirect_uri|client_metadata)$/, name)
  }
  for (const wrong of [{ redirect_uris: 'https://x.example' }, { client_name: 1 }, { grant_types: [1] }]) {
    t.equal(codeOf(await register(wrong)), 'bad_json')
  }
  t.equal(codeOf(await register({ client_name: 'x\0' })), 'validation_failed')
  t.equal((await register({ client_name: 'x'.repeat(2 ** 20) })).status, 413)
  const registered = await register({
    client_id: '11111111-2222-4333-8444-555555555555',
    registration_type: 'manual',
    role: 'x',
  })
  t.equal(registered.status, 201)
  t.match(registered.body, { registration_type: 'dynamic', client_secret_expires_at: 0, client_id_issued_at: Number })
  t.not(registered.body.client_id, '11111111-2222-4333-8444-555555555555')
  t.equal(codeOf(await ask('POST', '/admin/oauth/clients', { body: {} })), 'no_authorization')
  const { access_token: token } = await signUp(ask)
  t.equal(codeOf(await ask('POST', '/admin/oauth/clients', { token, body: {} })), 'not_admin')
})

t.test('floods: registrations and requests of a network are limited, and what is old is deleted', async (t) => {
  await reload({ GOTRUE_RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER: '3', GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '4' })
  const { client_id: id } = await registerClient(flow)
  const statuses = async (send: (n: number) => Promise<AuthAnswer>) => {
    const all: number[] = []
    for (let n = 0; n < 6; n++) all.push((await send(n)).status)
    return all
  }
  const headers = { 'X-Forwarded-For': '203.0.113.9' }
  const body = { redirect_uris: [redirectUri] }
  t.strictSame(await statuses(() => ask('POST', '/oauth/clients/register', { headers, body })), [
    ...[201, 201, 201, 429, 429, 429],
  ])
  const query = accessQuery(id, pkce().challenge)
  t.strictSame(
    await statuses(() => ask('GET', `/oauth/authorize?${query}`, { headers })),
    [302, 302, 302, 302, 429, 429],
  )
  const elsewhere = { 'X-Forwarded-For': '203.0.113.10' }
  t.strictSame(
    await statuses(() => askToken(flow, { client_id: id, grant_type: 'refresh_token', refresh_token: 'x' }, elsewhere)),
    [400, 400, 400, 400, 429, 429],
    'guesses of tokens',
  )
  await reload({ GOTRUE_RATE_LIMIT_OAUTH_DYNAMIC_CLIENT_REGISTER: '100000', GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000' })

  const { access_token: token } = await signUp(ask)
  const used = String(
    (await ask('POST', '/oauth/clients/register', { body: { ...body, ...{ token_endpoint_auth_method: 'none' } } }))
      .body.client_id,
  )
  await grantedTokens(flow, used, token)
  await database.query("update auth.oauth_clients set created_at = created_at - interval '8 days'")
  await database.query(
    "update auth.oauth_authorizations set created_at = now() - interval '3 hours', expires_at = now() - interval '2 hours'",
  )
  await startAccess(flow, used)
  const left = await database.query('select count(*)::int as number from auth.oauth_authorizations')
  t.strictSame(left.rows, [{ number: 1 }])
  await ask('POST', '/oauth/clients/register', { body })
  const { rows } = await database.query(
    `select count(*) filter (where registration_type = 'dynamic')::int as dynamic, bool_or(id = $1) as used,
       bool_or(id = $2) as manual from auth.oauth_clients`,
    [used, id],
  )
  t.strictSame(rows, [{ dynamic: 2, used: true, manual: true }], 'clients of administrators, and those in use, stay')
})

t.test('a client that changes: no redirect to a URI that was removed', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const { access_token: token } = await signUp(ask)
  const { code, verifier } = await approvedCode(flow, id, token)
  const { id: pending } = await startAccess(flow, id, { scope: 'phone' })
  const path = `/admin/oauth/clients/${id}`
  for (const [body, message] of [
    [{}, /No fields provided/],
    [{ redirect_uris: [] }, /cannot be empty/],
    [{ grant_types: [] }, /cannot be empty/],
    [{ token_endpoint_auth_method: 'client_secret_post' }, /not valid for client_type 'public'; valid methods: none/],
    [{ logo_uri: 'javascript:alert(1)' }, /logo_uri/],
  ] as const) {
    t.match((await ask('PUT', path, { token: admin, body })).body, { error_code: 'validation_failed', msg: message })
  }
  const changed = await ask('PUT', path, { token: admin, body: { redirect_uris: ['https://new.example/cb'] } })
  t.equal(changed.status, 200)
  t.equal(codeOf(await openRequest(flow, pending, token)), 'oauth_authorization_not_found')
  const form = { grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier }
  t.match((await askToken(flow, form)).body, { error: 'invalid_grant' })
  const secret = await ask('POST', `${path}/regenerate_secret`, { token: admin })
  t.match(secret.body, { error_code: 'validation_failed', msg: /public client/ })
  t.equal(codeOf(await ask('GET', '/admin/oauth/clients/x', { token: admin })), 'validation_failed')
})

t.test('an exchange at the same time as the end of the grant or of the client: no session is left', async (t) => {
  const ends: Record<string, (client: string, token: string) => Promise<AuthAnswer>> = {
    revoke: (client, token) => ask('DELETE', `/user/oauth/grants?client_id=${client}`, { token }),
    delete: (client) => ask('DELETE', `/admin/oauth/clients/${client}`, { token: admin }),
  }
  for (const [name, end] of Object.entries(ends)) {
    const outcomes = new Set<number>()
    for (let round = 0; round < 8; round++) {
      const { client_id: id } = await registerClient(flow)
      const { access_token: token } = await signUp(ask)
      const { code, verifier } = await approvedCode(flow, id, token)
      const { id: pending } = await startAccess(flow, id, { scope: 'phone' })
      await openRequest(flow, pending, token)
      const form = { grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier }
      const [exchanged, ended] = await Promise.all([
        askToken(flow, form),
        end(id, token),
        openRequest(flow, pending, token),
      ])
      outcomes.add(exchanged.status)
      t.equal(ended.status, 204, name)
      const { rows } = await database.query(
        `select (select count(*) from auth.sessions where oauth_client_id = $1)::int as sessions,
           (select count(*) from auth.oauth_authorizations where client_id = $1 and used_at is null)::int as requests,
           (select count(*) from auth.oauth_consents where client_id = $1 and revoked_at is null)::int as grants`,
        [id],
      )
      t.strictSame(rows, [{ sessions: 0, requests: 0, grants: 0 }], name)
    }
    t.comment(`${name}: ${[...outcomes].join()}`)
  }
})

t.test('a person who is banned between consent and exchange', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const { access_token: token, user } = await signUp(ask)
  const { code, verifier } = await approvedCode(flow, id, token)
  await database.query("update auth.users set banned_until = now() + interval '1 hour' where id = $1", [user.id])
  const form = { grant_type: 'authorization_code', client_id: id, code, code_verifier: verifier }
  t.match((await askToken(flow, form)).body, { error: 'access_denied', error_description: 'User is banned' })
  t.equal(codeOf(await openRequest(flow, (await startAccess(flow, id)).id, token)), 'user_banned')
})

t.test('the access of an earlier owner of the address ends when the address is proved', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const thief = await signUp(ask)
  const tokens = await grantedTokens(flow, id, thief.access_token)
  await database.query('select auth.remove_unproven_access($1, null, null)', [thief.user.id])
  t.equal((await refreshTokens(flow, id, tokens.refresh_token)).status, 400)
  const { rows } = await database.query('select from auth.oauth_consents where user_id = $1', [thief.user.id])
  t.equal(rows.length, 0, 'a client gets nothing without a question')
})

t.test('a new password revokes the grants that were made with the old one', async (t) => {
  const evil = await registerClient(flow, post)
  const next = 'battery staple horse'
  const changes: Readonly<Record<string, (email: unknown, token: string, id: string) => Promise<number>>> = {
    'by the user': async (_email, token) => (await ask('PUT', '/user', { token, body: { password: next } })).status,
    'by an administrator': async (_email, _token, id) =>
      (await ask('PUT', `/admin/users/${id}`, { token: admin, body: { password: next } })).status,
    'with a cookie': async (email) => {
      const { cookie } = await call('POST', '/auth/signin', { body: { email, password } })
      const body = { currentPassword: password, password: next }
      return (await call('PATCH', '/auth/me', { headers: { Cookie: cookie ?? '' }, body })).status
    },
  }
  for (const [label, change] of Object.entries(changes)) {
    const { access_token: thief, user } = await signUp(ask)
    await approvedCode(flow, evil.client_id, thief)
    const before = await startAccess(flow, evil.client_id)
    t.type((await openRequest(flow, before.id, thief)).body.redirect_url, 'string', 'not asked again')
    t.equal(await change(user.email, thief, user.id), 200, label)
    const { access_token: owner } = sessionOf(await passwordGrant(ask, user.email, next))
    t.strictSame((await ask('GET', '/user/oauth/grants', { token: owner })).body, [])
    const { id } = await startAccess(flow, evil.client_id)
    t.match(
      (await openRequest(flow, id, owner)).body,
      { redirect_url: undefined, client: { id: evil.client_id } },
      label,
    )
    returnedCode(await answerRequest(flow, id, owner))
  }
})

t.test("a client of an administrator's account is no administrator", async (t) => {
  const { user } = await signUp(ask)
  const path = `/admin/users/${user.id}`
  t.equal((await ask('PUT', path, { token: admin, body: { role: 'service_role' } })).status, 200)
  const { access_token: own } = sessionOf(await passwordGrant(ask, user.email))
  t.equal((await ask('GET', path, { token: own })).status, 200, 'the person is')
  const { client_id: id } = await registerClient(flow)
  const { access_token: ofClient } = await grantedTokens(flow, id, own)
  for (const [method, at, body] of [
    ['GET', path, undefined],
    ['PUT', path, { password: 'battery staple horse' }],
    ['POST', '/admin/generate_link', { type: 'magiclink', email: user.email }],
    ['POST', '/admin/oauth/clients', { client_name: 'Eve', redirect_uris: [redirectUri] }],
    ['DELETE', path, undefined],
  ] as const) {
    const answer = await ask(method, at, { token: ofClient, ...(body === undefined ? {} : { body }) })
    t.strictSame([answer.status, codeOf(answer)], [403, 'no_authorization'], `${method} ${at} ${answer.text}`)
  }
  t.equal((await passwordGrant(ask, user.email)).status, 200, 'the password is the same')
})

t.test('a session cookie opens and answers nothing, and beside a token the token counts', async (t) => {
  const { client_id: id } = await registerClient(flow)
  const person = await signUp(ask)
  const signedIn = await call('POST', '/auth/signin', { body: { email: person.user.email, password } })
  const headers = { Cookie: signedIn.cookie ?? '' }
  t.equal((await call('GET', '/auth/me', { headers })).status, 200)
  const { access_token: other, user } = await signUp(ask)
  const { id: request } = await startAccess(flow, id)
  t.equal((await ask('GET', `/oauth/authorizations/${request}`, { headers })).status, 401)
  const opened = await ask('GET', `/oauth/authorizations/${request}`, { headers, token: other })
  t.equal((opened.body.user as Json).id, user.id)
  const consent = `/oauth/authorizations/${request}/consent`
  t.equal((await ask('POST', consent, { headers, body: { action: 'approve' } })).status, 401)
  const { access_token: ofClient } = await grantedTokens(flow, id, other)
  for (const path of ['/auth/me', '/auth/sessions']) {
    const both = await call('GET', path, { headers: { ...headers, Authorization: `Bearer ${ofClient}` } })
    t.notMatch(both.text, user.id, `${path}: the cookie is that of the person`)
  }
})
