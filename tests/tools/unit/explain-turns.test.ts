// How many explanations run at once.
import t from 'tap'
import { Turns } from '../../../server/tools/explain/turns.ts'

t.test('tasks wait for their turn, also after one that failed', async (t) => {
  const turns = new Turns(2)
  let running = 0
  let most = 0
  const tasks = [1, 2, 3, 4, 5].map((number) =>
    turns.take(async () => {
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
      if (number === 1) throw new Error('failed')
      return number
    }),
  )
  const results = await Promise.allSettled(tasks)
  t.strictSame(
    results.map((it) => (it.status === 'fulfilled' ? it.value : it.status)),
    ['rejected', 2, 3, 4, 5],
  )
  t.equal(most, 2)
})
