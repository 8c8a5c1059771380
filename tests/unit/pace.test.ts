import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { Pace } from '../../server/common/pace.ts'

/** A processor that work gets for a share of the time. */
const processorOf = (share: number) => ({ now: () => performance.now(), processor: () => share * performance.now() })

/** Milliseconds from the end of some work to the beginning of the next. */
async function restAfter(pace: Pace, milliseconds: number): Promise<number> {
  await pace.run(() => pause(milliseconds))
  const ended = performance.now()
  return pace.run(() => Promise.resolve(performance.now() - ended))
}

t.test('work that had to wait for the processor is followed by a rest', async (t) => {
  const rest = await restAfter(new Pace(500, processorOf(0.5)), 100)
  t.ok(rest > 180 && rest < 450, `four times as long as it waited: ${rest}`)
  t.ok((await restAfter(new Pace(500, processorOf(0)), 1000)) < 900, 'of half a second at most')
})

t.test('work that had the processor is not followed by a rest', async (t) => {
  t.ok((await restAfter(new Pace(500, processorOf(1)), 100)) < 50)
  t.ok((await restAfter(new Pace(500, processorOf(2)), 100)) < 50, 'nor does that of two threads')
})

t.test('time without work counts as rest', async (t) => {
  const pace = new Pace(500, processorOf(0))
  await pace.run(() => pause(50))
  await pause(250)
  const began = performance.now()
  t.ok((await pace.run(() => Promise.resolve(performance.now()))) - began < 50)
})

t.test('work that fails is followed by a rest, too', async (t) => {
  const pace = new Pace(500, processorOf(0))
  const fails = async (): Promise<void> => {
    await pause(100)
    throw new Error('it fails')
  }
  await t.rejects(pace.run(fails), /it fails/)
  const failed = performance.now()
  t.ok((await pace.run(() => Promise.resolve(performance.now()))) - failed > 300)
})
