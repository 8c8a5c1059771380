import t from 'tap'
import { Pace } from '../../server/common/pace.ts'

/** A pace on a processor that work gets for a share of the time, with a clock that only work and pauses advance. */
function paceOn(share: number) {
  let now = 1000
  const pass = (milliseconds: number): Promise<void> => {
    now += milliseconds
    return Promise.resolve()
  }
  const pace = new Pace(500, { now: () => now, processor: () => share * now, pause: pass })
  return {
    pass,
    work: (milliseconds: number): Promise<void> => pace.run(() => pass(milliseconds)),
    fail: (milliseconds: number): Promise<void> =>
      pace.run(async () => {
        await pass(milliseconds)
        throw new Error('it fails')
      }),
    /** Milliseconds until the next work begins. */
    rest: async (): Promise<number> => {
      const ended = now
      return pace.run(() => Promise.resolve(now - ended))
    },
  }
}

t.test('work that had to wait for the processor is followed by a rest', async (t) => {
  const half = paceOn(0.5)
  t.equal(await half.rest(), 0, 'the first work begins at once')
  await half.work(100)
  t.equal(await half.rest(), 200, 'four times as long as it waited')
  t.equal(await half.rest(), 0, 'and no other')
  const none = paceOn(0)
  await none.work(1000)
  t.equal(await none.rest(), 500, 'of half a second at most')
})

t.test('work that had the processor is not followed by a rest', async (t) => {
  for (const threads of [1, 2]) {
    const { work, rest } = paceOn(threads)
    await work(100)
    t.equal(await rest(), 0, `${threads} threads`)
  }
})

t.test('time without work counts as rest', async (t) => {
  const { work, pass, rest } = paceOn(0)
  await work(50)
  await pass(150)
  t.equal(await rest(), 50)
  await work(50)
  await pass(250)
  t.equal(await rest(), 0)
})

t.test('work that fails is followed by a rest, too', async (t) => {
  const { fail, rest } = paceOn(0)
  await t.rejects(fail(100), { message: 'it fails' })
  t.equal(await rest(), 400)
})

t.test('the real clock: a rest after work that waits', async (t) => {
  const pace = new Pace(100)
  await pace.run(() => new Promise((resolve) => setTimeout(resolve, 200)))
  const ended = performance.now()
  t.ok((await pace.run(() => Promise.resolve(performance.now()))) - ended > 90)
})
