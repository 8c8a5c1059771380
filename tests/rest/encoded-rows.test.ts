// A service that writes the JSON of rows responds like one for which Postgres does, to generated reads of several callers.
// `SEED=` and `REQUESTS=` choose other ones; the long run is `tests/chaos/encoded-rows.chaos.ts`.
import t from 'tap'
import { compareRows, startRowsService } from '../support/generated-rows.ts'
import { countEncodedResults } from '../support/rows-comparison.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { countSharedRuns, trustAllStatements } from '../support/sharing.ts'

const requests = Number(process.env.REQUESTS ?? 2000)
const seed = testSeed(20_261_129)
const encoded = countEncodedResults()
const shared = countSharedRuns()
// Half of the requests share connections.
const { chance } = seededRandom(seed)
trustAllStatements(() => chance(0.5))
const service = await startRowsService(t)

t.test(`${requests} generated reads, SEED=${seed}`, async (t) => {
  const { differences, statuses } = await compareRows(service, seed, requests)
  for (const difference of differences.slice(0, 20)) t.fail(difference)
  t.comment(JSON.stringify({ statuses: [...statuses].sort(), encoded: encoded.results, shared: shared.reads }))
  t.ok(encoded.results > requests / 5, `${encoded.results} results are encoded`)
  for (const status of [200, 206, 400, 404, 406, 416]) t.ok(statuses.has(status), String(status))
})
