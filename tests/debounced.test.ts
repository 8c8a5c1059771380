import t from 'tap'
import { debounced } from '../server/program/operations/debounced.ts'

const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))

t.test('calls in quick succession are merged', async (t) => {
  let runs = 0
  const call = debounced(() => (runs += 1), 200)
  call()
  t.equal(runs, 1, 'the first one runs at once')
  for (let count = 0; count < 5; count++) call()
  t.equal(runs, 1, 'later ones wait')
  await pause(350)
  t.equal(runs, 2, 'and run once, at the end of the pause')
  call()
  t.equal(runs, 2, 'which begins the next pause')
  await pause(600)
  t.equal(runs, 3)
  await pause(300)
  t.equal(runs, 3, 'nothing runs that nobody called for')
  call()
  t.equal(runs, 4)
})
