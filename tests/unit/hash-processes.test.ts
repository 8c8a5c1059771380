import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { HashProcesses } from '../../server/services/accounts/hashing/hash-processes.ts'
import {
  isOutdated,
  isPasswordHash,
  placeholderHash,
  verifyHash,
} from '../../server/services/accounts/password-hash.ts'

const isLinux = process.platform === 'linux'

type Found = { readonly pid: number; readonly parent: number; readonly session: number; readonly niceness: number }

/** The processes that hash passwords; see proc_pid_stat(5). */
const hashProcesses = (): Found[] =>
  readdirSync('/proc').flatMap((name): Found[] => {
    if (!/^\d+$/.test(name)) return []
    try {
      if (!readFileSync(`/proc/${name}/cmdline`, 'utf8').includes('/hashing/main.')) return []
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      const [state] = fields
      if (state === 'Z') return []
      return [
        { pid: Number(name), parent: Number(fields[1]), session: Number(fields[3]), niceness: Number(fields[16]) },
      ]
    } catch {
      // It has ended.
      return []
    }
  })

const ownHashProcesses = (): Found[] => hashProcesses().filter(({ parent }) => parent === process.pid)

/** @throws Error if it does not become true within ten seconds */
async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition(); waited += 20) {
    if (waited > 10_000) throw new Error('waited for ten seconds')
    await pause(20)
  }
}

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

t.test(
  'a process has a low priority and a session of its own, and this one keeps its own',
  { skip: !isLinux },
  async (t) => {
    const before = new Set(ownHashProcesses().map(({ pid }) => pid))
    const stat = (): string | undefined => readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ')[16]
    const own = stat()
    await new HashProcesses().hash('x')
    const started = ownHashProcesses().filter(({ pid }) => !before.has(pid))
    t.match(started, [{ niceness: 15 }])
    t.equal(started[0]?.session, started[0]?.pid)
    if (readdirSync('/proc/self').includes('autogroup')) {
      t.match(readFileSync(`/proc/${started[0]?.pid}/autogroup`, 'utf8'), /nice 15\n/)
      t.notMatch(readFileSync('/proc/self/autogroup', 'utf8'), /nice 15\n/)
    }
    t.equal(stat(), own)
  },
)

t.test('an error of a task is reported, and the process goes on', async (t) => {
  const processes = new HashProcesses()
  await t.rejects(processes.hash(undefined as unknown as string), /A password could not be hashed: /)
  t.equal(await processes.verify('!', 'x'), false)
})

t.test('the task of a process that is killed is repeated, once', { skip: !isLinux }, async (t) => {
  const before = new Set(ownHashProcesses().map(({ pid }) => pid))
  const started = (): Found | undefined => ownHashProcesses().find(({ pid }) => !before.has(pid))
  const kill = (): void => {
    const { pid = NaN } = started() ?? {}
    before.add(pid)
    process.kill(pid, 'SIGKILL')
  }
  const processes = new HashProcesses()
  await processes.hash('x')
  // Takes seconds.
  const slow = placeholderHash().replace('m=19456,t=2', 'm=262144,t=20')
  const repeated = processes.verify(slow, 'x')
  await pause(50)
  kill()
  t.equal(await repeated, false)
  const failed = t.rejects(
    processes.verify(slow, 'x'),
    /A password could not be hashed: its process has ended with SIGKILL/,
  )
  await pause(50)
  kill()
  await until(() => started() !== undefined)
  kill()
  await failed
  t.ok(verifyHash(await processes.hash('y'), 'y'))
})

t.test('a process that is killed while idle fails no task', { skip: !isLinux }, async (t) => {
  const before = new Set(ownHashProcesses().map(({ pid }) => pid))
  const processes = new HashProcesses()
  await processes.hash('x')
  const [first] = ownHashProcesses().filter(({ pid }) => !before.has(pid))
  process.kill(first?.pid ?? NaN, 'SIGKILL')
  await until(() => !ownHashProcesses().some(({ pid }) => pid === first?.pid))
  t.ok(verifyHash(await processes.hash('y'), 'y'))
})

t.test('an idle process ends, and the next task starts another', { skip: !isLinux }, async (t) => {
  const before = new Set(ownHashProcesses().map(({ pid }) => pid))
  const processes = new HashProcesses(50)
  await processes.hash('x')
  await until(() => !ownHashProcesses().some(({ pid }) => !before.has(pid)))
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
      await new HashProcesses().hash('x')
      console.log('ready')
      if (process.argv[2] === 'stay') setInterval(() => undefined, 1000)`,
  })
  const start = (...args: string[]) =>
    spawn(process.execPath, [...process.execArgv, join(folder, 'program.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
  const ending = start()
  const [code] = (await once(ending, 'exit')) as [number | null]
  t.equal(code, 0)
  const killed = start('stay')
  await once(killed.stdout, 'data')
  t.equal(hashProcesses().filter(({ parent }) => parent === killed.pid).length, 1)
  const [orphan] = hashProcesses().filter(({ parent }) => parent === killed.pid)
  killed.kill('SIGKILL')
  await until(() => !hashProcesses().some(({ pid }) => pid === orphan?.pid))
})

t.test('the placeholder is like a hash of ours', (t) => {
  t.ok(isPasswordHash(placeholderHash()))
  t.notOk(isOutdated(placeholderHash()))
  t.notOk(verifyHash(placeholderHash(), ''))
  t.not(placeholderHash(), placeholderHash())
  t.end()
})
