// The OAuth server: how a client gets access to an account, what its tokens are, and how the access ends.
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { createClient } from '@supabase/supabase-js'
import { decodeJwt, jwtVerify } from 'jose'
import * as openid from 'openid-client'
import t from 'tap'
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
import { createMigratedDatabase } from '../support/database.ts'
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
  startAccess,
  tokensOf,
} from '../support/oauth-client.ts'
import { signToken } from '../support/token.ts'

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
