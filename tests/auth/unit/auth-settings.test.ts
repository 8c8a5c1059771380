// Settings of `/auth/v1`: Go's notations, keys, names with a provider, a hook or a mail in them.
import { generateKeyPairSync } from 'node:crypto'
import t from 'tap'
import { loadConfig } from '../../../server/config/load.ts'
import { publicKeys, tokenSigningKey, verificationSecret } from '../../../server/identity/jwt/key-set.ts'

const jwk = (type: 'ec' | 'rsa', more: object) => ({
  ...(type === 'ec'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 })
  ).privateKey.export({ format: 'jwk' }),
  ...more,
})

t.test('values', async (t) => {
  const { config, warnings } = loadConfig({
    env: {
      GOTRUE_SITE_URL: 'https://app.example',
      API_EXTERNAL_URL: 'https://api.example/auth/v1/',
      GOTRUE_PASSWORD_REQUIRED_CHARACTERS: 'abc:12\\:3::',
      GOTRUE_RATE_LIMIT_EMAIL_SENT: '5/10m',
      GOTRUE_RATE_LIMIT_SMS_SENT: '7',
      GOTRUE_SESSIONS_TIMEBOX: '24h',
      GOTRUE_EXTERNAL_GOOGLE_ENABLED: 'true',
      GOTRUE_EXTERNAL_GOOGLE_CLIENT_ID: 'a, b',
      GOTRUE_EXTERNAL_LINKEDIN_OIDC_URL: 'https://issuer.example/',
      GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_ENABLED: 'true',
      GOTRUE_HOOK_CUSTOM_ACCESS_TOKEN_URI: 'pg-functions://postgres/public/my_hook',
      GOTRUE_HOOK_SEND_EMAIL_SECRETS: 'v1,whsec_a|v1,whsec_b',
      GOTRUE_MAILER_SUBJECTS_MAGIC_LINK: 'Hello',
      GOTRUE_MAILER_AUTOCONFRIM: 'true',
    },
  })
  t.match(config, {
    apiExternalUrl: 'https://api.example/auth/v1',
    authPasswordRequiredCharacters: ['abc', '12:3'],
    authRateLimitEmailSent: { events: 5, period: 600 },
    authRateLimitSmsSent: { events: 7, period: 3600 },
    authSessionsTimebox: 86_400,
    authJwtExp: 3600,
    authMailerOtpExp: 86_400,
  })
  t.match(config.authProviders.get('google'), { enabled: true, clientIds: ['a', 'b'], url: '', skipNonceCheck: false })
  t.match(config.authProviders.get('linkedin_oidc'), { enabled: false, url: 'https://issuer.example' })
  t.match(config.authHooks.get('custom_access_token'), { enabled: true, uri: 'pg-functions://postgres/public/my_hook' })
  t.strictSame(config.authHooks.get('send_email')?.secrets, ['v1,whsec_a', 'v1,whsec_b'])
  t.equal(config.authMailContents.get('magic_link')?.subject, 'Hello')
  t.match(warnings.join(), /GOTRUE_MAILER_AUTOCONFRIM is not a setting; did you mean GOTRUE_MAILER_AUTOCONFIRM/)
})

t.test('invalid values name their variables', async (t) => {
  const publicOnly = jwk('ec', { key_ops: ['sign'], d: undefined })
  const rows: readonly (readonly [string, string, RegExp])[] = [
    ['GOTRUE_SITE_URL', 'nowhere', /GOTRUE_SITE_URL: must be an absolute URL/],
    ['API_EXTERNAL_URL', 'ftp://x', /API_EXTERNAL_URL: must be an http/],
    ['GOTRUE_SMTP_MAX_FREQUENCY', '10', /duration such as/],
    ['GOTRUE_SESSIONS_TIMEBOX', '0s', /above zero/],
    ['GOTRUE_RATE_LIMIT_EMAIL_SENT', 'many', /number of events/],
    ['GOTRUE_RATE_LIMIT_OTP', '-1', /0 or more/],
    ['GOTRUE_PASSWORD_MIN_LENGTH', '3', /between 6 and 72/],
    ['GOTRUE_HOOK_SEND_SMS_URI', 'file:///x', /GOTRUE_HOOK_SEND_SMS_URI: must be pg-functions/],
    ['GOTRUE_EXTERNAL_GOOGLE_ENABLED', 'maybe', /GOTRUE_EXTERNAL_GOOGLE_ENABLED: must be true or false/],
    ['GOTRUE_JWT_SECRET', 'short', /at least 32 characters/],
    ['GOTRUE_JWT_KEYS', 'x', /GOTRUE_JWT_KEYS: must be JSON Web Keys/],
    ['GOTRUE_JWT_KEYS', '[]', /must have one key whose "key_ops" has "sign", but has 0/],
    [
      'GOTRUE_JWT_KEYS',
      JSON.stringify([jwk('ec', { key_ops: ['sign'] }), jwk('rsa', { key_ops: ['sign'] })]),
      /but has 2/,
    ],
    ['GOTRUE_JWT_KEYS', JSON.stringify([publicOnly]), /must be a private key/],
    ['GOTRUE_JWT_KEYS', '@/no/such/file', /ENOENT/],
  ]
  for (const [name, value, message] of rows) {
    t.throws(() => loadConfig({ env: { [name]: value } }), { message }, `${name} ${value.slice(0, 20)}`)
  }
})

t.test('which key signs, which verify, which are published', async (t) => {
  const secret = 's'.repeat(40)
  const ec = jwk('ec', { kid: 'new', key_ops: ['sign', 'verify'] })
  const rsa = jwk('rsa', { kid: 'old', alg: 'RS256', key_ops: ['verify'] })
  const none = { jwtSecret: null, authJwtKeys: null, authJwtSecret: null }
  t.equal(verificationSecret({ ...none, jwtSecret: secret }), secret, 'one secret alone stays as it is')
  t.match(tokenSigningKey({ ...none, jwtSecret: secret }), { algorithm: 'HS256', kid: undefined })
  t.equal(tokenSigningKey(none), undefined)
  t.equal(verificationSecret(none), null)
  const all = { jwtSecret: secret, authJwtSecret: 't'.repeat(40), authJwtKeys: JSON.stringify([ec, rsa]) }
  t.match(tokenSigningKey(all), { algorithm: 'ES256', kid: 'new' })
  const { keys } = JSON.parse(String(verificationSecret(all))) as { keys: readonly { kty: string }[] }
  t.strictSame(
    keys.map(({ kty }) => kty),
    ['EC', 'RSA', 'oct', 'oct'],
  )
  t.strictSame(
    publicKeys(all).map((key) => Object.keys(key).sort().join()),
    ['alg,crv,key_ops,kid,kty,use,x,y', 'alg,e,key_ops,kid,kty,n,use'],
  )
  const set = JSON.stringify({ keys: [{ kty: 'oct', k: Buffer.from(secret).toString('base64url'), kid: 'set' }] })
  t.match(tokenSigningKey({ ...none, authJwtSecret: secret, jwtSecret: set }), { kid: undefined })
  t.match(JSON.parse(String(verificationSecret({ ...none, authJwtSecret: secret, jwtSecret: set }))), {
    keys: [{ kty: 'oct', alg: 'HS256' }, { kid: 'set' }],
  })
})
