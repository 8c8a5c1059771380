// What the console shows of values that contain passwords.
import t from 'tap'
import { withoutPasswords } from '../../../server/tools/console/setting-states.ts'

t.test('passwords in connection strings', (t) => {
  for (const value of [
    '"postgres://me:hunter2@host/db"',
    '"postgres://me@host/db?user=x&password=hunter2&sslmode=require"',
    '"host=db password=hunter2 user=me"',
    "\"host=db password = 'hunter2 it\\'s hunter2' user=me\"",
    '"host=db sslpassword=hunter2"',
    '"sb_secret_hunter2"',
  ]) {
    const shown = withoutPasswords(value)
    t.notMatch(shown, /hunter2/, value)
    t.match(shown, /\*\*\*/)
    if (value.includes('user=')) t.match(shown, /user=/)
  }
  t.equal(withoutPasswords('"host=db user=me"'), '"host=db user=me"')
  t.end()
})
