import { mock } from 'node:test'
import t from 'tap'
import { debounced } from '../../../server/running/operations/debounced.ts'

t.test('calls in quick succession are merged', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] })
  t.teardown(() => mock.timers.reset())
  let runs = 0
  const call = debounced(() => (runs += 1), 200)
  call()
  t.equal(runs, 1, 'the first call runs at once')
  for (let count = 0; count < 5; count++) call()
  mock.timers.tick(199)
  t.equal(runs, 1, 'later calls wait')
  mock.timers.tick(1)
  t.equal(runs, 2, 'and cause one run at the end of the pause')
  call()
  t.equal(runs, 2, 'which starts the next pause')
  mock.timers.tick(200)
  t.equal(runs, 3)
  mock.timers.tick(1000)
  t.equal(runs, 3, 'without a call, nothing runs')
  call()
  t.equal(runs, 4)
})
