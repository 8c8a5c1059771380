import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { HashProcesses } from '../../server/services/accounts/hashing/hash-processes.ts'
import {
  hashPassword,
  isOutdated,
  isPasswordHash,
  placeholderHash,
  verifyHash,
} from '../../server/services/accounts/password-hash.ts'
import { childProcesses } from '../support/child-processes.ts'
import { until } from '../support/until.ts'

const isLinux = process.platform === 'linux'

const hashing = '/hashing/hash-program.'

/** The processes that hash passwords for this one since the call. */
async function newHashProcesses(): Promise<() => Promise<readonly number[]>> {
  const before = await childProcesses(process.pid, hashing)
  return async () => (await childProcesses(process.pid, hashing)).filter((pid) => !before.includes(pid))
}

/** Session and nice value of a process; see proc_pid_stat(5). */
function priorityOf(pid: number | 'self'): { readonly session: number; readonly niceness: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return { session: Number(fields[3]), niceness: Number(fields[16]) }
}

/** Like a hash of ours that takes a second or more to compute. */
const slowHash = (): string => placeholderHash().replace('m=19456,t=2', 'm=262144,t=8')

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

t.test('processes have a low priority, and each a session of its own', { skip: !isLinux }, async (t) => {
  const started = await newHashProcesses()
  const own = priorityOf('self')
  const processes = new HashProcesses()
  // At once: other users than root may change the priority of one session after the other.
  await Promise.all([processes.hash('x'), processes.hash('y')])
  const pids = await started()
  t.equal(pids.length, 2)
  for (const pid of pids) {
    t.strictSame(priorityOf(pid), { session: pid, niceness: 15 })
    if (!existsSync('/proc/self/autogroup')) continue
    const isLowered = async (): Promise<boolean> => {
      // The process may be about to change it between two tasks.
      await processes.hash('z')
      return readFileSync(`/proc/${pid}/autogroup`, 'utf8').includes('nice 15\n')
    }
    t.ok(await until(isLowered), 'its session, too')
    t.notMatch(readFileSync('/proc/self/autogroup', 'utf8'), /nice 15\n/)
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
  t.equal(pids.length, 3)
  if (existsSync('/proc/self/autogroup')) {
    const areLow = (): boolean =>
      pids.every((pid) => readFileSync(`/proc/${pid}/autogroup`, 'utf8').includes('nice 15\n'))
    t.ok(await until(areLow))
  }
  child.stdin.end()
  await once(child, 'exit')
})

t.test('an error of a task is reported, and the process goes on', async (t) => {
  const processes = new HashProcesses()
  await t.rejects(processes.hash(undefined as unknown as string), /A password could not be hashed: /)
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
  const processes = new HashProcesses()
  const repeated = processes.verify(slowHash(), 'x')
  await kill()
  t.equal(await repeated, false)
  const failed = t.rejects(
    processes.verify(slowHash(), 'x'),
    /A password could not be hashed: its process has ended with SIGKILL/,
  )
  await kill()
  await kill()
  await failed
  t.ok(verifyHash(await processes.hash('y'), 'y'))
})

t.test('a process that is killed while idle fails no task', { skip: !isLinux }, async (t) => {
  const started = await newHashProcesses()
  const processes = new HashProcesses()
  await processes.hash('x')
  const [first = NaN] = await started()
  process.kill(first, 'SIGKILL')
  // Before this process has noticed.
  t.ok(verifyHash(await processes.hash('y'), 'y'))
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
  const processes = new HashProcesses(50)
  await processes.hash('x')
  t.ok(await until(async () => (await started()).length === 0))
  t.ok(verifyHash(await processes.hash('y'), 'y'))
  for (let round = 0; round < 3; round++) {
    await pause(50)
    t.ok(verifyHash(await processes.hash('z'), 'z'), 'a task at the moment of its end')
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
  t.equal((await childProcesses(working.pid ?? NaN, hashing)).length, 1)
  working.kill('SIGKILL')
  // The processes have it, too: it is closed when the last of them has ended.
  await once(working.stderr, 'close')
  t.equal(said, '')
})

t.test('the placeholder is like a hash of ours', (t) => {
  t.ok(isPasswordHash(placeholderHash()))
  t.notOk(isOutdated(placeholderHash()))
  t.notOk(verifyHash(placeholderHash(), ''))
  t.not(placeholderHash(), placeholderHash())
  t.end()
})
