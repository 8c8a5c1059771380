import t from 'tap'
import { Traffic } from '../../../server/rest/traffic.ts'

t.test('it is quiet until the first request, and a second after the last one', (t) => {
  let now = 0
  const traffic = new Traffic(() => now)
  t.ok(traffic.isQuiet)
  traffic.count()
  now = 999
  t.notOk(traffic.isQuiet)
  traffic.count()
  now = 1998
  t.notOk(traffic.isQuiet)
  now = 1999
  t.ok(traffic.isQuiet)
  t.end()
})
