import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { HashProcesses } from '../../../server/services/accounts/hash-processes.ts'
import {
  hashPassword,
  isOutdated,
  isPasswordHash,
  placeholderHash,
  verifyHash,
} from '../../../server/services/accounts/password-hash.ts'
import { childProcesses } from '../../support/child-processes.ts'
import { hashing, newHashProcesses, nicenessOf, slowHash } from '../../support/hash-processes.ts'
import { until } from '../../support/until.ts'

const isLinux = process.platform === 'linux'

t.test('tasks of several processes get their own results', async (t) => {
  const processes = new HashProcesses()
  const passwords = ['one', 'p\u00e4ss \0 \ud800', '']
  const hashes = await Promise.all(passwords.map((password) => processes.hash(password)))
  for (const [index, password] of passwords.entries()) t.ok(verifyHash(hashes[index] ?? '', password), password)
  const verified: boolean[] = []
  for (const hash of hashes) {
    verified.push(...(await Promise.all(passwords.map((password) => processes.verify(hash, password)))))
  }
  t.strictSame(
    verified,
    hashes.flatMap((_, index) => passwords.map((_, other) => index === other)),
  )
})

t.test('requests go before all threads of the processes', { skip: !isLinux }, async (t) => {
  const started = await newHashProcesses()
  const own = nicenessOf('self')
  const processes = new HashProcesses({ size: 2 })
  await Promise.all(['x', 'y', 'z'].map((password) => processes.hash(password)))
  const pids = await started()
  t.equal(pids.length, 2, 'their number is bounded')
  const threads = (): string[] => pids.flatMap((pid) => readdirSync(`/proc/${pid}/task`))
  const areLower = (): boolean =>
    threads().every((thread) => nicenessOf(Number(thread)) === constants.priority.PRIORITY_BELOW_NORMAL)
  // The second process may have started only now, because the first one has done all of the work.
  t.ok(await until(areLower), 'all of their threads')
  t.equal(nicenessOf('self'), own, 'this one keeps its own')
})

t.test('an error of a task is reported, and the process goes on', async (t) => {
  const processes = new HashProcesses({ size: 1 })
  await t.rejects(processes.hash(undefined as unknown as string), /A password could not be hashed/)
  t.equal(await processes.verify('!', 'x'), false)
})

t.test('the task of a process that is killed is repeated, once', { skip: !isLinux }, async (t) => {
  const started = await newHashProcesses()
  const killed: number[] = []
  const kill = async (): Promise<void> => {
    const running = async (): Promise<number | undefined> => (await started()).find((pid) => !killed.includes(pid))
    t.ok(await until(async () => (await running()) !== undefined), 'a process runs')
    const pid = (await running()) ?? NaN
    killed.push(pid)
    process.kill(pid, 'SIGKILL')
  }
  const processes = new HashProcesses({ size: 1 })
  const repeated = processes.verify(slowHash(), 'x')
  await kill()
  t.equal(await repeated, false)
  const failed = t.rejects(
    processes.verify(slowHash(), 'x'),
    /No hashing: the process that hashes passwords (?:ended during the hashing|does not start)/,
  )
  await kill()
  await kill()
  await failed
  t.ok(verifyHash(String(await processes.hash('y')), 'y'))
})

t.test('a process that is killed while idle fails no task', { skip: !isLinux }, async (t) => {
  const started = await newHashProcesses()
  const processes = new HashProcesses({ size: 1 })
  await processes.hash('x')
  const [first = NaN] = await started()
  process.kill(first, 'SIGKILL')
  // Before this process has noticed.
  t.ok(verifyHash(String(await processes.hash('y')), 'y'))
  t.notOk((await started()).includes(first))
})

t.test('whenever processes are killed, no caller gets the result of another', { skip: !isLinux }, async (t) => {
  const started = await newHashProcesses()
  const processes = new HashProcesses()
  const passwords = ['one', 'two', 'three']
  const hashes = passwords.map((password) => hashPassword(password))
  let isOver = false
  let verified = 0
  const caller = async (own: number): Promise<void> => {
    for (let task = 0; !isOver; task++) {
      const other = task % passwords.length
      try {
        const isRight = await processes.verify(hashes[other] ?? '', passwords[own] ?? '')
        if (isRight !== (own === other)) t.fail(`${passwords[own]} for ${passwords[other]}: ${isRight}`)
        verified++
      } catch (error) {
        if (!String(error).includes('the process that hashes passwords')) t.fail(String(error))
      }
    }
  }
  const callers = passwords.map((_, own) => caller(own))
  for (let round = 0; round < 5; round++) {
    const enough = verified + passwords.length
    t.ok(await until(() => verified >= enough), 'the callers go on')
    // At another moment of a task in each round.
    await pause(round * 3)
    const running = await started()
    for (const pid of round % 2 === 0 ? running : running.slice(0, 1)) process.kill(pid, 'SIGKILL')
  }
  isOver = true
  await Promise.all(callers)
  t.ok(verifyHash(await processes.hash('y'), 'y'))
})

t.test('an idle process ends, and the next task starts another', { skip: !isLinux }, async (t) => {
  const started = await newHashProcesses()
  const processes = new HashProcesses({ size: 1, longestIdle: 50 })
  await processes.hash('x')
  t.ok(await until(async () => (await started()).length === 0))
  t.ok(verifyHash(String(await processes.hash('y')), 'y'))
  for (let round = 0; round < 3; round++) {
    await pause(50)
    t.ok(verifyHash(String(await processes.hash('z')), 'z'), 'a task at the moment of its end')
  }
})

t.test('processes end with a server that is killed, and do not keep one running', { skip: !isLinux }, async (t) => {
  const url = new URL('../../../server/services/accounts/hash-processes.ts', import.meta.url)
  const folder = t.testdir({
    'program.mjs': `
      const { HashProcesses } = await import(${JSON.stringify(url.href)})
      const processes = new HashProcesses()
      await processes.hash('x')
      const [slowHash] = process.argv.slice(2)
      if (slowHash) void processes.verify(slowHash, 'x')
      console.log('ready')`,
  })
  const start = (...args: string[]) =>
    spawn(process.execPath, [...process.execArgv, join(folder, 'program.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const ending = start()
  const [code] = (await once(ending, 'exit')) as [number | null]
  t.equal(code, 0)

  const working = start(slowHash())
  await once(working.stdout, 'data')
  const pids = await childProcesses(working.pid ?? NaN, hashing)
  t.equal(pids.length, 1)
  working.kill('SIGKILL')
  t.ok(await until(() => pids.every((pid) => !existsSync(`/proc/${pid}`))))
})

t.test('the placeholder is like a hash of ours', (t) => {
  t.ok(isPasswordHash(placeholderHash()))
  t.notOk(isOutdated(placeholderHash()))
  t.notOk(verifyHash(placeholderHash(), ''))
  t.not(placeholderHash(), placeholderHash())
  t.end()
})
