// The messages at startup about secrets that are not set.
import t from 'tap'
import { missingSecrets } from '../../../server/config/missing-secrets.ts'
import { missingSettingText } from '../../../server/config/missing-setting.ts'

t.test('secrets -> sentences', (t) => {
  const sessions = 'SESSION_SECRETS is not set: all routes of /auth and /report respond with 503'
  const tokens =
    'PGRST_JWT_SECRET is not set: POST /auth/token responds with 503, /auth/v1 cannot sign tokens, and /api rejects every JWT'
  const secret = 's'.repeat(32)
  const restBasePath = '/api'
  const texts = (settings: Parameters<typeof missingSecrets>[0]): string[] =>
    missingSecrets(settings).map(missingSettingText)
  t.strictSame(texts({ sessionSecrets: [], jwtSecret: null, restBasePath }), [sessions, tokens])
  t.strictSame(texts({ sessionSecrets: [], jwtSecret: secret, restBasePath }), [sessions])
  t.strictSame(texts({ sessionSecrets: [secret], jwtSecret: null, restBasePath }), [tokens])
  t.strictSame(texts({ sessionSecrets: [secret], jwtSecret: secret, restBasePath }), [])
  t.strictSame(texts({ sessionSecrets: [secret], jwtSecret: null, authJwtSecret: secret, restBasePath }), [])
  t.end()
})
