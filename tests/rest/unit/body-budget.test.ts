// How large bodies share memory and parsing time.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { BodyBudget } from '../../../server/rest/request/body-budget.ts'
import { ParseQueue } from '../../../server/rest/request/parse-queue.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

const exhausted = new Error('exhausted')
const budgetOf = (limit: number, patience = 60_000) =>
  new BodyBudget({ limit, maxWait: patience, exhausted: () => exhausted })

/** Whether a promise is settled. */
async function isSettled(promise: Promise<unknown> | undefined): Promise<boolean> {
  const pending = Symbol('pending')
  await sleep(0)
  return (await Promise.race([promise, Promise.resolve(pending)])) !== pending
}

t.test('bytes within the budget are granted at once', async (t) => {
  const budget = budgetOf(100)
  const [one, other] = [budget.open(), budget.open()]
  t.equal(one.grow(40), undefined)
  t.equal(one.grow(60), undefined, 'only the growth is taken from the budget')
  t.equal(other.grow(40), undefined)
  t.equal(budget.used, 100)
  one.release()
  one.release()
  t.equal(budget.used, 40)
})

t.test('the body that has waited longest continues beyond the budget until it is released', async (t) => {
  const budget = budgetOf(100)
  const [first, second, third, fourth] = [budget.open(), budget.open(), budget.open(), budget.open()]
  first.grow(50)
  second.grow(50)
  await first.grow(90)
  t.equal(budget.used, 140)
  t.equal(first.grow(120), undefined, 'it does not wait again')
  const waiting = second.grow(60)
  const behind = third.grow(1)
  t.notOk(await isSettled(waiting))
  t.notOk(await isSettled(behind), 'later requests do not overtake, however small they are')
  first.release()
  await Promise.all([waiting, behind])
  t.equal(budget.used, 61)
  t.equal(fourth.grow(39), undefined)
  for (const share of [second, third, fourth]) share.release()
  t.equal(budget.used, 0)
})

t.test('waiting ends with an error, or when the body is abandoned', async (t) => {
  const budget = budgetOf(10, 30)
  const [holder, exempt, waiter, gone] = [budget.open(), budget.open(), budget.open(), budget.open()]
  holder.grow(10)
  await exempt.grow(5)
  const refused = t.rejects(Promise.resolve(waiter.grow(7)), exhausted)
  const abandoned = gone.grow(3)
  gone.release()
  await refused
  t.notOk(await isSettled(abandoned))
  t.equal(budget.used, 15)
  for (const share of [holder, exempt, waiter, gone]) share.release()
  t.equal(budget.used, 0)
})

t.test('any order of growing and releasing frees everything, and stays close to the budget', async (t) => {
  const seed = testSeed()
  const { next: random } = seededRandom(seed)
  const [limit, largest] = [1000, 300]
  const budget = budgetOf(limit)
  let most = 0
  await Promise.all(
    Array.from({ length: 40 }, async () => {
      for (let round = 0; round < 20; round++) {
        const share = budget.open()
        const end = random() * largest
        for (let size = 0; size < end; size += 1 + random() * 60) {
          const turn = share.grow(Math.round(size))
          if (turn && random() < 0.1) break
          await turn
          most = Math.max(most, budget.used)
          await sleep(random() * 2)
        }
        share.release()
      }
    }),
  )
  t.equal(budget.used, 0)
  t.ok(most <= limit + largest, `${most} at most`)
  t.ok(most > limit, 'the limit was reached')
})

t.test('bodies are parsed one at a time, and the event loop runs in between', async (t) => {
  const turns = new ParseQueue()
  const done: string[] = []
  const work = (name: string) =>
    turns.run(() => {
      done.push(name)
      setImmediate(() => done.push(`after ${name}`))
      const end = performance.now() + 5
      while (performance.now() < end);
      if (name === 'b') throw new Error(name)
      return name.toUpperCase()
    })
  const [a, b, c] = await Promise.allSettled([work('a'), work('b'), work('c')])
  t.match([a, b, c], [{ value: 'A' }, { reason: { message: 'b' } }, { value: 'C' }])
  t.strictSame(done.slice(0, 5), ['a', 'after a', 'b', 'after b', 'c'])
  t.equal(await turns.run(() => Promise.resolve(1)), 1, 'others do not wait for its asynchronous part')
})
