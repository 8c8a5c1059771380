// Sign-in with providers whose endpoints are known, while their discovery document is not available.
import { exportJWK, generateKeyPair, SignJWT, type JWTPayload } from 'jose'
import t from 'tap'
import { OidcProvider } from '../../server/services/auth/oauth/oidc-provider.ts'
import { startApplication } from '../support/application.ts'
import { askAuth, codeOf, sessionOf } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { fragmentOf } from '../support/page-client.ts'
import { until } from '../support/until.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

/** A server of a provider: responds to a request, or fails as the network does. */
type Server = (request: Request) => Response | Promise<Response>
const servers = new Map<string, Server>()
const requests: string[] = []
const isDown: Server = () => Promise.reject(new TypeError('fetch failed'))
const hangs: Server = () => new Promise(() => undefined)

// Takes the place of the network for all addresses but those of this machine.
const realFetch = globalThis.fetch
t.teardown(() => (globalThis.fetch = realFetch))
globalThis.fetch = async (input, init) => {
  const request = new Request(input, init)
  const { hostname, origin, pathname } = new URL(request.url)
  if (hostname === '127.0.0.1') return realFetch(input, init)
  requests.push(origin + pathname)
  return (servers.get(origin + pathname) ?? isDown)(request)
}

const google = 'https://accounts.google.com'
const discovery = `${google}/.well-known/openid-configuration`
const tokenEndpoint = 'https://oauth2.googleapis.com/token'
const { privateKey, publicKey } = await generateKeyPair('RS256')
const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'RS256', use: 'sig' }
const keys: Server = () => Response.json({ keys: [jwk] })
const sign = (claims: JWTPayload): Promise<string> =>
  new SignJWT({ iss: google, aud: 'app', email_verified: true, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'k' })
    .setIssuedAt()
    .setExpirationTime('1h')
    .sign(privateKey)

const page = 'http://localhost:3000/welcome'
const { url } = await startApplication(t, database.authenticatorUri, {
  GOTRUE_EXTERNAL_GOOGLE_ENABLED: 'true',
  GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID: 'app',
  GOTRUE_EXTERNAL_GOOGLE_SECRET: 'secret',
  GOTRUE_SITE_URL: 'http://localhost:3000',
})
const ask = askAuth(url)

/** The address at the provider to which a sign-in leads. */
const authorize = async (): Promise<URL> => {
  const { status, headers } = await ask('GET', `/authorize?provider=google&redirect_to=${page}`)
  t.equal(status, 302)
  return new URL(headers.get('location') ?? '')
}

/** The page to which the callback of a sign-in leads. */
const callback = async (at: URL): Promise<URL> => {
  const state = at.searchParams.get('state') ?? ''
  const { status, headers } = await ask('GET', `/callback?${new URLSearchParams({ state, code: 'c' }).toString()}`)
  t.equal(status, 303)
  return new URL(headers.get('location') ?? '')
}

/** The token endpoint of the provider, for the flow that began at an address. */
const tokensFor =
  (at: URL, sub: string): Server =>
  async (request) => {
    const form = new URLSearchParams(await request.text())
    t.equal(form.get('redirect_uri'), `${url}/auth/v1/callback`)
    t.ok(form.get('code_verifier'))
    const nonce = at.searchParams.get('nonce') ?? ''
    const id_token = await sign({ sub, email: `${sub}@example.org`, nonce })
    return Response.json({ access_token: 'a', token_type: 'Bearer', expires_in: 60, id_token })
  }

t.test('google works without its discovery document', async (t) => {
  servers.set(discovery, hangs)
  const first = await authorize()
  t.equal(first.origin + first.pathname, `${google}/o/oauth2/v2/auth`)
  t.match(Object.fromEntries(first.searchParams), {
    ...{ client_id: 'app', response_type: 'code', redirect_uri: `${url}/auth/v1/callback` },
    ...{ code_challenge_method: 'S256', state: String, nonce: String },
  })

  const failed = await callback(first)
  t.equal(failed.origin + failed.pathname, page)
  t.match(Object.fromEntries(failed.searchParams), { error: 'server_error', error_code: 'unexpected_failure' })

  const second = await authorize()
  servers.set(tokenEndpoint, tokensFor(second, 'ann'))
  t.match(await callback(second).then(fragmentOf), { error: 'server_error' }, 'its keys are not available yet')

  servers.set('https://www.googleapis.com/oauth2/v3/certs', keys)
  const third = await authorize()
  servers.set(tokenEndpoint, tokensFor(third, 'ann'))
  t.match(await callback(third).then(fragmentOf), { access_token: String, provider_token: 'a' })

  const idToken = await sign({ sub: 'ann', email: 'ann@example.org' })
  const body = { provider: 'google', id_token: idToken }
  const native = sessionOf(await ask('POST', '/token?grant_type=id_token', { body }))
  t.equal(native.user.email, 'ann@example.org')
  const forAnother = { provider: 'google', id_token: await sign({ sub: 'ann', aud: 'another' }) }
  t.equal((await ask('POST', '/token?grant_type=id_token', { body: forAnother })).status, 400)
  t.equal(requests.filter((address) => address === discovery).length, 1, 'one attempt in the background')
})

/** A discovery document with another authorization endpoint. */
const moved =
  (endpoint: string): Server =>
  () =>
    Response.json({
      issuer: google,
      authorization_endpoint: endpoint,
      token_endpoint: tokenEndpoint,
      jwks_uri: 'https://www.googleapis.com/oauth2/v3/certs',
    })

t.test('the document is read in the background, and again after an hour or a failure', async (t) => {
  const clock = { now: 0 }
  const provider = new OidcProvider(
    { issuer: google, clientId: 'app', secret: () => '', userInformation: true },
    () => clock.now,
  )
  const endpoint = async (): Promise<string> => (await provider.authorizationUrl({})).split('?', 1)[0] ?? ''
  const attempts = (): number => requests.filter((address) => address === discovery).length
  const documented = `${google}/o/oauth2/v2/auth`
  const before = attempts()
  servers.set(discovery, isDown)
  t.equal(await endpoint(), documented)
  t.ok(await until(() => attempts() === before + 3), 'three attempts')
  t.strictSame(await Promise.all([endpoint(), endpoint(), endpoint()]), Array(3).fill(documented))
  t.equal(attempts(), before + 3, 'no further ones at once')

  servers.set(discovery, moved('https://moved.example/auth'))
  clock.now += 31_000
  t.equal(await endpoint(), documented, 'not delayed by the document')
  t.ok(await until(async () => (await endpoint()) === 'https://moved.example/auth'))
  t.equal(attempts(), before + 4)

  servers.set(discovery, hangs)
  clock.now += 3_600_001
  t.equal(await endpoint(), 'https://moved.example/auth', 'what was read last is used')
  t.ok(await until(() => attempts() === before + 5))
})

t.test('a tenant of Microsoft does not prove addresses, unless it owns their domain', async (t) => {
  const tenant = 'https://login.microsoftonline.com/11111111-2222-3333-4444-555555555555'
  servers.set(`${tenant}/discovery/v2.0/keys`, keys)
  const { url } = await startApplication(t, database.authenticatorUri, {
    GOTRUE_EXTERNAL_AZURE_ENABLED: 'true',
    GOTRUE_EXTERNAL_AZURE_CLIENT_ID: 'app',
    GOTRUE_EXTERNAL_AZURE_URL: `${tenant}/v2.0`,
    GOTRUE_MAILER_AUTOCONFIRM: 'false',
  })
  const signIn = async (claims: JWTPayload) =>
    askAuth(url)('POST', '/token?grant_type=id_token', {
      body: { provider: 'azure', id_token: await sign({ iss: `${tenant}/v2.0`, email: 'ann@example.org', ...claims }) },
    })
  // Ann has an account at another provider, by the address that the tenant claims.
  t.equal(codeOf(await signIn({ sub: 'mallory' })), 'provider_email_needs_verification')
  t.equal(codeOf(await signIn({ sub: 'mallory', xms_edov: false })), 'provider_email_needs_verification')
  t.match(sessionOf(await signIn({ sub: 'ann at work', xms_edov: true })).user, { email: 'ann@example.org' })
  const other = tenant.replace('1111', '9999')
  t.equal((await signIn({ sub: 'ann', iss: `${other}/v2.0` })).status, 400, 'another tenant')
})

t.test('nor does azure at an address that is not one of Microsoft', async (t) => {
  const issuer = 'https://login.sovereign.example/tenant/v2.0'
  const document = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
  }
  servers.set(`${issuer}/.well-known/openid-configuration`, () => Response.json(document))
  servers.set(document.jwks_uri, keys)
  const { url } = await startApplication(t, database.authenticatorUri, {
    ...{ GOTRUE_EXTERNAL_AZURE_ENABLED: 'true', GOTRUE_EXTERNAL_AZURE_CLIENT_ID: 'app' },
    ...{ GOTRUE_EXTERNAL_AZURE_SECRET: 'secret', GOTRUE_EXTERNAL_AZURE_URL: issuer },
  })
  const ask = askAuth(url)
  const claims = { iss: issuer, email: 'ann@example.org' }
  const signIn = async (more: JWTPayload) => {
    const id_token = await sign({ ...claims, ...more })
    return ask('POST', '/token?grant_type=id_token', { body: { provider: 'azure', id_token } })
  }
  t.equal(codeOf(await signIn({ sub: 'mallory of a cloud' })), 'provider_email_needs_verification')
  t.match(sessionOf(await signIn({ sub: 'ann of a cloud', xms_edov: true })).user, { email: 'ann@example.org' })

  const started = await ask('GET', '/authorize?provider=azure')
  const at = new URL(started.headers.get('location') ?? '')
  const nonce = at.searchParams.get('nonce') ?? ''
  servers.set(document.token_endpoint, async () => {
    const id_token = await sign({ ...claims, nonce, sub: 'mallory in a browser' })
    return Response.json({ access_token: 'a', token_type: 'Bearer', expires_in: 60, id_token })
  })
  const state = at.searchParams.get('state') ?? ''
  const { headers } = await ask('GET', `/callback?${new URLSearchParams({ state, code: 'c' }).toString()}`)
  const page = new URL(headers.get('location') ?? '')
  t.equal(page.searchParams.get('error_code'), 'provider_email_needs_verification')
})
