// ID tokens of a provider that are forged, signed by keys of the wrong kind, or of another time.
import { createHmac, generateKeyPairSync, sign, type JsonWebKey, type KeyObject } from 'node:crypto'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { askAuth, type AuthAnswer } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { listen } from '../support/listening.ts'

const pair = {
  own: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  larger: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  bitcoin: generateKeyPairSync('ec', { namedCurve: 'secp256k1' }),
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  weak: generateKeyPairSync('rsa', { modulusLength: 1024 }),
  encrypting: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  edwards: generateKeyPairSync('ed25519'),
  attacker: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
} as const
const secret = 'a secret that the provider publishes by mistake'
const clientSecret = 'the secret of the client'

const published = (name: keyof typeof pair, members: JsonWebKey = {}): JsonWebKey => ({
  ...pair[name].publicKey.export({ format: 'jwk' }),
  kid: name,
  ...members,
})
const keys: readonly JsonWebKey[] = [
  published('own', { alg: 'ES256', use: 'sig' }),
  // Keys that say they are of another kind than they are.
  published('larger', { alg: 'ES256' }),
  published('bitcoin', { crv: 'P-256' }),
  published('rsa'),
  published('weak'),
  published('encrypting', { use: 'enc' }),
  published('edwards'),
  { kty: 'oct', k: Buffer.from(secret).toString('base64url'), kid: 'shared', alg: 'HS256' },
]

const requests: string[] = []
const issuer: string = await listen(t, ({ url: path = '' }, response) => {
  requests.push(path)
  const metadata = {
    issuer,
    jwks_uri: `${issuer}/jwks`,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    response_types_supported: ['code'],
    // A provider that supports everything.
    id_token_signing_alg_values_supported: ['none', 'HS256', 'ES256', 'ES384', 'RS256', 'EdDSA'],
  }
  const attackers = [{ ...pair.attacker.publicKey.export({ format: 'jwk' }), kid: 'own' }]
  const body = path === '/jwks' ? { keys } : path === '/attacker' ? { keys: attackers } : metadata
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
})

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { url } = await startApplication(t, database.authenticatorUri, {
  ...{ GOTRUE_EXTERNAL_ACME_ENABLED: 'true', GOTRUE_EXTERNAL_ACME_CLIENT_ID: 'app' },
  ...{ GOTRUE_EXTERNAL_ACME_SECRET: clientSecret, GOTRUE_EXTERNAL_ACME_URL: issuer },
  ...{ GOTRUE_RATE_LIMIT_TOKEN_REFRESH: '100000', GOTRUE_RATE_LIMIT_OTP: '100000' },
})
const ask = askAuth(url)
const grant = (token: string): Promise<AuthAnswer> =>
  ask('POST', '/token?grant_type=id_token', { body: { provider: 'acme', id_token: token } })
const accounts = async (): Promise<unknown> => (await database.query('select count(*)::int from auth.users')).rows

const now = (): number => Math.floor(Date.now() / 1000)
let users = 0
const claimsAt = (members: object = {}): object => {
  const sub = `user-${++users}`
  return {
    iss: issuer,
    aud: 'app',
    sub,
    email: `${sub}@example.org`,
    email_verified: true,
    iat: now(),
    exp: now() + 600,
    ...members,
  }
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
const hashes: Readonly<Record<string, string | null>> = {
  ES256: 'sha256',
  ES384: 'sha384',
  RS256: 'sha256',
  EdDSA: null,
}

type Header = { readonly alg: string; readonly [name: string]: unknown }
const text = (header: Header, claims: object): string => `${part(header)}.${part(claims)}`

/** A token with the signature of a key, which the header may describe wrongly. */
function signed(
  header: Header,
  key: KeyObject,
  claims = claimsAt(),
  encoding: 'ieee-p1363' | 'der' = 'ieee-p1363',
): string {
  const content = text(header, claims)
  const signature = sign(hashes[header.alg] ?? null, Buffer.from(content), { key, dsaEncoding: encoding })
  return `${content}.${signature.toString('base64url')}`
}

function hmac(header: Header, key: string | Buffer): string {
  const content = text(header, claimsAt())
  return `${content}.${createHmac('sha256', key).update(content).digest('base64url')}`
}

const { privateKey: own } = pair.own
const { privateKey: attacker } = pair.attacker
const good = (claims?: object): string => signed({ alg: 'ES256', kid: 'own' }, own, claims)

t.test('keys and algorithms that do not fit', async (t) => {
  t.equal((await grant(good())).status, 200, 'a token that is good')
  t.equal((await grant(signed({ alg: 'RS256', kid: 'rsa' }, pair.rsa.privateKey))).status, 200)
  t.equal((await grant(signed({ alg: 'EdDSA', kid: 'edwards' }, pair.edwards.privateKey))).status, 200)
  const before = await accounts()
  const publicKey = pair.own.publicKey
  const jwk = publicKey.export({ format: 'jwk' })
  const valid = good()
  const [head = '', body = ''] = valid.split('.')
  const attackerJwk = pair.attacker.publicKey.export({ format: 'jwk' })
  const zero = Buffer.alloc(64).toString('base64url')
  const tokens: Readonly<Record<string, string>> = {
    'no algorithm': `${text({ alg: 'none' }, claimsAt())}.`,
    'no algorithm, in another case': `${text({ alg: 'nOnE', kid: 'own' }, claimsAt())}.`,
    'HMAC with the public key as PEM': hmac(
      { alg: 'HS256', kid: 'own' },
      publicKey.export({ type: 'spki', format: 'pem' }),
    ),
    'HMAC with the public key as DER': hmac({ alg: 'HS256' }, publicKey.export({ type: 'spki', format: 'der' })),
    'HMAC with the public key as JWK': hmac({ alg: 'HS256', kid: 'own' }, JSON.stringify(keys[0])),
    'HMAC with a coordinate': hmac({ alg: 'HS256', kid: 'own' }, Buffer.from(String(jwk.x), 'base64url')),
    'HMAC with a secret that is published': hmac({ alg: 'HS256', kid: 'shared' }, secret),
    'HMAC with the secret of the client': hmac({ alg: 'HS256' }, clientSecret),
    'HMAC with nothing': hmac({ alg: 'HS256', kid: 'own' }, ''),
    'a key of P-384 that says ES256': signed({ alg: 'ES256', kid: 'larger' }, pair.larger.privateKey),
    'ES384 of a key for ES256': signed({ alg: 'ES384', kid: 'larger' }, pair.larger.privateKey),
    'ES384 of a key of P-256': signed({ alg: 'ES384', kid: 'own' }, own),
    'a key of secp256k1 that says P-256': signed({ alg: 'ES256', kid: 'bitcoin' }, pair.bitcoin.privateKey),
    'RSA of 1024 bits': signed({ alg: 'RS256', kid: 'weak' }, pair.weak.privateKey),
    'a key for encryption': signed({ alg: 'ES256', kid: 'encrypting' }, pair.encrypting.privateKey),
    'RS256 with the name of a key of P-256': signed({ alg: 'RS256', kid: 'own' }, pair.rsa.privateKey),
    'the name of an unknown key': signed({ alg: 'ES256', kid: 'unknown' }, own),
    'the name of another key': signed({ alg: 'ES256', kid: 'own' }, attacker),
    'a key in the header': signed({ alg: 'ES256', kid: 'own', jwk: attackerJwk }, attacker),
    'the address of a key': signed({ alg: 'ES256', kid: 'own', jku: `${issuer}/attacker` }, attacker),
    'the address of a certificate': signed({ alg: 'ES256', x5u: `${issuer}/attacker` }, attacker),
    'a critical extension': signed({ alg: 'ES256', kid: 'own', crit: ['exp'], exp: 1 }, own),
    'a signature of zeros': `${text({ alg: 'ES256', kid: 'own' }, claimsAt())}.${zero}`,
    'no signature': `${head}.${body}.`,
    'a signature in DER': signed({ alg: 'ES256', kid: 'own' }, own, claimsAt(), 'der'),
    'claims of another token': `${head}.${part(claimsAt())}.${valid.split('.')[2] ?? ''}`,
    'two tokens': `${valid}.${valid}`,
    'claims that are no object': `${head}.${part([claimsAt()])}.${zero}`,
    'a very long one': `${head}.${'A'.repeat(60_000)}.${zero}`,
  }
  for (const [label, token] of Object.entries(tokens)) {
    const { status, body: error } = await grant(token)
    t.equal(status, 400, label)
    t.match(error, { error: 'invalid request', error_description: 'Bad ID token' }, label)
  }
  t.strictSame(await accounts(), before, 'no account is created')
  t.notOk(requests.includes('/attacker'), 'no address in a token is requested')
})

t.test('claims with a good signature that are for others, or of another time', async (t) => {
  const before = await accounts()
  const refused: Readonly<Record<string, object>> = {
    'another issuer': { iss: 'https://elsewhere.example' },
    'the issuer with a slash': { iss: `${issuer}/` },
    'several issuers': { iss: [issuer] },
    'no issuer': { iss: undefined },
    'another application': { aud: 'other' },
    'an application with a space': { aud: 'app ' },
    'an application in another case': { aud: 'APP' },
    'no application': { aud: undefined },
    'no end': { exp: undefined },
    'an end that is a text': { exp: '9999999999' },
    'an end without end': { exp: null },
    'no beginning': { iat: undefined },
    'ended two minutes ago': { exp: now() - 120 },
    'begins in two minutes': { nbf: now() + 120 },
    'no user': { sub: undefined },
    'an empty user': { sub: '' },
    'a user that is a list': { sub: ['user-1'] },
  }
  for (const [label, members] of Object.entries(refused)) {
    const { status, text: answer } = await grant(good(claimsAt(members)))
    t.equal(status, 400, `${label}: ${answer}`)
  }
  t.strictSame(await accounts(), before, 'no account is created')

  // Clocks differ by seconds.
  for (const members of [{ exp: now() - 5 }, { nbf: now() + 5 }, { iat: now() + 20 }]) {
    t.equal((await grant(good(claimsAt(members)))).status, 200, JSON.stringify(members))
  }
})
