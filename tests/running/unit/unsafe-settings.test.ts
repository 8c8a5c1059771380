// The warnings at the start about addresses that are confirmed without proof, and tokens that outlive their session.
import t from 'tap'
import { loadConfig } from '../../../server/config/load.ts'
import { unsafeSettings } from '../../../server/running/unsafe-settings.ts'

const messages = (env: Readonly<Record<string, string>>): readonly string[] =>
  unsafeSettings(loadConfig({ env }).config)

t.test('settings -> warnings', (t) => {
  const both = { GOTRUE_MAILER_AUTOCONFIRM: 'true', GOTRUE_SMS_AUTOCONFIRM: 'true' }
  t.strictSame(messages({}), [])
  t.match(messages(both), [/^GOTRUE_MAILER_AUTOCONFIRM is on: e-mail/, /^GOTRUE_SMS_AUTOCONFIRM is on: phone/])
  t.equal(messages({ ...both, SERVICES: 'rest,auth-v1' }).length, 2)
  t.strictSame(messages({ ...both, SERVICES: 'rest' }), [], 'without the sign-in service')
  const lasting = { GOTRUE_SESSIONS_CHECK_ACCESS_TOKENS: 'false' }
  const warning = /^GOTRUE_SESSIONS_CHECK_ACCESS_TOKENS is off: .* access tokens are good until they expire$/
  t.match(messages(lasting), [warning])
  t.match(messages({ ...lasting, SERVICES: 'rest' }), [warning], 'another server signs in')
  t.strictSame(messages({ GOTRUE_SESSIONS_CHECK_ACCESS_TOKENS: 'true' }), [])
  t.end()
})
