// The bulkhead: how many tasks of one kind run at once.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { Bulkhead } from '../../../server/services/storage/bulkhead.ts'
import { until } from '../../support/until.ts'

const shared = { isShared: () => true, longestWait: 3_600_000 }

/** Tasks that a test ends one by one. */
class Tasks {
  readonly begun: number[] = []
  readonly #ends = new Map<number, { readonly resolve: () => void; readonly reject: (error: Error) => void }>()

  readonly task = (id: number) => (): Promise<number> => {
    this.begun.push(id)
    return new Promise((resolve, reject) => this.#ends.set(id, { resolve: () => resolve(id), reject }))
  }

  end(id: number): void {
    this.#ends.get(id)?.resolve()
  }

  fail(id: number, error: Error): void {
    this.#ends.get(id)?.reject(error)
  }
}

/** After all promises that can settle have settled. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

t.test('tasks run one by one, in their order, also after a failure', async (t) => {
  const bulkhead = new Bulkhead(shared)
  const tasks = new Tasks()
  const runs = [1, 2, 3].map((id) => bulkhead.run(tasks.task(id)))
  await settled()
  t.strictSame(tasks.begun, [1])
  tasks.end(1)
  t.equal(await runs[0], 1)
  await settled()
  t.strictSame(tasks.begun, [1, 2])
  tasks.fail(2, new Error('refused'))
  await t.rejects(async () => void (await runs[1]), { message: 'refused' })
  await settled()
  t.strictSame(tasks.begun, [1, 2, 3])
  // A task that arrives now is behind the one that runs.
  const last = bulkhead.run(tasks.task(4))
  await settled()
  t.strictSame(tasks.begun, [1, 2, 3])
  tasks.end(3)
  await settled()
  tasks.end(4)
  t.equal(await last, 4)
})

t.test('a task that throws at once frees its place', async (t) => {
  const bulkhead = new Bulkhead(shared)
  const broken = (): Promise<never> => {
    throw new Error('at once')
  }
  await t.rejects(bulkhead.run(broken), { message: 'at once' })
  t.equal(await bulkhead.run(() => Promise.resolve('next')), 'next')
})

t.test('a task does not wait for long ones', async (t) => {
  const bulkhead = new Bulkhead({ ...shared, longestWait: 1 })
  const tasks = new Tasks()
  const long = bulkhead.run(tasks.task(1))
  t.equal(await bulkhead.run(() => Promise.resolve('brief')), 'brief')
  const waited = [2, 3].map((id) => bulkhead.run(tasks.task(id)))
  t.ok(await until(() => tasks.begun.length === 3))
  t.strictSame(tasks.begun, [1, 2, 3])
  // Nor does one that ends let more than one begin.
  for (const id of [1, 2, 3]) tasks.end(id)
  await Promise.all([long, ...waited])
  const patient = [4, 5].map((id) => bulkhead.run(tasks.task(id)))
  t.strictSame(tasks.begun, [1, 2, 3, 4])
  tasks.end(4)
  await settled()
  tasks.end(5)
  await Promise.all(patient)
})

t.test('tasks that wait for a distant database run side by side', async (t) => {
  const bulkhead = new Bulkhead(shared)
  let running = 0
  let most = 0
  const distant = async (): Promise<void> => {
    most = Math.max(most, ++running)
    await pause(3)
    running--
  }
  const rest = Array.from({ length: 50 }, () => bulkhead.run(distant))
  await Promise.all(rest)
  t.equal(most, 1)
  await Promise.all(Array.from({ length: 50 }, () => bulkhead.run(distant)))
  t.ok(most >= 2, `${most} at once`)
})

t.test('without other work, tasks never wait', async (t) => {
  let isShared = true
  const bulkhead = new Bulkhead({ ...shared, isShared: () => isShared })
  const tasks = new Tasks()
  const runs = [1, 2, 3, 4].map((id) => bulkhead.run(tasks.task(id)))
  await settled()
  t.strictSame(tasks.begun, [1])
  isShared = false
  runs.push(bulkhead.run(tasks.task(5)))
  await settled()
  t.strictSame(tasks.begun, [1, 5])
  // The end of one lets all begin that have waited.
  tasks.end(1)
  await settled()
  t.strictSame(tasks.begun, [1, 5, 2, 3, 4])
  for (const id of [2, 3, 4, 5]) tasks.end(id)
  t.strictSame(await Promise.all(runs), [1, 2, 3, 4, 5])
})
