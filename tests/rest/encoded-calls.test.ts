// A service that encodes the rows of functions that may have effects responds like one for which Postgres does, to generated calls of
// several callers, and both have the same effects. `SEED=` and `REQUESTS=` choose other ones.
import t from 'tap'
import { generatedCall } from '../support/called-rows.ts'
import { countEncodedResults } from '../support/rows-comparison.ts'
import { testSeed } from '../support/seeded-random.ts'
import { compareGenerated, startWritesComparison } from '../support/written-rows.ts'

const requests = Number(process.env.REQUESTS ?? 1500)
const seed = testSeed(20_261_130)
const encoded = countEncodedResults()

for (const [title, env] of [
  ['', {}],
  [' with a limit of rows, and a function before every request', { PGRST_DB_MAX_ROWS: '2', PGRST_DB_PRE_REQUEST: 'public.nothing' }], // prettier-ignore
] as const)
  t.test(`${requests} generated calls${title}, SEED=${seed}`, async (t) => {
    const comparison = await startWritesComparison(t, ['written-rows', 'called-rows'], env)
    const before = encoded.results
    const statuses = await compareGenerated(t, comparison, { requests, seed, generate: generatedCall })
    for (const table of ['things', 'children', 'keyless', 'journal']) {
      const [one, other] = await comparison.rows(table)
      t.equal(one, other, table)
    }
    const results = encoded.results - before
    t.comment(JSON.stringify({ statuses: [...statuses].sort(), encoded: results }))
    t.ok(results > requests / 4, `${results} results are encoded`)
    for (const status of [200, 201, 204, 206, 400, 402, 404, 406, 418, 500]) t.ok(statuses.has(status), String(status))
  })
