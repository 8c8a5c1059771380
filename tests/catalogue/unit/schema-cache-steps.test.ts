import t from 'tap'
import { atOnce, eachOf, flatMapOf, groupsOf, inSlices, mapOf, type Steps } from '../../../server/catalogue/steps.ts'

const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

t.test('the result is the same in slices and at once', async (t) => {
  for (const count of [0, 1, 31, 32, 33, 1000]) {
    const items = numbers(count)
    const twice = (item: number): number[] => (item % 3 === 0 ? [] : [item, -item])
    t.same(atOnce(flatMapOf(items, twice)), items.flatMap(twice))
    t.same(await inSlices(flatMapOf(items, twice), 0), items.flatMap(twice))
    const pair = (item: number): readonly [string, number] => [`${item % 7}`, item]
    t.same(await inSlices(mapOf(items, pair), 0), new Map(items.map(pair)))
    const groups = await inSlices(
      groupsOf(items, (item) => `${item % 5}`),
      0,
    )
    t.same([...groups.values()].flat().sort(), [...items].sort())
    t.ok([...groups].every(([key, group]) => group.every((item) => `${item % 5}` === key)))
  }
})

t.test('other work runs between slices', async (t) => {
  let turns = 0
  let isOver = false
  const watch = (): void => {
    turns++
    if (!isOver) setImmediate(watch)
  }
  setImmediate(watch)
  await inSlices(
    eachOf(numbers(3200), () => undefined),
    0,
  )
  isOver = true
  t.ok(turns >= 99, `${turns} turns of the event loop in 100 steps`)
})

t.test('a slice ends after its time, not after each step', async (t) => {
  let isInterrupted = false
  setImmediate(() => (isInterrupted = true))
  await inSlices(
    eachOf(numbers(3200), () => undefined),
    Infinity,
  )
  t.notOk(isInterrupted)
})

t.test('a slice is followed by its rest', async (t) => {
  const busy = function* (): Steps<string> {
    for (let step = 0; step < 5; step++) {
      const start = performance.now()
      while (performance.now() - start < 4);
      yield
    }
    return 'done'
  }
  const start = performance.now()
  t.equal(await inSlices(busy(), 1, (elapsed) => elapsed * 3), 'done')
  const elapsed = performance.now() - start
  // Timers of Node may end up to a millisecond early.
  t.ok(elapsed >= 5 * (4 + 11), `${elapsed} ms for five slices of 4 ms`)
})

t.test('an error ends the work', async (t) => {
  function* failing(): Steps<number> {
    yield* eachOf(numbers(40), (item) => {
      if (item === 35) throw new Error('item 35')
    })
    return 1
  }
  t.throws(() => atOnce(failing()), { message: 'item 35' })
  await t.rejects(inSlices(failing(), 0), { message: 'item 35' })
})
