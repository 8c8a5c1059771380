// Tokens for the REST API, issued to the owner of a session cookie: claims, signing keys, and their use by supabase-js.
import { createClient } from '@supabase/supabase-js'
import { createPublicKey, generateKeyPairSync, randomBytes, type JsonWebKey } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, SignJWT } from 'jose'
import t from 'tap'
import { createJwtVerifier } from '../../server/identity/jwt/jwt.ts'
import { createValidator } from '../../server/validation/validator.ts'
import { detailsOf, signIn, signUp } from '../support/account.ts'
import { jwtSecret, startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const { url, call } = await startApplication(t, database.authenticatorUri, { SESSION_SECRETS: 's'.repeat(32) })
type Token = { readonly access_token: string; readonly token_type: string; readonly expires_in: number }

t.test('POST /auth/token returns a token with the claims of the session', async (t) => {
  const ann = await signUp(call, 'ann@example.org')
  const given = await ann.call('POST', '/auth/token')
  t.equal(given.status, 200)
  t.equal(given.headers.get('cache-control'), 'no-store')
  const token = detailsOf<Token>(given)
  t.strictSame((await createValidator()).forDto('urn:rowhouse:AccessTokenDto')({ ...token }), [])
  t.match(token, { token_type: 'bearer', expires_in: 900 })
  t.strictSame(decodeProtectedHeader(token.access_token), { alg: 'HS256', typ: 'JWT' })
  const { iat = 0, exp = 0, session_id: session, ...claims } = decodeJwt(token.access_token)
  t.strictSame(claims, { sub: ann.id, role: 'authenticated', aal: 'aal1' }, 'the address is not confirmed')
  await database.query('update auth.users set email_confirmed_at = now() where id = $1', [ann.id])
  t.match(decodeJwt(detailsOf<Token>(await ann.call('POST', '/auth/token')).access_token), { email: ann.email })
  t.ok(Math.abs(iat - Date.now() / 1000) < 60)
  t.equal(exp - iat, 900)
  const sessions = detailsOf<{ id: string }[]>(await ann.call('GET', '/auth/sessions'))
  t.equal(session, sessions[0]?.id)

  await database.query("update auth.users set app_role = 'admin' where id = $1", [ann.id])
  t.match(decodeJwt(detailsOf<Token>(await ann.call('POST', '/auth/token')).access_token), { app_role: 'admin' })

  const expired = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime(Math.floor(Date.now() / 1000) - 60)
    .sign(new TextEncoder().encode(jwtSecret))
  const refused = await call('GET', '/rest/v1/reports', { headers: { Authorization: `Bearer ${expired}` } })
  t.equal(refused.status, 401)
})

t.test('the settings decide on the signing algorithm, and the token verifies with their keys', async (t) => {
  const pair = (make: () => { privateKey: { export: (options: { format: 'jwk' }) => JsonWebKey } }): JsonWebKey =>
    make().privateKey.export({ format: 'jwk' })
  const ec = pair(() => generateKeyPairSync('ec', { namedCurve: 'P-256' }))
  const ec384 = pair(() => generateKeyPairSync('ec', { namedCurve: 'P-384' }))
  const rsa = pair(() => generateKeyPairSync('rsa', { modulusLength: 2048 }))
  const ed = pair(() => generateKeyPairSync('ed25519'))
  const ed448 = pair(() => generateKeyPairSync('ed448'))
  const publicPart = (key: JsonWebKey): JsonWebKey => createPublicKey({ key, format: 'jwk' }).export({ format: 'jwk' })
  const oct = { kty: 'oct', k: randomBytes(64).toString('base64url') }
  const set = (...keys: object[]): string => JSON.stringify({ keys })
  const cannot = { status: 'error', statusCode: 501, message: /can verify, but not sign$/ }
  const none = { status: 'error', statusCode: 503, message: 'Tokens are not set up: there is no JWT secret' }

  const rows: readonly (readonly [label: string, secret: string | Buffer | null, wanted: string | object])[] = [
    ['text', 'x'.repeat(32), 'HS256'],
    ['bytes', randomBytes(40), 'HS256'],
    ['a symmetric key', JSON.stringify(oct), 'HS256'],
    ['a key for another algorithm', JSON.stringify({ ...oct, alg: 'HS512' }), 'HS512'],
    ['a key with a kid', set({ ...oct, kid: 'one' }), 'HS256'],
    ['a key after a public one', set(publicPart(rsa), oct), 'HS256'],
    ['EC', JSON.stringify(ec), 'ES256'],
    ['EC 384', JSON.stringify(ec384), 'ES384'],
    ['RSA', set(publicPart(ec), rsa), 'RS256'],
    ['RSA-PSS', set({ ...rsa, alg: 'PS256', kid: 'pss' }), 'PS256'],
    ['Ed25519', JSON.stringify({ ...ed, alg: 'EdDSA' }), 'EdDSA'],
    ['public keys', set(publicPart(ec), publicPart(rsa), publicPart(ed)), cannot],
    ['a public one', JSON.stringify(publicPart(ec)), cannot],
    ['a curve that jose does not have', JSON.stringify(ed448), cannot],
    ['a key for encryption', set({ ...rsa, use: 'enc' }), cannot],
    ['a broken private part', JSON.stringify({ ...rsa, d: 'AAAA', p: 'x' }), cannot],
    ['an empty key set', set(), cannot],
    ['none', null, none],
  ]
  const user = await signUp((await startService(t, database.authenticatorUri)).call, 'keys@example.org')
  for (const [label, secret, wanted] of rows) {
    const settings = { jwtSecret: secret, jwtAud: null, jwtRoleClaimKey: '.role' }
    const { call } = await startService(t, database.authenticatorUri, { tokens: () => settings })
    const given = await call('POST', '/auth/token', { headers: { Cookie: user.cookie } })
    if (typeof wanted === 'object') {
      t.match(given.body, wanted, label)
      t.equal(given.status, (given.body as { statusCode: number }).statusCode)
      continue
    }
    t.equal(given.status, 200, `${label} ${given.text}`)
    const token = detailsOf<Token>(given).access_token
    t.equal(decodeProtectedHeader(token).alg, wanted, label)
    const verifier = createJwtVerifier({
      ...settings,
      jwtSecretIsBase64: false,
      jwtCacheMaxEntries: 0,
      dbAnonRole: null,
    })
    t.match(await verifier.verify(token), { role: 'authenticated', claims: { sub: user.id } }, label)
  }
})

t.test('the token follows the settings jwt-aud and jwt-role-claim-key', async (t) => {
  await signUp(call, 'claims@example.org')
  const token = async (more: { jwtAud?: string; jwtRoleClaimKey?: string }) => {
    const settings = { jwtSecret, jwtAud: null, jwtRoleClaimKey: '.role', ...more }
    const { call } = await startService(t, database.authenticatorUri, { tokens: () => settings })
    return (await signIn(call, 'claims@example.org')).call('POST', '/auth/token')
  }
  t.equal(decodeJwt(detailsOf<Token>(await token({ jwtAud: 'cars' })).access_token).aud, 'cars')
  t.equal((await token({ jwtRoleClaimKey: '$.role' })).status, 200)
  const elsewhere = await token({ jwtRoleClaimKey: '.app_metadata.role' })
  t.match([elsewhere.status, elsewhere.body], [501, { status: 'error', message: /jwt-role-claim-key/ }])
})

t.test('keys of /auth/v1 sign the tokens of the cookie, and only the key that is meant to', async (t) => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const secret = { kty: 'oct', k: randomBytes(32).toString('base64url'), kid: 'old', key_ops: ['verify'] }
  const pair = { ...privateKey.export({ format: 'jwk' }), kid: 'new', alg: 'ES256', key_ops: ['sign', 'verify'] }
  const settings = { jwtSecret, authJwtKeys: JSON.stringify([secret, pair]) }
  const { call } = await startService(t, database.authenticatorUri, { tokens: () => settings })
  const user = await signUp(call, 'two-keys@example.org')
  const token = detailsOf<Token>(await user.call('POST', '/auth/token')).access_token
  t.strictSame(decodeProtectedHeader(token), { alg: 'ES256', kid: 'new', typ: 'JWT' })
})

t.test('a secret that changes while the server runs is used at once', async (t) => {
  let secret = 'a'.repeat(32)
  const { call } = await startService(t, database.authenticatorUri, {
    tokens: () => ({ jwtSecret: secret, jwtAud: null, jwtRoleClaimKey: '.role' }),
  })
  const user = await signUp(call, 'change@example.org')
  for (const next of ['a'.repeat(32), 'b'.repeat(32)]) {
    secret = next
    const verifier = createJwtVerifier({
      jwtSecret: next,
      jwtSecretIsBase64: false,
      jwtAud: null,
      jwtRoleClaimKey: '.role',
      jwtCacheMaxEntries: 0,
      dbAnonRole: null,
    })
    const token = detailsOf<Token>(await user.call('POST', '/auth/token')).access_token
    t.match(await verifier.verify(token), { role: 'authenticated' })
  }
})

class NoWebSocket {
  constructor() {
    throw new Error('there is no WebSocket here')
  }
}

t.test('supabase-js accepts the token', async (t) => {
  const dora = await signUp(call, 'dora@example.org')
  const others = await Promise.all([1, 2, 3, 4, 5].map((n) => signUp(call, `other${n}@example.org`)))
  await signUp(call, 'boss@example.org')
  await database.query("update auth.users set app_role = 'admin' where email = 'boss@example.org'")
  const boss = await signIn(call, 'boss@example.org')
  const clientOf = (user: typeof dora) =>
    createClient(url, dataKey, {
      // Node 20 has no WebSocket, and the test does not need one.
      realtime: { transport: NoWebSocket as never },
      accessToken: async () => detailsOf<Token>(await user.call('POST', '/auth/token')).access_token,
    })
  // The bearer token determines the role; the key must also be valid.
  const dataKey = await signToken({ role: 'anon' })

  const report = { manufacturer: 'Fiat', model: 'Panda', year: 2012, mileage: 80_000, lat: 45, lng: 9 }
  const client = clientOf(dora)
  const created = await client
    .from('reports')
    .insert({ ...report, price: 4000 })
    .select('id,user_id,status')
    .single<{ id: string; user_id: string; status: string }>()
  t.equal(created.error, null)
  t.match(created.data, { user_id: dora.id, status: 'pending' })
  const id = created.data?.id ?? ''

  for (const [index, other] of others.entries()) {
    await clientOf(other)
      .from('reports')
      .insert({ ...report, price: 5000 + 500 * index })
  }
  const pending = await clientOf(boss).rpc('pending_reports')
  t.equal(pending.error, null)
  for (const { id, user_id: owner } of pending.data as { id: string; user_id: string }[]) {
    if (owner === dora.id) continue
    t.equal((await clientOf(boss).rpc('review_report', { id, approved: true })).error, null)
  }

  const valued = await client.from('reports').select('id, price, valuation').eq('id', id).single()
  t.equal(valued.error, null)
  t.match(valued.data, { id, price: 4000, valuation: { estimate: 6000, low: 5500, high: 6500, comparables: 5 } })
  const estimate = await client.rpc('estimate_report', { ...report, manufacturer: 'FIAT', model: 'pan da' })
  t.match([estimate.error, estimate.data], [null, { estimate: 6000 }])

  const listed = await client.from('reports').select()
  t.equal(listed.data?.length, 1, 'only rows of the user')
  const refused = await client.from('reports').update({ status: 'approved' }).eq('id', id)
  t.match(refused.error, { code: '42501' })
  const review = await client.rpc('review_report', { id, approved: true })
  t.match(review.error, { code: '42501', message: 'only an administrator reviews reports' })
  t.equal((await client.from('reports').update({ price: 4100 }).eq('id', id)).error, null)
  t.match(detailsOf(await dora.call('GET', `/report/${id}`)), { price: 4100 }, 'the same row as at /report')
  t.equal((await client.from('reports').delete().eq('id', id)).error, null)
  t.equal((await dora.call('GET', `/report/${id}`)).status, 404)
})
