// Tasks of the background.
import t from 'tap'
import { repeat } from '../../../server/common/repeated-task.ts'
import { until } from '../../support/until.ts'

t.test('a task runs again after each run, and after an error', async (t) => {
  const errors: unknown[] = []
  const pauses: boolean[] = []
  let runs = 0
  const stop = repeat({
    run: () => (++runs === 2 ? Promise.reject(new Error('once')) : Promise.resolve()),
    pause: (isFirst) => {
      pauses.push(isFirst)
      return 0
    },
    onError: (error) => errors.push(error),
  })
  t.ok(await until(() => runs > 3))
  await stop()
  const stopped = runs
  t.match(errors, [{ message: 'once' }])
  t.strictSame(pauses.slice(0, 3), [true, false, false])
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(runs, stopped)
})

t.test('stopping does not wait for the timer', async (t) => {
  const never = (): Promise<void> => Promise.reject(new Error('must not run'))
  const stop = repeat({ run: never, pause: () => 3_600_000, onError: (error) => void t.fail(String(error)) })
  await stop()
})

t.test('stopping waits for the run in progress, which is the last one', async (t) => {
  let finish: (() => void) | undefined
  let runs = 0
  const run = (): Promise<void> => {
    runs++
    return new Promise((resolve) => (finish = resolve))
  }
  const stop = repeat({ run, pause: () => 0, onError: (error) => void t.fail(String(error)) })
  t.ok(await until(() => finish !== undefined))
  let isStopped = false
  const stopping = stop().then(() => (isStopped = true))
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(isStopped, false)
  finish?.()
  await stopping
  t.equal(runs, 1)
})
