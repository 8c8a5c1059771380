import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FolderInUse, lockFolder } from '../../../server/postgres/embedded/folder-lock.ts'
import { awaitDeath, birthOf } from '../../../server/postgres/embedded/running-process.ts'
import { until } from '../../support/until.ts'

async function folder(t: Test): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'rowhouse-lock-'))
  t.teardown(() => rm(made, { recursive: true, force: true }))
  return made
}

const encode = (birth: string | null): string => (birth ?? '').replaceAll(' ', '_')

t.test('an existing lock is respected or taken over', async (t) => {
  const mine = encode(await birthOf(process.pid))
  const child = spawn('sleep', ['60'])
  const childBirth = encode(await birthOf(child.pid ?? 0))
  const dead = spawn('true')
  await new Promise((resolve) => dead.once('exit', resolve))
  t.teardown(() => child.kill())
  const cases: [string, string, boolean][] = [
    ['of this process', `${process.pid} ${mine}`, true],
    ['of a running process', `${child.pid} ${childBirth}`, true],
    ['of a process that has ended', `${dead.pid} ${mine}`, false],
    ['of an earlier process with the pid of a running one', `${child.pid} ${mine}`, false],
    ['that was released', 'released', false],
    ['from before a reboot', `${child.pid} ${childBirth.replace(/^[^/]+/, 'f0f0f0f0')}`, false],
    ['without a start time', `${child.pid}`, false],
    ['with an invalid pid', `../../etc ${mine}`, false],
    ['with a pid out of range', `99999999999999999999 ${mine}`, false],
  ]
  for (const [name, target, isHeld] of cases) {
    const place = await folder(t)
    await symlink(target, join(place, 'lock.7'))
    if (isHeld) {
      await t.rejects(lockFolder(place), FolderInUse, name)
      t.strictSame(await readdir(place), ['lock.7'])
    } else {
      await lockFolder(place)
      t.strictSame(await readdir(place), ['lock.8'], name)
    }
  }
})

t.test('of many concurrent attempts, exactly one gets the lock, repeatedly', async (t) => {
  const place = await folder(t)
  await mkdir(join(place, 'lock.later'))
  await symlink('1 long_ago', join(place, 'lock.1'))
  for (let round = 0; round < 20; round++) {
    const attempts = await Promise.allSettled(Array.from({ length: 20 }, () => lockFolder(place)))
    const won = attempts.filter((attempt) => attempt.status === 'fulfilled')
    t.equal(won.length, 1, `round ${round}`)
    const lost = attempts.filter((attempt) => attempt.status === 'rejected')
    t.ok(lost.every(({ reason }) => reason instanceof FolderInUse))
    for (const { value: release } of won) await release()
  }
  t.strictSame(await readdir(place), ['lock.21', 'lock.later'])
})

t.test('the start time of a process is found', async (t) => {
  const own = await birthOf(process.pid)
  t.ok(own)
  t.equal(await birthOf(process.pid), own, 'stays the same')
  t.equal(await birthOf(2 ** 30), null, 'an unknown process id')
  const child = spawn('sleep', ['60'])
  const pid = child.pid ?? 0
  const birth = (await birthOf(pid)) ?? ''
  t.not(birth, own)
  t.notOk(await awaitDeath(pid, birth, 60), 'it keeps running')
  child.kill('SIGKILL')
  t.ok(await awaitDeath(pid, birth, 5000))
  t.equal(await birthOf(pid), null)
})

t.test('a zombie process does not keep the lock', { skip: process.platform !== 'linux' }, async (t) => {
  // The shell becomes `sleep`, which never waits for its child process.
  const parent = spawn('/bin/sh', ['-c', 'sleep 1 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] })
  t.teardown(() => parent.kill())
  const pid = await new Promise<number>((resolve) =>
    parent.stdout.once('data', (data: Buffer) => resolve(Number(data.toString()))),
  )
  t.ok(await until(async () => (await birthOf(pid)) === null))
  t.doesNotThrow(() => process.kill(pid, 0), 'the system still knows its number')
})
