import t from 'tap'
import { imageLimit } from '../../../server/services/analysis/request-limit.ts'
import { Problem } from '../../../server/services/analysis/problem.ts'

const user = (name: string) => ({ counted: { kind: 'user', name } }) as const
const network = (name: string) => ({ counted: { kind: 'network', name } }) as const

type Taken = { readonly granted: number; readonly remaining: number }

/** A limit of two images per minute, with the answers of the database and the time. */
function startLimit(answer: (subject: string) => Promise<Taken[]>) {
  const asked: string[] = []
  const warnings: string[] = []
  const clock = { now: 0 }
  const count = imageLimit({
    imagesPerMinute: 2,
    query: (_text, [subject]) => {
      asked.push(String(subject))
      return answer(String(subject))
    },
    onWarning: (message) => void warnings.push(message),
    now: () => clock.now,
  })
  return { count, asked, warnings, clock }
}

const errorOf = (counted: Promise<void>): Promise<unknown> =>
  counted.then(
    () => undefined,
    (reason: unknown) => reason,
  )
const refusal = (seconds: number) => ({ status: 429, headers: { 'Retry-After': String(seconds) } })
const failing = (code: string) => () => Promise.reject(Object.assign(new Error('no'), { code }))

t.test('callers that are refused do not ask the database again, and their addresses are not stored', async (t) => {
  const { count, asked } = startLimit(() => Promise.resolve([{ granted: 0, remaining: 0.5 }]))
  for (let n = 0; n < 3; n++) t.match(await errorOf(count(network('203.0.113.7'), 1)), refusal(15))
  t.equal(asked.length, 1)
  t.notMatch(asked[0], '203.0.113.7')
  await t.rejects(count(user('203.0.113.7'), 1))
  t.equal(new Set(asked).size, 2, 'a user is no network')
})

t.test('more images than a minute has are refused without counting', async (t) => {
  const { count, asked } = startLimit(() => Promise.resolve([{ granted: 3, remaining: 0 }]))
  t.match(await errorOf(count(user('a'), 3)), refusal(60))
  t.equal(asked.length, 0)
})

t.test('while the database is unreachable or has no counts, the process counts on its own', async (t) => {
  for (const code of ['08006', '57P03', '42883']) {
    const { count, warnings, clock } = startLimit(failing(code))
    await count(user('a'), 2)
    t.match(await errorOf(count(user('a'), 1)), refusal(30))
    await count(user('b'), 1)
    t.equal(warnings.length, code === '42883' ? 1 : 0, code)
    if (code === '42883') continue
    clock.now += 30_000
    await count(user('a'), 1)
  }
})

t.test('any other error is passed on', async (t) => {
  const { count } = startLimit(failing('XX000'))
  const error = await errorOf(count(user('a'), 1))
  t.match(error, { code: 'XX000' })
  t.notOk(error instanceof Problem)
})
