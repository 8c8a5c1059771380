import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { HashProcess } from '../../server/services/accounts/hashing/hash-process.ts'
import { HashProcesses } from '../../server/services/accounts/hashing/hash-processes.ts'
import {
  hashPassword,
  isOutdated,
  isPasswordHash,
  placeholderHash,
  verifyHash,
} from '../../server/services/accounts/password-hash.ts'
import { childProcesses } from '../support/child-processes.ts'
import { hashing, idle, lowestOf, newHashProcesses, priorityOf, slowHash } from '../support/hash-processes.ts'
import { until } from '../support/until.ts'

const isLinux = process.platform === 'linux'

/** Milliseconds; longer than any test. */
const longestIdle = 600_000

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

t.test('processes have the lowest priority, and each a session of its own', { skip: !isLinux }, async (t) => {
  const started = await newHashProcesses()
  const own = priorityOf('self')
  const processes = new HashProcesses()
  // At once: other users than root may change the priority of one session after the other.
  await Promise.all([processes.hash('x'), processes.hash('y')])
  const pids = lowestOf(await started())
  t.equal(pids.length, 2)
  for (const pid of pids) {
    t.strictSame(priorityOf(pid), { session: pid, niceness: 19, policy: idle })
    if (!existsSync('/proc/self/autogroup')) continue
    const isLowered = async (): Promise<boolean> => {
      // The process may be about to change it between two tasks.
      await processes.hash('z')
      return readFileSync(`/proc/${pid}/autogroup`, 'utf8').includes('nice 19\n')
    }
    t.ok(await until(isLowered), 'its session, too')
    t.notMatch(readFileSync('/proc/self/autogroup', 'utf8'), /nice 19\n/)
  }
  t.strictSame(priorityOf('self'), own, 'this one keeps its own')
})

t.test('sessions get a low priority without the rights of root', { skip: !isLinux }, async (t) => {
  const url = new URL('../../server/services/accounts/hashing/hash-processes.ts', import.meta.url)
  const folder = t.testdir({
    'program.mjs': `
      const { HashProcesses } = await import(${JSON.stringify(url.href)})
      const processes = new HashProcesses()
      await Promise.all(['a', 'b', 'c'].map((password) => processes.hash(password)))
      console.log('ready')
      process.stdin.resume()
      process.stdin.on('close', () => process.exit())`,
  })
  const program = [process.execPath, ...process.execArgv, join(folder, 'program.mjs')]
  // Without this right, Linux refuses all changes but one in a tenth of a second. Other users do not have it anyway.
  const isRoot = process.getuid?.() === 0
  const [command = '', ...args] = isRoot ? ['setpriv', '--bounding-set=-sys_admin', ...program] : program
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  const pids = await childProcesses(child.pid ?? NaN, hashing)
  t.equal(lowestOf(pids).length, 3)
  if (existsSync('/proc/self/autogroup')) {
    const areLow = (): boolean =>
      lowestOf(pids).every((pid) => readFileSync(`/proc/${pid}/autogroup`, 'utf8').includes('nice 19\n'))
    t.ok(await until(areLow))
  }
  child.stdin.end()
  await once(child, 'exit')
})

t.test('an error of a task is reported, and the process goes on', async (t) => {
  const hashProcess = new HashProcess('low', longestIdle)
  await t.rejects(
    hashProcess.run({ kind: 'hash', password: undefined as unknown as string }),
    /A password could not be hashed: /,
  )
  t.equal(await hashProcess.run({ kind: 'verify', passwordHash: '!', password: 'x' }), false)
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
  const hashProcess = new HashProcess('low', longestIdle)
  const repeated = hashProcess.run({ kind: 'verify', passwordHash: slowHash(), password: 'x' })
  await kill()
  t.equal(await repeated, false)
  const failed = t.rejects(
    hashProcess.run({ kind: 'verify', passwordHash: slowHash(), password: 'x' }),
    /A password could not be hashed: its process has ended with SIGKILL/,
  )
  await kill()
  await kill()
  await failed
  t.ok(verifyHash(String(await hashProcess.run({ kind: 'hash', password: 'y' })), 'y'))
})

t.test('a process that is killed while idle fails no task', { skip: !isLinux }, async (t) => {
  const started = await newHashProcesses()
  const hashProcess = new HashProcess('low', longestIdle)
  await hashProcess.run({ kind: 'hash', password: 'x' })
  const [first = NaN] = await started()
  process.kill(first, 'SIGKILL')
  // Before this process has noticed.
  t.ok(verifyHash(String(await hashProcess.run({ kind: 'hash', password: 'y' })), 'y'))
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
        if (!String(error).includes('its process has ended with SIGKILL')) t.fail(String(error))
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
  const hashProcess = new HashProcess('low', 50)
  await hashProcess.run({ kind: 'hash', password: 'x' })
  t.ok(await until(async () => (await started()).length === 0))
  t.ok(verifyHash(String(await hashProcess.run({ kind: 'hash', password: 'y' })), 'y'))
  for (let round = 0; round < 3; round++) {
    await pause(50)
    t.ok(
      verifyHash(String(await hashProcess.run({ kind: 'hash', password: 'z' })), 'z'),
      'a task at the moment of its end',
    )
  }
})

t.test('processes end with a server that is killed, and do not keep one running', { skip: !isLinux }, async (t) => {
  const url = new URL('../../server/services/accounts/hashing/hash-processes.ts', import.meta.url)
  const folder = t.testdir({
    'program.mjs': `
      const { HashProcesses } = await import(${JSON.stringify(url.href)})
      const processes = new HashProcesses()
      await processes.hash('x')
      const [slowHash] = process.argv.slice(2)
      if (slowHash) void processes.verify(slowHash, 'x')
      console.log('ready')`,
    'abandoning.mjs': `
      const { HashProcesses } = await import(${JSON.stringify(url.href)})
      const processes = new HashProcesses({ patience: 100 })
      await processes.hash('x')
      console.log('ready')
      process.stdin.once('data', async () => {
        await processes.hash('y')
        process.stdin.destroy()
      })`,
  })
  const start = (...args: string[]) =>
    spawn(process.execPath, [...process.execArgv, join(folder, 'program.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const ending = start()
  const [code] = (await once(ending, 'exit')) as [number | null]
  t.equal(code, 0)

  const working = start(slowHash())
  let said = ''
  working.stderr.on('data', (text: Buffer) => (said += text.toString()))
  await once(working.stdout, 'data')
  t.equal(lowestOf(await childProcesses(working.pid ?? NaN, hashing)).length, 1)
  working.kill('SIGKILL')
  // The processes have it, too: it is closed when the last of them has ended.
  await once(working.stderr, 'close')
  t.equal(said, '')

  const abandoning = spawn(process.execPath, [...process.execArgv, join(folder, 'abandoning.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(abandoning.stdout, 'data')
  const [pid = NaN] = await childProcesses(abandoning.pid ?? NaN, hashing)
  process.kill(pid, 'SIGSTOP')
  t.teardown(() => process.kill(pid, 'SIGKILL'))
  abandoning.stdin.write('go')
  await once(abandoning, 'exit')
  t.equal(abandoning.exitCode, 0, 'although a process has a task that it does not get done')
})

t.test('the placeholder is like a hash of ours', (t) => {
  t.ok(isPasswordHash(placeholderHash()))
  t.notOk(isOutdated(placeholderHash()))
  t.notOk(verifyHash(placeholderHash(), ''))
  t.not(placeholderHash(), placeholderHash())
  t.end()
})
