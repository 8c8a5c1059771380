// The long run of `tests/rest/cache-differential.test.ts`: 100,000 requests, or `REQUESTS=`, with a seed that `SEED=` repeats.
import t from 'tap'
import { compareCaches, startCacheComparison } from '../support/cache-comparison.ts'
import { testSeed } from '../support/seeded-random.ts'

const requests = Number(process.env.REQUESTS ?? 100_000)
const seed = testSeed()

t.test(`${requests} requests with caches and without, SEED=${seed}`, { timeout: 900_000 }, async (t) => {
  const comparison = await startCacheComparison(t)
  const { differences, statuses, plans, rejections } = await compareCaches(comparison, seed, requests)
  t.comment(`statuses ${JSON.stringify([...statuses].sort())}; cached: ${plans} plans, ${rejections} rejections`)
  t.strictSame(differences, [])
  t.ok(plans > 50 && rejections > 50, 'many plans and many rejections are cached')
})
