import { createHmac, createSign, generateKeyPairSync, sign as signWithKey, type KeyObject } from 'node:crypto'
import t from 'tap'
import { bearerToken } from '../../../server/identity/bearer.ts'
import { claimsText, type Identity } from '../../../server/identity/identity.ts'
import { createJwtVerifier, type JwtSettings } from '../../../server/identity/jwt/jwt.ts'
import { SecretError, verificationKeys } from '../../../server/identity/jwt/jwt-keys.ts'
import { CredentialError } from '../../../server/identity/credential-error.ts'
import { errorBody, ofCredential } from '../../../server/rest/errors.ts'

const secret = 'reallyreallyreallyreallyverysafe'
const now = 1_700_000_000

const settings: JwtSettings = {
  jwtSecret: secret,
  jwtSecretIsBase64: false,
  jwtAud: null,
  jwtRoleClaimKey: '$.role',
  jwtCacheMaxEntries: 10,
  dbAnonRole: 'anon',
}

const base64url = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

type Signer = (input: string) => string

const hmac =
  (key: string | Buffer, hash = 'sha256'): Signer =>
  (input) =>
    createHmac(hash, key).update(input).digest('base64url')

const token = (
  claims: unknown,
  header: unknown = { alg: 'HS256', typ: 'JWT' },
  signer: Signer = hmac(secret),
): string => {
  const input = `${base64url(header)}.${base64url(claims)}`
  return `${input}.${signer(input)}`
}

/** The result for a request: role and claims, or status, body and `WWW-Authenticate` of the error. */
async function answer(verify: () => Identity | Promise<Identity>): Promise<unknown> {
  try {
    const { role, claims } = await verify()
    return { role, claims }
  } catch (thrown) {
    if (!(thrown instanceof CredentialError)) throw thrown
    const error = ofCredential(thrown)
    return { status: error.status, ...(JSON.parse(errorBody(error, 'verbose')) as object), headers: error.headers }
  }
}

const outcome = (given: string | undefined, changed: Partial<JwtSettings> = {}, at = now): Promise<unknown> => {
  const verifier = createJwtVerifier({ ...settings, ...changed })
  return answer(() => verifier.verify(given, at))
}

const fault = (code: string, message: string, details: string | null = null): unknown => ({
  status: 401,
  code,
  message,
  details,
  hint: null,
  headers: [['WWW-Authenticate', `Bearer error="invalid_token", error_description="${message}"`]],
})

const anonymousDisabled = {
  status: 401,
  code: 'PGRST302',
  message: 'Anonymous access is disabled',
  details: null,
  hint: null,
  headers: [['WWW-Authenticate', 'Bearer']],
}
const noSecret = {
  status: 500, code: 'PGRST300', message: 'Server lacks JWT secret', details: null, hint: null, headers: [],
} // prettier-ignore

const unreadable = fault('PGRST301', 'JWT cryptographic operation failed')
const noKey = fault('PGRST301', 'No suitable key or wrong key type', 'No suitable key was found to decode the JWT')
const wrongKey = fault('PGRST301', 'No suitable key or wrong key type', 'None of the keys was able to decode the JWT')
const author = { role: 'author' }
const admitted = { role: 'author', claims: author }

t.test('tokens', async (t) => {
  const good = token(author)
  const [header = '', payload = '', signature = ''] = good.split('.')
  const unsecured = `${base64url({ alg: 'none' })}.${payload}.`
  const rows: readonly [string, string | undefined, Partial<JwtSettings>, unknown][] = [
    ['none', undefined, {}, { role: 'anon', claims: {} }],
    ['none, and no anonymous role', undefined, { dbAnonRole: null }, anonymousDisabled],
    ['none, and no secret', undefined, { jwtSecret: null }, { role: 'anon', claims: {} }],
    ['a good one', good, {}, admitted],
    ['a good one, and no secret', good, { jwtSecret: null }, noSecret],
    ['empty, and no secret', '', { jwtSecret: null }, noSecret],
    ['empty', '', {}, fault('PGRST301', 'Empty JWT is sent in Authorization header')],
    ['one part', 'abc', {}, fault('PGRST301', 'Expected 3 parts in JWT; got 1')],
    ['two parts', `${header}.${payload}`, {}, fault('PGRST301', 'Expected 3 parts in JWT; got 2')],
    ['five parts', 'a.b.c.d.e', {}, fault('PGRST301', 'Expected 3 parts in JWT; got 5')],
    ['three empty parts', '..', {}, unreadable],
    ['a header that is not base64url', `${header}+.${payload}.${signature}`, {}, unreadable],
    ['a header with padding', `${header}=.${payload}.${signature}`, {}, unreadable],
    ['a header that is not JSON', `${base64url('{')}.${payload}.${signature}`, {}, unreadable],
    ['a header that is not an object', `${base64url([1])}.${payload}.${signature}`, {}, unreadable],
    ['a payload that is not base64url', `${header}.${payload}!.${signature}`, {}, unreadable],
    ['a signature that is not base64url', `${header}.${payload}.${signature} `, {}, unreadable],
    ['no algorithm', token(author, {}), {}, unreadable],
    ['an unknown algorithm', token(author, { alg: 'HS1' }), {}, unreadable],
    ['an algorithm named like a member of all objects', token(author, { alg: 'constructor' }), {}, unreadable],
    ['an encrypted token', token(author, { alg: 'RSA-OAEP', enc: 'A128GCM' }), {}, unreadable],
    ['a type that is not text', token(author, { alg: 'HS256', typ: 1 }), {}, unreadable],
    ['extensions to be understood', token(author, { alg: 'HS256', crit: ['b64'], b64: false }), {}, unreadable],
    ['algorithm none', unsecured, {},
      fault('PGRST301', 'Wrong or unsupported encoding algorithm', "JWT is unsecured but expected 'alg' was not 'none'")],
    ['algorithm none with a signature', token(author, { alg: 'none' }), {},
      fault('PGRST301', 'Wrong or unsupported encoding algorithm', "JWT is unsecured but expected 'alg' was not 'none'")],
    ['algorithm none and a signature that is not base64url', `${unsecured}?`, {},
      fault('PGRST301', 'Wrong or unsupported encoding algorithm', "JWT is unsecured but expected 'alg' was not 'none'")],
    ['algorithm none and a payload that is not base64url', `${base64url({ alg: 'none' })}.?.`, {}, unreadable],
    ['algorithm NONE', token(author, { alg: 'NONE' }), {}, unreadable],
    ['another secret', token(author, undefined, hmac('x'.repeat(32))), {}, wrongKey],
    ['no signature', `${header}.${payload}.`, {}, wrongKey],
    ['another payload', `${header}.${base64url({ role: 'admin' })}.${signature}`, {}, wrongKey],
    ['HS512 with a secret that is text', token(author, { alg: 'HS512' }, hmac(secret, 'sha512')), {}, noKey],
    ['RS256 with a secret that is text', token(author, { alg: 'RS256' }), {}, noKey],
    ['a key id with a secret that is text', token(author, { alg: 'HS256', kid: '1' }), {}, noKey],
    ['a key id of null', token(author, { alg: 'HS256', kid: null }), {}, admitted],
    ['a secret of bytes', token(author, undefined, hmac(Buffer.alloc(40, 0xff))), { jwtSecret: Buffer.alloc(40, 0xff) }, admitted],
    ['claims that are not JSON', token('no'), {}, fault('PGRST303', 'Parsing claims failed')],
    ['claims that are a list', token([author]), {}, fault('PGRST303', 'Parsing claims failed')],
    ['claims with a byte order mark', token('\uFEFF{}'), {}, fault('PGRST303', 'Parsing claims failed')],
    ['no role', token({ id: 1 }), {}, { role: 'anon', claims: { id: 1 } }],
    ['no role, and no anonymous role', token({ id: 1 }), { dbAnonRole: null }, anonymousDisabled],
    ['a role elsewhere', token({ role: 'no', app: { roles: ['x', 'author'] } }), { jwtRoleClaimKey: '$.app.roles[1]' },
      { role: 'author', claims: { role: 'no', app: { roles: ['x', 'author'] } } }],
    ['a role at an older path', token({ app: { role: 'author' } }), { jwtRoleClaimKey: '.app.role' },
      { role: 'author', claims: { app: { role: 'author' } } }],
    ['a role that is a number', token({ role: 5 }), {}, { role: '5', claims: { role: 5 } }],
  ] // prettier-ignore
  for (const [name, given, changed, expected] of rows) t.strictSame(await outcome(given, changed), expected, name)
})

t.test('claims', async (t) => {
  const expired = fault('PGRST303', 'JWT expired')
  const early = fault('PGRST303', 'JWT not yet valid')
  const future = fault('PGRST303', 'JWT issued at future')
  const notMeant = fault('PGRST303', 'JWT not in audience')
  const badAudience = fault('PGRST303', "The JWT 'aud' claim must be a string or an array of strings")
  const notNumber = (name: string): unknown => fault('PGRST303', `The JWT '${name}' claim must be a number`)
  const rows: readonly [Record<string, unknown>, string | null, unknown][] = [
    [{ exp: now + 1 }, null, 'ok'],
    [{ exp: now - 30 }, null, 'ok'],
    [{ exp: now - 31 }, null, expired],
    [{ exp: null }, null, 'ok'],
    [{ exp: 'soon' }, null, notNumber('exp')],
    [{ exp: true }, null, notNumber('exp')],
    [{ exp: now + 100.5 }, null, 'ok'],
    [{ exp: now - 30.5 }, null, expired],
    [{ exp: 1e30 }, null, expired],
    [{ nbf: now + 30 }, null, 'ok'],
    [{ nbf: now + 31 }, null, early],
    [{ nbf: now + 29.5 }, null, 'ok'],
    [{ nbf: now + 100.5 }, null, early],
    [{ nbf: [] }, null, notNumber('nbf')],
    [{ iat: now + 30 }, null, 'ok'],
    [{ iat: now + 31 }, null, future],
    [{ iat: {} }, null, notNumber('iat')],
    [{ exp: now - 31, nbf: 'x', iat: now + 31, aud: 1 }, null, expired],
    [{ nbf: now + 31, iat: now + 31, aud: 1 }, null, early],
    [{ iat: now + 31, aud: 1 }, null, future],
    [{ aud: 1 }, null, badAudience],
    [{ aud: { invalid: 'value' } }, null, badAudience],
    [{ aud: ['mine', 1] }, 'mine', badAudience],
    [{ aud: 'other' }, null, 'ok'],
    [{ aud: 'mine' }, 'mine', 'ok'],
    [{ aud: 'other' }, 'mine', notMeant],
    [{ aud: '' }, 'mine', notMeant],
    [{ aud: ['other', 'mine'] }, 'mine', 'ok'],
    [{ aud: ['other'] }, 'mine', notMeant],
    [{ aud: [] }, 'mine', 'ok'],
    [{ aud: null }, 'mine', 'ok'],
    [{}, 'mine', 'ok'],
  ]
  for (const [given, jwtAud, expected] of rows) {
    const claims = { ...given, role: 'author' }
    t.strictSame(
      await outcome(token(claims), { jwtAud }),
      expected === 'ok' ? { role: 'author', claims } : expected,
      JSON.stringify(given),
    )
  }
})

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const ec = (namedCurve: string): { publicKey: KeyObject; privateKey: KeyObject } =>
  generateKeyPairSync('ec', { namedCurve })
const curves = { ES256: ec('P-256'), ES384: ec('P-384'), ES512: ec('P-521') }
const ed25519 = generateKeyPairSync('ed25519')
const ed448 = generateKeyPairSync('ed448')

const jwk = (key: KeyObject, more: object = {}): object => ({ ...key.export({ format: 'jwk' }), ...more })
const hashOf = (algorithm: string): string => `sha${algorithm.slice(-3)}`

const pss =
  (algorithm: string): Signer =>
  (input) =>
    createSign(hashOf(algorithm))
      .update(input)
      .sign({ key: rsa.privateKey, padding: 6, saltLength: Number(algorithm.slice(-3)) / 8 }, 'base64url')
const asymmetric =
  (key: KeyObject, hash: string | null): Signer =>
  (input) =>
    signWithKey(hash, Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url')

t.test('algorithms', async (t) => {
  const oct = { kty: 'oct', k: base64url('k'.repeat(64)) }
  const rows: readonly [string, object, Signer][] = [
    ['HS256', oct, hmac('k'.repeat(64))],
    ['HS384', oct, hmac('k'.repeat(64), 'sha384')],
    ['HS512', oct, hmac('k'.repeat(64), 'sha512')],
    ...['RS256', 'RS384', 'RS512'].map(
      (name): [string, object, Signer] => [name, jwk(rsa.publicKey), asymmetric(rsa.privateKey, hashOf(name))],
    ),
    ...['PS256', 'PS384', 'PS512'].map((name): [string, object, Signer] => [name, jwk(rsa.publicKey), pss(name)]),
    ['ES256', jwk(curves.ES256.publicKey), asymmetric(curves.ES256.privateKey, 'sha256')],
    ['ES384', jwk(curves.ES384.publicKey), asymmetric(curves.ES384.privateKey, 'sha384')],
    ['ES512', jwk(curves.ES512.publicKey), asymmetric(curves.ES512.privateKey, 'sha512')],
    ['EdDSA', jwk(ed25519.publicKey), asymmetric(ed25519.privateKey, null)],
    ['Ed25519', jwk(ed25519.publicKey), asymmetric(ed25519.privateKey, null)],
    ['EdDSA', jwk(ed448.publicKey), asymmetric(ed448.privateKey, null)],
    ['RS256', jwk(rsa.privateKey), asymmetric(rsa.privateKey, 'sha256')],
    ['RS256', jwk(rsa.publicKey, { alg: 'RS256', use: 'sig', key_ops: ['verify'] }), asymmetric(rsa.privateKey, 'sha256')],
  ] // prettier-ignore
  for (const [alg, key, signer] of rows) {
    const given = token(author, { alg }, signer)
    const broken = token(author, { alg }, (input) => signer(`${input}x`))
    for (const jwtSecret of [JSON.stringify(key), JSON.stringify({ keys: [key] }), Buffer.from(JSON.stringify(key))]) {
      t.strictSame(await outcome(given, { jwtSecret }), admitted, alg)
      t.strictSame(await outcome(broken, { jwtSecret }), wrongKey, `${alg}, with a wrong signature`)
    }
  }
})

t.test('keys are used only for their declared purpose', async (t) => {
  const publicJwk = JSON.stringify(jwk(rsa.publicKey))
  const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' })
  const rs256 = asymmetric(rsa.privateKey, 'sha256')
  const rows: readonly [string, string, string, unknown][] = [
    ['an HMAC with the public key', token(author, { alg: 'HS256' }, hmac(publicJwk)), publicJwk, noKey],
    ['an HMAC with its PEM form', token(author, { alg: 'HS256' }, hmac(pem)), publicJwk, noKey],
    ['an HMAC with its modulus', token(author, { alg: 'HS256' },
      hmac(Buffer.from((jwk(rsa.publicKey) as { n: string }).n, 'base64url'))), publicJwk, noKey],
    ['a key for encryption', token(author, { alg: 'RS256' }, rs256), JSON.stringify(jwk(rsa.publicKey, { use: 'enc' })), noKey],
    ['a key for RS512', token(author, { alg: 'RS256' }, rs256), JSON.stringify(jwk(rsa.publicKey, { alg: 'RS512' })), noKey],
    ['a key for an algorithm of another type', token(author, { alg: 'HS256' }, hmac(secret)),
      JSON.stringify(jwk(rsa.publicKey, { alg: 'HS256' })), noKey],
    ['a curve for ES256', token(author, { alg: 'ES384' }, asymmetric(curves.ES256.privateKey, 'sha384')),
      JSON.stringify(jwk(curves.ES256.publicKey)), noKey],
    ['a type that is not known', token(author, { alg: 'RS256' }, rs256), JSON.stringify({ kty: 'AKP', pub: 'x' }), noKey],
    ['no keys', token(author), '{"keys":[]}', noKey],
  ] // prettier-ignore
  for (const [name, given, jwtSecret, expected] of rows)
    t.strictSame(await outcome(given, { jwtSecret }), expected, name)
})

t.test('key sets', async (t) => {
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const keys = JSON.stringify({
    keys: [jwk(other.publicKey, { kid: 'old' }), jwk(rsa.publicKey, { kid: 'new' }), { kty: 'future', kid: 'new' }],
  })
  const by = ({ privateKey }: { privateKey: KeyObject }, kid?: string): string =>
    token(author, { alg: 'RS256', ...(kid === undefined ? {} : { kid }) }, asymmetric(privateKey, 'sha256'))
  const rows: readonly [string, string, unknown][] = [
    ['no key id: each is tried', by(rsa), admitted],
    ['the right key id', by(rsa, 'new'), admitted],
    ['the id of another key', by(rsa, 'old'), wrongKey],
    ['an id that no key has', by(rsa, 'none'), noKey],
  ]
  for (const [name, given, expected] of rows) t.strictSame(await outcome(given, { jwtSecret: keys }), expected, name)
})

t.test('invalid secrets are rejected', async (t) => {
  const { n, e } = jwk(rsa.publicKey) as { n: string; e: string }
  const small = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const rows: readonly [string | Buffer, string][] = [
    ['short_secret', 'The JWT secret must be at least 32 characters long.'],
    ['', 'The JWT secret must be at least 32 characters long.'],
    [Buffer.alloc(31, 'x'), 'The JWT secret must be at least 32 characters long.'],
    [JSON.stringify({ n, e }), 'a JSON Web Key must have a type ("kty")'],
    [JSON.stringify([{ kty: 'RSA', n, e }]), 'a JSON Web Key must be an object'],
    [JSON.stringify({ keys: { kty: 'RSA', n, e } }), '"keys" of a JSON Web Key Set must be a list'],
    [JSON.stringify({ keys: [jwk(rsa.publicKey), 5] }), 'key 2: a JSON Web Key must be an object'],
    [JSON.stringify({ kty: 'RSA', n }), '"e" of a JSON Web Key must be base64url'],
    [JSON.stringify({ kty: 'RSA', n: `${n}=`, e }), '"n" of a JSON Web Key must be base64url'],
    [JSON.stringify({ kty: 'RSA', n, e, use: 'sign' }), '"use" must be "sig" or "enc"'],
    [JSON.stringify({ kty: 'RSA', n, e, kid: 1 }), '"kid" must be text'],
    [JSON.stringify(jwk(small.publicKey)), 'an RSA key must have at least 2048 bits'],
    [JSON.stringify({ kty: 'EC', crv: 'secp256k1', x: 'AA', y: 'AA' }), '"crv" of an EC key must be P-256, P-384 or P-521'],
    [JSON.stringify({ kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }), 'a JSON Web Key of type EC is not a valid public key'],
    [JSON.stringify({ kty: 'OKP', crv: 'X25519', x: 'AA' }), '"crv" of an OKP key must be Ed25519 or Ed448'],
    [JSON.stringify({ kty: 'oct' }), '"k" of a JSON Web Key must be base64url'],
    [JSON.stringify({ kty: 'oct', k: '' }), '"k" of a JSON Web Key must have at least 32 bytes, and has 0'],
    [JSON.stringify({ kty: 'oct', k: base64url('x'.repeat(31)) }), '"k" of a JSON Web Key must have at least 32 bytes, and has 31'],
    [rsa.publicKey.export({ type: 'spki', format: 'pem' }), 'a key in PEM format is not supported: convert it to a JSON Web Key'],
  ] // prettier-ignore
  for (const [given, message] of rows) t.throws(() => verificationKeys(given), new SecretError(message), String(given))
  t.equal(verificationKeys('x'.repeat(32)).length, 1)
  const algorithmsOf = (bytes: number, more = {}) =>
    verificationKeys(JSON.stringify({ kty: 'oct', k: base64url('x'.repeat(bytes)), ...more })).flatMap(
      (key) => key.algorithms,
    )
  t.strictSame(
    [32, 48, 64].map((bytes) => algorithmsOf(bytes).length),
    [1, 2, 3],
    'a secret is as long as the hash',
  )
  t.strictSame(algorithmsOf(48, { alg: 'HS512' }), [])
  t.equal(verificationKeys(`{${'x'.repeat(32)}`).length, 1, 'text that resembles JSON')
})

t.test('the cache', async (t) => {
  const exp = now + 100
  const given = token({ role: 'author', exp, nbf: now })
  const verifier = createJwtVerifier(settings)
  const identity = await verifier.verify(given, now)
  t.equal(verifier.verify(given, now), identity, 'a cached token is returned synchronously')
  t.equal(verifier.verify(given, exp + 30), identity, 'while it is valid')
  t.throws(() => verifier.verify(given, exp + 31), { problem: 'invalid claims', message: 'JWT expired' })
  t.throws(() => verifier.verify(given, now - 31), { problem: 'invalid claims', message: 'JWT not yet valid' })
  t.strictSame(verifier.cacheStatistics, { requests: 5, hits: 4, evictions: 0 })

  const late = token({ role: 'author', exp: now - 31 })
  t.throws(() => verifier.verify(late, now), { message: 'JWT expired' })
  t.throws(() => verifier.verify(late, now), { message: 'JWT expired' }, 'an expired token is cached, too')
  t.throws(() => verifier.verify('a.b.c', now), { name: 'CredentialError', problem: 'invalid token' })

  t.equal(createJwtVerifier({ ...settings }, verifier), verifier, 'the same settings keep the cache')
  const changes: Partial<JwtSettings>[] = [
    { jwtSecret: 'x'.repeat(32) }, { jwtSecret: null }, { jwtAud: 'a' }, { jwtRoleClaimKey: '$.r' },
    { jwtCacheMaxEntries: 5 }, { dbAnonRole: null },
  ] // prettier-ignore
  for (const change of changes) {
    const changed = createJwtVerifier({ ...settings, ...change }, verifier)
    t.not(changed, verifier, JSON.stringify(change))
    t.strictSame(changed.cacheStatistics, verifier.cacheStatistics, 'counters never decrease')
  }
  const rekeyed = createJwtVerifier({ ...settings, jwtSecret: 'x'.repeat(32) }, verifier)
  t.strictSame(await answer(() => rekeyed.verify(given, now)), wrongKey, 'new keys clear the cache')

  const bounded = createJwtVerifier({ ...settings, jwtCacheMaxEntries: 2 })
  for (const id of [1, 2, 3, 4]) await bounded.verify(token({ id }), now)
  t.equal(bounded.cacheStatistics.evictions, 2)

  for (const jwtCacheMaxEntries of [0, -1]) {
    const uncached = createJwtVerifier({ ...settings, jwtCacheMaxEntries })
    const once = await uncached.verify(given, now)
    t.not(await uncached.verify(given, now), once, 'the cache is disabled')
    t.strictSame(uncached.cacheStatistics, { requests: 0, hits: 0, evictions: 0 })
  }
})

t.test('without a given time, the current time is used', async (t) => {
  const verifier = createJwtVerifier(settings)
  const current = Date.now() / 1000
  t.strictSame(await answer(() => verifier.verify(token({ exp: Math.floor(current) + 60 }))), {
    role: 'anon',
    claims: { exp: Math.floor(current) + 60 },
  })
  t.strictSame(
    await answer(() => verifier.verify(token({ exp: Math.floor(current) - 60 }))),
    fault('PGRST303', 'JWT expired'),
  )
})

t.test('claims as seen by SQL', async (t) => {
  const verifier = createJwtVerifier(settings)
  const rows: readonly [string, string][] = [
    ['{}', '{"role":"anon"}'],
    ['{ "role" : "author", "a": [1, {"d": "\\u00e9", "c": 1.0}] }', '{"a":[1,{"c":1,"d":"é"}],"role":"author"}'],
    ['{"sub":"12345678901234567890","id":"1e5"}', '{"id":"1e5","role":"anon","sub":"12345678901234567890"}'],
    ['{"z":12345678901234567890,"role":"author"}', '{"role":"author","z":12345678901234567890}'],
    ['{"id":12345678901234567890}', '{"id":12345678901234567890,"role":"anon"}'],
    [
      ' {"r\\u006fle":"x" , "a":{"b":["}\\"{",1.00000000000000000001]},"a":[ 2e400 , {"x":[]}],"c":true,"d":""} ',
      '{"a":[ 2e400 , {"x":[]}],"c":true,"d":"","role":"x"}',
    ],
    ['{"__proto__":{"role":"x"},"n":1e0}', '{"__proto__":{"role":"x"},"n":1e0,"role":"anon"}'],
    ['{"__proto__":{"role":"x"}}', '{"__proto__":{"role":"x"},"role":"anon"}'],
    ['{"n":1e1,"role":null}', '{"n":1e1,"role":"null"}'],
  ]
  for (const [payload, expected] of rows) {
    t.equal(claimsText(await verifier.verify(token(payload), now)), expected, payload)
  }
  t.equal(claimsText({ role: 'r', claims: { role: 'x', sub: '1' } }), '{"role":"r","sub":"1"}', 'the effective role')
})

t.test('the token is read from the Authorization header', async (t) => {
  const rows: readonly [string | undefined, string | undefined][] = [
    [undefined, undefined],
    ['', undefined],
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER \t abc', 'abc'],
    ['Bearer', ''],
    ['Bearer ', ''],
    ['Bearer a b', 'a b'],
    ['Bearerabc', undefined],
    ['Basic abc', undefined],
    [' Bearer abc', undefined],
    ['Token bearer', undefined],
  ]
  for (const [header, expected] of rows) t.equal(bearerToken(header), expected, String(header))
})
