// Providers with rules of their own: Apple's secret and names, Microsoft's tenants, Twitter's OAuth 1.0a.
import { createHmac, createPublicKey, generateKeyPairSync, randomUUID } from 'node:crypto'
import { exportJWK, generateKeyPair, jwtVerify, SignJWT, type JWTPayload } from 'jose'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf, sessionOf, type Json } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { fragmentOf } from '../support/page-client.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** A server of a provider: responds to a request, or fails as the network does. */
type Server = (request: Request) => Response | Promise<Response>
const servers = new Map<string, Server>()
const realFetch = globalThis.fetch
t.teardown(() => (globalThis.fetch = realFetch))
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init)
  const { hostname, origin, pathname } = new URL(request.url)
  if (hostname === '127.0.0.1') return realFetch(input, init)
  const server = servers.get(origin + pathname)
  return server ? server(request) : Promise.reject(new TypeError('fetch failed'))
}

const { privateKey, publicKey } = await generateKeyPair('RS256')
const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }
const signed = (claims: JWTPayload, kid = 'k'): Promise<string> =>
  new SignJWT({ aud: 'app', ...claims })
    .setProtectedHeader({ alg: 'RS256', kid })
    .setIssuedAt()
    .setExpirationTime('10m')
    .sign(privateKey)

const start = async (settings: Readonly<Record<string, string>>) => {
  const { url } = await startApplication(t, database.authenticatorUri, {
    GOTRUE_SITE_URL: 'http://localhost:3000',
    GOTRUE_MAILER_AUTOCONFIRM: 'false',
    ...settings,
  })
  const ask = askAuth(url)
  const authorize = async (query: string): Promise<URL> => {
    const { headers } = await ask('GET', `/authorize?${query}`)
    return new URL(headers.get('location') ?? '')
  }
  const callback = async (parameters: Readonly<Record<string, string>>, method = 'GET'): Promise<Json> => {
    const text = new URLSearchParams(parameters).toString()
    const { headers } =
      method === 'GET'
        ? await ask('GET', `/callback?${text}`)
        : await ask('POST', '/callback', { text, headers: { 'Content-Type': 'application/x-www-form-urlencoded' } })
    const page = new URL(headers.get('location') ?? '')
    return { ...Object.fromEntries(page.searchParams), ...fragmentOf(page) }
  }
  return { url, ask, authorize, callback }
}

const settingsOf = (name: string, more: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries({ ENABLED: 'true', CLIENT_ID: 'app', SECRET: 'secret', ...more }).map(([key, value]) => [
      `GOTRUE_EXTERNAL_${name}_${key}`,
      value,
    ]),
  )

const stored = async (provider: string, id: string): Promise<Json> => {
  const { rows } = await database.query(
    `select raw_user_meta_data as metadata, identity_data as data, users.email
     from auth.identities join auth.users on users.id = user_id where provider = $1 and provider_id = $2`,
    [provider, id],
  )
  return rows[0] ?? {}
}

t.test('apple: a secret made of its parts, and the names of the form', async (t) => {
  const key = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const { authorize, callback, ask } = await start(
    settingsOf('APPLE', { SECRET: '', KEY_ID: 'KEY1', TEAM_ID: 'TEAM1', PRIVATE_KEY: pem.replaceAll('\n', '\\n') }),
  )
  const proofs: string[] = []
  servers.set('https://appleid.apple.com/auth/keys', () => Response.json({ keys: [jwk] }))
  const signIn = async (more: Readonly<Record<string, string>>): Promise<Json> => {
    const at = await authorize('provider=apple')
    servers.set('https://appleid.apple.com/auth/token', async (request) => {
      proofs.push(new URLSearchParams(await request.text()).get('client_secret') ?? '')
      const id_token = await signed({
        ...{ iss: 'https://appleid.apple.com', sub: '001.tim', nonce: at.searchParams.get('nonce'), auth_time: 1 },
        ...{ email: 'tim@privaterelay.appleid.com', email_verified: 'true', is_private_email: 'true' },
      })
      return Response.json({ access_token: 'a', token_type: 'Bearer', expires_in: 3600, id_token })
    })
    return callback({ state: at.searchParams.get('state') ?? '', code: 'c', ...more }, 'POST')
  }
  const user = JSON.stringify({ name: { firstName: 'Tim', lastName: 'Apple' }, email: 'other@example.org' })
  t.match(await signIn({ user }), { access_token: String })
  const [proof = ''] = proofs
  const { payload, protectedHeader } = await jwtVerify(
    proof,
    createPublicKey(key.publicKey.export({ type: 'spki', format: 'pem' })),
    {
      ...{ issuer: 'TEAM1', audience: 'https://appleid.apple.com', subject: 'app', algorithms: ['ES256'] },
    },
  )
  t.equal(protectedHeader.kid, 'KEY1')
  t.ok((payload.exp ?? 0) - (payload.iat ?? 0) <= 600)
  t.match(await stored('apple', '001.tim'), {
    email: 'tim@privaterelay.appleid.com',
    metadata: { name: 'Tim Apple', full_name: 'Tim Apple', custom_claims: { is_private_email: true, auth_time: 1 } },
  })

  // Only the first form has the name: it stays. A form is not signed, and decides nothing else.
  for (const form of ['', '{', '[]', 'null', '{"name":7}', '{"name":{"firstName":{}}}', '{"email":"a@example.org"}']) {
    t.match(await signIn({ user: form }), { access_token: String }, form)
  }
  t.match(await stored('apple', '001.tim'), {
    email: 'tim@privaterelay.appleid.com',
    metadata: { full_name: 'Tim Apple' },
  })

  const native = async (iss: string) =>
    ask('POST', '/token?grant_type=id_token', {
      body: { provider: 'apple', id_token: await signed({ iss, sub: '001.tim', email_verified: true }) },
    })
  t.equal((await native('https://account.apple.com')).status, 200, 'the other name of the issuer')
  t.equal((await native('https://apple.example')).status, 400)
})

const microsoft = 'https://login.microsoftonline.com'
const [work, other] = [randomUUID(), randomUUID()]
const personal = '9188040d-6c67-4c5b-b112-36a304b66dad'

t.test('azure: tenants that the settings let in', async (t) => {
  const forAll = { ...jwk, kid: 'all', issuer: `${microsoft}/{tenantid}/v2.0` }
  const forPersonal = { ...jwk, kid: 'personal', issuer: `${microsoft}/${personal}/v2.0` }
  for (const group of ['common', 'organizations', 'consumers', work]) {
    servers.set(`${microsoft}/${group}/discovery/v2.0/keys`, () => Response.json({ keys: [forAll, forPersonal] }))
  }
  const claimsOf = (tenant: string): JWTPayload => ({
    ...{ iss: `${microsoft}/${tenant}/v2.0`, tid: tenant, sub: `user of ${tenant}`, oid: 'o', name: 'Ann' },
    ...{ email: `ann@${tenant}.example`, xms_edov: true, preferred_username: 'ann@work.example' },
  })
  const rows: readonly (readonly [group: string, url: string, accepted: readonly string[]])[] = [
    ['common', '', [work, other, personal]],
    ['common', `${microsoft}/common`, [work, other, personal]],
    ['organizations', `${microsoft}/organizations/`, [work, other]],
    ['consumers', `${microsoft}/consumers`, [personal]],
    [work, `${microsoft}/${work}`, [work]],
  ]
  for (const [group, url, accepted] of rows) {
    const { authorize, callback, ask } = await start(settingsOf('AZURE', url === '' ? {} : { URL: url }))
    const native = async (claims: JWTPayload, kid = 'all') =>
      (
        await ask('POST', '/token?grant_type=id_token', {
          body: { provider: 'azure', id_token: await signed(claims, kid) },
        })
      ).status
    const named = async (issuer: string, claims: JWTPayload) => {
      const body = { issuer, client_id: 'app', id_token: await signed(claims, 'all') }
      return (await ask('POST', '/token?grant_type=id_token', { body })).status
    }
    for (const tenant of [work, other, personal]) {
      const isAccepted = accepted.includes(tenant)
      const issuer = String(claimsOf(tenant).iss)
      t.equal(await named(issuer, claimsOf(tenant)), isAccepted ? 200 : 400, `${tenant} at ${group}, by its issuer`)
      t.equal(await native(claimsOf(tenant)), isAccepted ? 200 : 400, `${tenant} at ${group}`)
      const at = await authorize('provider=azure')
      t.equal(at.origin + at.pathname, `${microsoft}/${group}/oauth2/v2.0/authorize`)
      servers.set(`${microsoft}/${group}/oauth2/v2.0/token`, async () => {
        const id_token = await signed({ ...claimsOf(tenant), nonce: at.searchParams.get('nonce') }, 'all')
        return Response.json({ access_token: 'a', token_type: 'Bearer', id_token })
      })
      const finished = await callback({ state: at.searchParams.get('state') ?? '', code: 'c' })
      t.match(finished, isAccepted ? { access_token: String } : { error: 'server_error' }, `${tenant} at ${group}`)
    }
    if (group === 'common') {
      t.equal(await native({ ...claimsOf(work), tid: other }), 400, 'a tenant that is not the issuer')
      t.equal(await named('https://login.microsoftonline.com.evil.example/x/v2.0', claimsOf(work)), 400)
      t.equal(await native({ ...claimsOf(work), tid: undefined }), 400, 'no tenant')
      t.equal(await native({ ...claimsOf('x'), tid: 'x' }), 400, 'not the id of a tenant')
      t.equal(await native({ ...claimsOf(work), iss: `${microsoft}/{tenantid}/v2.0` }), 400, 'the placeholder')
      t.equal(await native(claimsOf(work), 'personal'), 400, 'signed by the key of another tenant')
      t.equal(await native(claimsOf(personal), 'personal'), 200)
    }
  }
  t.match(await stored('azure', `user of ${work}`), {
    metadata: { full_name: 'Ann', preferred_username: 'ann@work.example', custom_claims: { tid: work, oid: 'o' } },
    data: { iss: `${microsoft}/${work}/v2.0`, email_verified: true },
  })
  t.notHas(((await stored('azure', `user of ${work}`)).metadata as Json).custom_claims, { aud: 'app' })
})

t.test('keycloak: claims of the realm', async (t) => {
  const issuer = 'https://id.example.com/realms/app'
  servers.set(`${issuer}/.well-known/openid-configuration`, () =>
    Response.json({
      issuer,
      authorization_endpoint: `${issuer}/protocol/openid-connect/auth`,
      token_endpoint: `${issuer}/protocol/openid-connect/token`,
      jwks_uri: `${issuer}/protocol/openid-connect/certs`,
    }),
  )
  servers.set(`${issuer}/protocol/openid-connect/certs`, () => Response.json({ keys: [jwk] }))
  const { ask } = await start(settingsOf('KEYCLOAK', { URL: `${issuer}/` }))
  const id_token = await signed({
    ...{ iss: issuer, sub: 'kc', email: 'kc@example.org', email_verified: true, name: 'Key', groups: ['/a'] },
    ...{ realm_access: { roles: ['admin'] }, note: 'a\u0000b', sid: 's' },
  })
  sessionOf(await ask('POST', '/token?grant_type=id_token', { body: { provider: 'keycloak', id_token } }))
  const { metadata } = await stored('keycloak', 'kc')
  // What Postgres cannot store is left out.
  t.strictSame((metadata as Json).custom_claims, { groups: ['/a'], realm_access: { roles: ['admin'] } })
})

t.test('vercel_marketplace: a person in several teams', async (t) => {
  servers.set('https://marketplace.vercel.com/.well-known/jwks', () => Response.json({ keys: [jwk] }))
  const { ask } = await start(settingsOf('VERCEL_MARKETPLACE'))
  const id_token = await signed({
    ...{ iss: 'https://marketplace.vercel.com', sub: 'team:user', global_user_id: 'g1' },
    ...{ user_email: 'vera@example.org', user_name: 'Vera', user_avatar_url: 'https://images.example/v' },
  })
  sessionOf(await ask('POST', '/token?grant_type=id_token', { body: { provider: 'vercel_marketplace', id_token } }))
  t.match(await stored('vercel_marketplace', 'global_user_id:g1'), {
    email: 'vera@example.org',
    metadata: { name: 'Vera', picture: 'https://images.example/v' },
  })
})

/** The fields of a header of OAuth 1.0a, if its signature is that of the secrets. */
function verifiedFields(request: Request, tokenSecret: string): Json {
  const header = request.headers.get('authorization') ?? ''
  const fields = [...header.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value] as const)
  const { searchParams, origin, pathname } = new URL(request.url)
  const given = fields.filter(([name]) => name !== 'oauth_signature')
  const pairs = [...given, ...searchParams].map(([name, value]) => `${name}=${value}`).sort()
  const base = [request.method, origin + pathname, pairs.join('&')].map(encodeURIComponent).join('&')
  const signature = createHmac('sha1', `secret&${tokenSecret}`).update(base).digest('base64')
  const decoded = Object.fromEntries(fields.map(([name, value]) => [name, decodeURIComponent(value)]))
  return decoded.oauth_signature === signature ? decoded : {}
}

t.test('twitter: OAuth 1.0a', async (t) => {
  const { url, authorize, callback, ask } = await start({
    ...settingsOf('TWITTER'),
    TRUSTED_PROXIES: '1',
    GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  })
  const site = 'https://api.twitter.com'
  let count = 0
  let at = ''
  servers.set(`${site}/oauth/request_token`, (request) => {
    const { oauth_callback: callbackUrl, oauth_consumer_key: key } = verifiedFields(request, '')
    if (key !== 'app') return new Response('Bad signature', { status: 401 })
    at = String(callbackUrl)
    count += 1
    return new Response(`oauth_token=r${count}&oauth_token_secret=rs${count}&oauth_callback_confirmed=true`)
  })
  servers.set(`${site}/oauth/access_token`, (request) => {
    const { oauth_token: token, oauth_verifier: verifier } = verifiedFields(request, `rs${count}`)
    if (token !== `r${count}` || verifier !== 'right') return new Response('Bad verifier', { status: 401 })
    return new Response('oauth_token=access&oauth_token_secret=access-secret&user_id=38895958&screen_name=theSean')
  })
  servers.set(`${site}/1.1/account/verify_credentials.json`, (request) =>
    verifiedFields(request, 'access-secret').oauth_token === 'access' &&
    new URL(request.url).searchParams.get('include_email') === 'true'
      ? Response.json({
          ...{ id: 38895958, id_str: '38895958', name: 'Sean', screen_name: 'theSean', email: 'sean@example.org' },
          profile_image_url_https: 'https://images.example/tw',
        })
      : new Response('', { status: 401 }),
  )
  const begin = async () => {
    const page = await authorize('provider=twitter')
    return { page, state: new URL(at).searchParams.get('state') ?? '', oauth_token: `r${count}` }
  }
  const first = await begin()
  t.equal(first.page.href, `${site}/oauth/authenticate?oauth_token=r1`)
  t.equal(at, `${url}/auth/v1/callback?state=${first.state}`)
  const { state, oauth_token } = first
  const signedIn = await callback({ state, oauth_token, oauth_verifier: 'right' })
  t.match(signedIn, { access_token: String, provider_token: 'access' })
  t.match(await stored('twitter', '38895958'), {
    email: 'sean@example.org',
    metadata: {
      name: 'Sean',
      user_name: 'theSean',
      preferred_username: 'theSean',
      avatar_url: 'https://images.example/tw',
    },
    data: { iss: `${site}/1.1/account/verify_credentials.json`, email_verified: true },
  })
  t.match(await callback({ state, oauth_token, oauth_verifier: 'right' }), { error: String }, 'once')

  const failed = { error: 'server_error', error_code: 'unexpected_failure' }
  const wrong = await begin()
  t.match(await callback({ state: wrong.state, oauth_token: 'r2', oauth_verifier: 'wrong' }), failed)
  const [mine, theirs] = [await begin(), await begin()]
  t.match(
    await callback({ state: mine.state, oauth_token: theirs.oauth_token, oauth_verifier: 'right' }),
    failed,
    'the token of another sign-in',
  )
  const empty = await begin()
  t.match(await callback({ state: empty.state, code: 'c' }), failed)
  const denied = await begin()
  t.match(await callback({ state: denied.state, denied: denied.oauth_token }), { error: 'access_denied' })

  servers.set(`${site}/oauth/request_token`, () => new Response('oauth_token=a&oauth_token_secret=b'))
  const unavailable = { error: 'temporarily_unavailable' }
  t.match(
    Object.fromEntries((await authorize('provider=twitter')).searchParams),
    unavailable,
    'a callback that is refused',
  )
  servers.delete(`${site}/oauth/request_token`)
  t.match(Object.fromEntries((await authorize('provider=twitter')).searchParams), unavailable)
  // Each sign-in sends a request: a flood of them does not become one at Twitter.
  let sent = 0
  servers.set(`${site}/oauth/request_token`, () => {
    sent += 1
    return new Response('', { status: 503 })
  })
  for (const [path, network] of [
    ['/authorize', '203.0.113.1'],
    ['/user/identities/authorize', '203.0.113.2'],
  ] as const) {
    sent = 0
    const call = { token: String(signedIn.access_token), headers: { 'X-Forwarded-For': network } }
    const statuses = []
    for (let round = 0; round < 40; round++) {
      const provider = round % 2 === 0 ? 'Twitter' : 'custom:twitter'
      statuses.push((await ask('GET', `${path}?provider=${provider}`, call)).status)
    }
    t.ok(statuses.includes(429), path)
    t.ok(sent > 0 && sent <= 30, `${path}: ${sent} requests`)
  }
  const body = { provider: 'twitter', id_token: await signed({ sub: 'x' }) }
  t.equal(codeOf(await ask('POST', '/token?grant_type=id_token', { body })), 'validation_failed')
})
