// A service that encodes the rows that writes return responds like one for which Postgres does, to generated writes of several
// callers, and both write the same. `SEED=` and `REQUESTS=` choose other ones.
import t from 'tap'
import { countEncodedResults } from '../support/rows-comparison.ts'
import { testSeed } from '../support/seeded-random.ts'
import { compareGenerated, generatedWrittenRows, startWritesComparison } from '../support/written-rows.ts'

const requests = Number(process.env.REQUESTS ?? 1500)
const seed = testSeed(20_261_130)
const encoded = countEncodedResults()
const comparison = await startWritesComparison(t)

t.test(`${requests} generated writes, SEED=${seed}`, async (t) => {
  const statuses = await compareGenerated(t, comparison, { requests, seed, generate: generatedWrittenRows })
  for (const table of [
    'things',
    'owned',
    'children',
    'pairs',
    'keyless',
    'split',
    'stamped',
    'loud',
    'ruled',
    'narrow',
  ]) {
    const [one, other] = await comparison.rows(table)
    t.equal(one, other, table)
  }
  t.comment(JSON.stringify({ statuses: [...statuses].sort(), encoded: encoded.results }))
  t.ok(encoded.results > requests / 20, `${encoded.results} results are encoded`)
  for (const status of [200, 201, 204, 400, 403, 406, 409]) t.ok(statuses.has(status), String(status))
})
