import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { HashWorker } from '../../server/services/accounts/hashing/hash-worker.ts'
import { hashPassword } from '../../server/services/accounts/password-hash.ts'
import { idle, newHashProcesses, ordinary, priorityOf, slowHash } from '../support/hash-processes.ts'
import { until } from '../support/until.ts'

const isLinux = process.platform === 'linux'

/** A process that gets no processor time at all, until the test has ended or `resume` is called. */
function halted(t: Test, pid: number): { readonly resume: () => void } {
  const signal = (name: NodeJS.Signals): void => {
    try {
      process.kill(pid, name)
    } catch {
      // It has ended.
    }
  }
  signal('SIGSTOP')
  t.teardown(() => signal('SIGCONT'))
  return { resume: () => signal('SIGCONT') }
}

const own = hashPassword('own')

/** A worker, both processes of which have been started and work. */
async function workingPair(t: Test, patience: number) {
  const started = await newHashProcesses()
  const worker = new HashWorker({ longestIdle: 600_000, patience })
  const verify = (passwordHash: string, password: string): Promise<string | boolean> =>
    worker.run({ kind: 'verify', passwordHash, password })
  const withNiceness = async (niceness: number): Promise<number> => {
    let pid: number | undefined
    const isFound = async (): Promise<boolean> => {
      pid = (await started()).find((each) => priorityOf(each).niceness === niceness)
      return pid !== undefined
    }
    if (!(await until(isFound))) throw new Error(`no process has the nice value ${niceness}`)
    return pid ?? NaN
  }
  await verify(own, 'own')
  const first = await withNiceness(19)
  const { resume } = halted(t, first)
  await verify(own, 'own')
  const second = await withNiceness(15)
  resume()
  /** Whether the first process performs tasks by itself, at last. */
  const isFirstBack = (): Promise<boolean> =>
    until(async () => {
      const { resume } = halted(t, second)
      const outcome = verify(own, 'own')
      const isRight = (await Promise.race([outcome, pause(1000, false)])) === true
      resume()
      await outcome
      return isRight
    })
  return { worker, verify, first, second, started, isFirstBack }
}

t.test('a task that gets no processor time is repeated with a low priority', { skip: !isLinux }, async (t) => {
  const { verify, first, second, started, isFirstBack } = await workingPair(t, 200)
  t.strictSame(priorityOf(first), { session: first, niceness: 19, policy: idle })
  t.strictSame(priorityOf(second), { session: second, niceness: 15, policy: ordinary })
  const halt = halted(t, first)
  const verified: (string | boolean)[] = []
  for (const password of ['own', 'other', 'own']) verified.push(await verify(own, password))
  t.strictSame(verified, [true, false, true], 'later tasks get their own results')

  halt.resume()
  t.ok(await isFirstBack(), 'the first process is used again when it has done its task')
  t.strictSame([...(await started())].sort(), [first, second].sort(), 'there are no further processes')
})

t.test('the first result of two attempts counts, and no task gets that of another', { skip: !isLinux }, async (t) => {
  const { verify, first, second, isFirstBack } = await workingPair(t, 50)
  t.ok(await isFirstBack())
  for (let round = 0; round < 2; round++) {
    const [haltFirst, haltSecond] = [halted(t, first), halted(t, second)]
    const right = verify(own, 'own')
    await pause(100)
    haltFirst.resume()
    t.equal(await right, true, 'by the first process, after the patience')
    halted(t, first)
    // Waits in the second process for the task that the first one has done meanwhile.
    const wrong = verify(own, 'other')
    await pause(100)
    haltSecond.resume()
    t.equal(await wrong, false)
    process.kill(first, 'SIGCONT')
    t.ok(await isFirstBack())
  }
})

t.test('a task fails only when both attempts fail', { skip: !isLinux }, async (t) => {
  const { worker, verify, first, second, isFirstBack } = await workingPair(t, 50)
  t.ok(await isFirstBack())
  halted(t, first)
  const outcome = verify(slowHash(), 'x')
  await pause(200)
  // Each is replaced, and repeats the task.
  for (const pid of [first, second]) process.kill(pid, 'SIGKILL')
  t.equal(await outcome, false)
  await t.rejects(
    worker.run({ kind: 'hash', password: undefined as unknown as string }),
    /A password could not be hashed: /,
  )
})
