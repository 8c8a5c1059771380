// Limits of services under attack: several processes, floods of subjects, a database that fails or has no counts.
import t from 'tap'
import { Limits, databaseLimits, type Limit } from '../../../server/services/limits.ts'
import { LocalCounts, type Counts } from '../../../server/rest/extensions/limits/counts.ts'

const limit: Limit = { name: 'guess', events: 3, period: 900 }

/** Counts of a database that forgets nothing, and how often they were asked. */
function sharedCounts(): { readonly counts: Counts; readonly asked: () => number } {
  const subjects = new Map<string, LocalCounts>()
  let asked = 0
  const of = (subject: string): LocalCounts => {
    asked++
    const known = subjects.get(subject) ?? new LocalCounts(() => 0)
    subjects.set(subject, known)
    return known
  }
  const counts: Counts = {
    take: (subject, ...wanted) => of(subject).take(subject, ...wanted),
    putBack: (subject, ...given) => of(subject).putBack(subject, ...given),
  }
  return { counts, asked: () => asked }
}

const isRefused = async (limits: Limits, account: string): Promise<boolean> =>
  (await limits.count(limit, [account])) !== undefined

t.test('two processes permit as many as one, in whichever order and at once', async (t) => {
  const { counts } = sharedCounts()
  const processes = [new Limits(counts, () => 0), new Limits(counts, () => 0)] as const
  const attempts = Array.from({ length: 40 }, (_, index) => isRefused(processes[index % 2 === 0 ? 0 : 1], 'ann'))
  t.equal((await Promise.all(attempts)).filter((refused) => !refused).length, 3)
  t.notOk(await isRefused(processes[0], 'bob'), 'another account')
})

t.test('what succeeds is given back to all processes', async (t) => {
  const { counts } = sharedCounts()
  let now = 0
  const [one, two] = [new Limits(counts, () => now), new Limits(counts, () => now)]
  for (let index = 0; index < 3; index++) t.notOk(await isRefused(one, 'ann'))
  t.ok(await isRefused(two, 'ann'))
  await one.giveBack(limit, ['ann'])
  now += 300
  t.notOk(await isRefused(two, 'ann'), 'another process asks again soon after a refusal')
  t.ok(await isRefused(one, 'ann'))
})

t.test('a flood of other subjects frees no one from a limit', async (t) => {
  const { counts } = sharedCounts()
  const limits = new Limits(counts, () => 0)
  for (let index = 0; index < 3; index++) await limits.count(limit, ['ann'])
  // More than a process remembers.
  for (let index = 0; index < 25_000; index++) await limits.count(limit, [`forged ${index}`])
  t.ok(await isRefused(limits, 'ann'))
})

t.test('a flood of refused attempts hardly asks the counts', async (t) => {
  const { counts, asked } = sharedCounts()
  const limits = new Limits(counts, () => 0)
  for (let index = 0; index < 1000; index++) await limits.count(limit, ['ann'])
  t.ok(asked() <= 4, `${asked()} statements`)
})

t.test('subjects of different limits and parts are different', async (t) => {
  const { counts } = sharedCounts()
  const limits = new Limits(counts, () => 0)
  for (let index = 0; index < 3; index++) await limits.count(limit, ['ann', 'net'])
  t.notOk(await limits.count(limit, ['annnet']))
  t.notOk(await limits.count(limit, ['ann","net']))
  t.notOk(await limits.count({ ...limit, name: 'code' }, ['ann', 'net']))
  t.ok(await limits.count(limit, ['ann', 'net']))
})

t.test('a fault of the database permits no attempt', async (t) => {
  const lost = Object.assign(new Error('Connection terminated'), { code: '08006' })
  const limits = databaseLimits(
    () => Promise.reject(lost),
    () => undefined,
  )
  for (let index = 0; index < 5; index++) await t.rejects(limits.count(limit, ['ann']), lost)
})

t.test('without the functions, or on a standby, the process counts alone and says so once', async (t) => {
  for (const code of ['42883', '3F000', '42501', '25006']) {
    const warnings: string[] = []
    const limits = databaseLimits(
      () => Promise.reject(Object.assign(new Error('no'), { code })),
      (message) => warnings.push(message),
    )
    const refused = []
    for (let index = 0; index < 5; index++) refused.push(await isRefused(limits, 'ann'))
    t.strictSame(refused, [false, false, false, true, true], code)
    t.equal(warnings.length, 1)
  }
})
