import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { HashThreads } from '../../server/services/accounts/hashing/hash-threads.ts'
import {
  isOutdated,
  isPasswordHash,
  placeholderHash,
  verifyHash,
} from '../../server/services/accounts/password-hash.ts'

/** The nice values of this process's threads; see proc_pid_stat(5). */
const nicenesses = (): number[] =>
  readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
  })

t.test('tasks of several threads get their own results', async (t) => {
  const threads = new HashThreads()
  const passwords = ['one', 'two', 'three', 'p\u00e4ss \0 \ud800', '']
  const hashes = await Promise.all(passwords.map((password) => threads.hash(password)))
  for (const [index, password] of passwords.entries()) t.ok(verifyHash(hashes[index] ?? '', password), password)
  const verified = await Promise.all(
    hashes.flatMap((hash) => passwords.map((password) => threads.verify(hash, password))),
  )
  t.strictSame(
    verified,
    hashes.flatMap((_, index) => passwords.map((_, other) => index === other)),
  )
})

t.test('a thread that serves no request has a lower priority', { skip: process.platform !== 'linux' }, async (t) => {
  const before = nicenesses()
  await new HashThreads().hash('x')
  const after = nicenesses()
  t.ok(after.filter((niceness) => niceness === 15).length > before.filter((niceness) => niceness === 15).length)
  t.equal(Math.min(...after), Math.min(...before), 'the others keep theirs')
})

t.test('an error of a task is reported, and the thread goes on', async (t) => {
  const threads = new HashThreads()
  await t.rejects(threads.hash(undefined as unknown as string), /A password could not be hashed: /)
  t.equal(await threads.verify('!', 'x'), false)
})

t.test('the placeholder is like a hash of ours', (t) => {
  t.ok(isPasswordHash(placeholderHash()))
  t.notOk(isOutdated(placeholderHash()))
  t.notOk(verifyHash(placeholderHash(), ''))
  t.not(placeholderHash(), placeholderHash())
  t.end()
})
