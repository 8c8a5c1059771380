// The warning at the start about addresses that are confirmed without proof.
import t from 'tap'
import { loadConfig } from '../../../server/config/load.ts'
import { unprovenAddresses } from '../../../server/running/unproven-addresses.ts'

const messages = (env: Readonly<Record<string, string>>): readonly string[] =>
  unprovenAddresses(loadConfig({ env }).config)

t.test('settings -> warnings', (t) => {
  const both = { GOTRUE_MAILER_AUTOCONFIRM: 'true', GOTRUE_SMS_AUTOCONFIRM: 'true' }
  t.strictSame(messages({}), [])
  t.match(messages(both), [/^GOTRUE_MAILER_AUTOCONFIRM is on: e-mail/, /^GOTRUE_SMS_AUTOCONFIRM is on: phone/])
  t.equal(messages({ ...both, SERVICES: 'rest,auth-v1' }).length, 2)
  t.strictSame(messages({ ...both, SERVICES: 'rest' }), [], 'without the sign-in service')
  t.end()
})
