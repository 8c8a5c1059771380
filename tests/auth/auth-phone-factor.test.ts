// Phone factors and the hook of MFA attempts, with hooks of the test.
import { createHash } from 'node:crypto'
import express from 'express'
import t from 'tap'
import { loadConfig } from '../../server/config/load.ts'
import { createJwtVerifier } from '../../server/identity/jwt/jwt.ts'
import { Database } from '../../server/postgres/database.ts'
import { createPool } from '../../server/postgres/pool.ts'
import { AuthError } from '../../server/services/auth/auth-error.ts'
import { noHooks, type AuthHooks } from '../../server/services/auth/auth-hooks.ts'
import { mounted } from '../../server/http/router.ts'
import { authRouter, createAuth } from '../../server/services/auth/create-auth.ts'
import { TokenSigner } from '../../server/identity/jwt/token-signer.ts'
import { databaseLimits } from '../../server/services/limits.ts'
import { createAttemptLimits } from '../../server/services/accounts/attempt-limit.ts'
import { createPasswords } from '../../server/services/accounts/password.ts'
import { createValidator } from '../../server/validation/validator.ts'
import { blockingHasher } from '../support/blocking-hasher.ts'
import { jwtSecret } from '../support/application.ts'
import { askAuth, claimsOf, codeOf, sessionOf, signUp, type Json } from '../support/auth.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { listen } from '../support/listening.ts'
import { challenge, enroll, verify, wrongCode } from '../support/second-factor.ts'

const migrated = await createMigratedDatabase()
t.teardown(() => migrated.drop())
const { config } = loadConfig({
  env: {
    PGRST_JWT_SECRET: jwtSecret,
    GOTRUE_MAILER_AUTOCONFIRM: 'true',
    GOTRUE_MFA_PHONE_ENROLL_ENABLED: 'true',
    GOTRUE_MFA_PHONE_VERIFY_ENABLED: 'true',
    GOTRUE_MFA_PHONE_MAX_FREQUENCY: '1h',
  },
})
const database = new Database(createPool({ connectionString: migrated.authenticatorUri }, { ...config, dbPool: 5 }))
t.teardown(() => database.close())
const validator = await createValidator()
const verifier = createJwtVerifier(config)
const logged: unknown[] = []
const common = { validator, allowedOrigins: () => [], onError: (error: unknown) => void logged.push(error) }
const limits = databaseLimits(database.query, () => undefined)
const attemptLimits = { accountLimit: 1000, accountTotalLimit: 1000, addressLimit: 1000 }
const { context } = createAuth({
  ...common,
  settings: () => config,
  database,
  verifier: () => verifier,
  lookupApiKey: () => ({ role: 'anon', claims: {} }),
  passwords: createPasswords({}, blockingHasher),
  limits,
  attempts: createAttemptLimits({ limits, ...attemptLimits }),
  signer: new TokenSigner(() => config),
  keys: () => config,
  trustedProxies: 0,
  isDevelopment: false,
  ownOrigin: 'http://localhost',
  print: () => undefined,
  warn: () => undefined,
})

type Sent = {
  readonly user: Json
  readonly sms: { readonly otp: string; readonly sms_type: string; readonly phone: string }
}
const sent: Sent[] = []
const attempts: Json[] = []
const hooks: AuthHooks = {
  ...noHooks,
  sendSms: (payload) => {
    sent.push(JSON.parse(payload) as Sent)
    return Promise.resolve()
  },
  mfaVerificationAttempt: (attempt) => {
    attempts.push(attempt)
    const refused = new AuthError(403, 'mfa_verification_rejected', 'Too many attempts.')
    return attempts.length > 3 ? Promise.reject(refused) : Promise.resolve()
  },
}
const router = express.Router()
router.use('/auth/v1', mounted(authRouter({ ...common, context: { ...context, hooks } })))
const url = await listen(t, (request, response) => {
  router(request as express.Request, response as express.Response, () => response.end())
})
const ask = askAuth(url)

t.test('a phone is a second factor: the hook sends the code', async (t) => {
  const { access_token: token, user } = await signUp(ask)
  const body = { factor_type: 'phone', friendly_name: 'mobile', phone: '+1 555 0000001' }
  const refused = [
    [{ ...body, phone: '' }, /Phone number required/],
    [{ ...body, phone: '0' }, /E\.164/],
  ] as const
  for (const [wrong, message] of refused) {
    const answer = await ask('POST', '/factors', { token, body: wrong })
    t.match([answer.status, codeOf(answer), answer.body.msg], [400, 'validation_failed', message])
  }
  const enrolled = await ask('POST', '/factors', { token, body })
  t.match([enrolled.status, enrolled.body], [200, { type: 'phone', friendly_name: 'mobile', phone: body.phone }])
  t.notOk('totp' in enrolled.body)
  const again = await ask('POST', '/factors', { token, body: { ...body, friendly_name: 'again' } })
  t.equal(again.status, 200, 'an unverified factor with the same number is replaced')
  const id = String(again.body.id)

  const challengeId = await challenge(ask, token, { id })
  t.match(sent, [{ user: { id: user.id }, sms: { otp: /^\d{6}$/, sms_type: 'mfa', phone: '15550000001' } }])
  const { otp = '' } = sent[0]?.sms ?? {}
  const stored = await migrated.query('select otp_code from auth.mfa_challenges where id = $1', [challengeId])
  t.match(stored.rows, [{ otp_code: /^[0-9a-f]{64}$/ }], 'only a hash is stored')
  for (const parts of [[id, otp], [challengeId, otp], [otp]]) {
    const computed = createHash('sha256').update(JSON.stringify(parts)).digest('hex')
    t.not(stored.rows[0]?.otp_code, computed, 'which nobody can compute without the key of the server')
  }
  const soon = await ask('POST', `/factors/${id}/challenge`, { token })
  t.match([soon.status, codeOf(soon)], [429, 'over_sms_send_rate_limit'])
  t.match(soon.headers.get('retry-after'), /^\d+$/)
  t.equal(sent.length, 1)

  const at = `/factors/${id}/verify`
  const other = otp.startsWith('0') ? `1${otp.slice(1)}` : `0${otp.slice(1)}`
  const wrong = await ask('POST', at, { token, body: { challenge_id: challengeId, code: other } })
  t.match([wrong.status, codeOf(wrong), wrong.body.msg], [422, 'mfa_verification_failed', /Phone code/])
  const right = await ask('POST', at, { token, body: { challenge_id: challengeId, code: otp } })
  const raised = sessionOf(right)
  t.match(claimsOf(raised), { aal: 'aal2', amr: [{ method: 'mfa/phone' }, { method: 'password' }] })
  t.match(attempts, [
    { userId: user.id, factorId: id, factorType: 'phone', valid: false },
    { userId: user.id, factorId: id, factorType: 'phone', valid: true },
  ])
  const replay = await ask('POST', at, { token: raised.access_token, body: { challenge_id: challengeId, code: otp } })
  t.match([replay.status, codeOf(replay)], [422, 'mfa_ip_address_mismatch'], 'a challenge is used up once')
  const twice = await ask('POST', '/factors', { token: raised.access_token, body })
  t.match([twice.status, codeOf(twice)], [422, 'mfa_verified_factor_exists'])
})

t.test('the hook of attempts may refuse them', async (t) => {
  const { access_token: token } = await signUp(ask)
  const factor = await enroll(ask, token)
  await verify(ask, token, factor, wrongCode(factor))
  const answer = await verify(ask, token, factor, wrongCode(factor))
  t.match([answer.status, codeOf(answer), answer.body.msg], [403, 'mfa_verification_rejected', 'Too many attempts.'])
  t.strictSame(logged, [])
})
