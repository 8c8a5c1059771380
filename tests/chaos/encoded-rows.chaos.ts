// The long run of `tests/rest/encoded-rows.test.ts`: 1,000,000 requests, or `REQUESTS=`, with a seed that `SEED=` repeats.
import t from 'tap'
import { compareRows, startRowsService } from '../support/generated-rows.ts'
import { countEncodedResults } from '../support/rows-comparison.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { trustAllStatements } from '../support/sharing.ts'

const requests = Number(process.env.REQUESTS ?? 1_000_000)
const seed = testSeed()
const encoded = countEncodedResults()
// Half of the requests share connections.
const { chance } = seededRandom(seed)
trustAllStatements(() => chance(0.5))

t.test(`${requests} requests, SEED=${seed}`, { timeout: 3_600_000 * 4 }, async (t) => {
  const service = await startRowsService(t)
  const { differences, statuses } = await compareRows(service, seed, requests, {
    progress: (sent) => t.comment(`${sent} requests, ${encoded.results} encoded`),
    difference: (text) => t.comment(text),
  })
  t.comment(`statuses ${JSON.stringify([...statuses].sort())}`)
  t.strictSame(differences, [])
  t.ok(encoded.results > requests / 5, `${encoded.results} results are encoded`)
})
