// The messages at startup about secrets that are not set.
import t from 'tap'
import { missingSecrets } from '../server/config/missing-secrets.ts'

t.test('secrets -> messages', (t) => {
  const sessions = 'SESSION_SECRETS is not set: all routes of /auth and /report answer 503'
  const tokens = 'PGRST_JWT_SECRET is not set: POST /auth/token answers 503, and /api refuses every JWT'
  const secret = 's'.repeat(32)
  const restBasePath = '/api'
  t.strictSame(missingSecrets({ sessionSecrets: [], jwtSecret: null, restBasePath }), [sessions, tokens])
  t.strictSame(missingSecrets({ sessionSecrets: [], jwtSecret: secret, restBasePath }), [sessions])
  t.strictSame(missingSecrets({ sessionSecrets: [secret], jwtSecret: null, restBasePath }), [tokens])
  t.strictSame(missingSecrets({ sessionSecrets: [secret], jwtSecret: secret, restBasePath }), [])
  t.end()
})
