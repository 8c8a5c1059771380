// A service that encodes the rows that writes return responds like one for which Postgres does, to generated writes of several
// callers, and both write the same. `SEED=` and `REQUESTS=` choose other ones.
import t from 'tap'
import { countEncodedResults } from '../support/rows-comparison.ts'
import { testSeed } from '../support/seeded-random.ts'
import { generatedTriggeringWrite, triggeringTargets } from '../support/triggered-rows.ts'
import { compareGenerated, generatedWrittenRows, startWritesComparison } from '../support/written-rows.ts'

const requests = Number(process.env.REQUESTS ?? 1500)
const seed = testSeed(20_261_130)
const encoded = countEncodedResults()

const tables = ['things', 'owned', 'children', 'pairs', 'keyless', 'split', 'stamped', 'loud', 'ruled', 'narrow']
const triggering = [...new Set(triggeringTargets.map(({ name }) => name)), 'keyless', 'parents']

for (const [title, generate, fixtures, written, expected, env] of [
  ['', generatedWrittenRows, [], tables, [200, 201, 204, 400, 403, 406, 409], {}],
  [
    ' that run triggers',
    generatedTriggeringWrite,
    ['triggered-rows'],
    triggering,
    [200, 201, 204, 400, 402, 406, 409, 418, 451, 500],
    {},
  ],
  [
    ' after a function of every request',
    generatedTriggeringWrite,
    ['triggered-rows'],
    triggering,
    [200, 201, 204, 418, 500],
    { PGRST_DB_PRE_REQUEST: 'public.nothing' },
  ],
] as const)
  // prettier-ignore
  t.test(`${requests} generated writes${title}, SEED=${seed}`, async (t) => {
    const comparison = await startWritesComparison(t, ['written-rows', ...fixtures], env)
    const before = encoded.results
    const statuses = await compareGenerated(t, comparison, { requests, seed, generate })
    for (const table of written) {
      const [one, other] = await comparison.rows(table)
      t.equal(one, other, table)
    }
    const results = encoded.results - before
    t.comment(JSON.stringify({ statuses: [...statuses].sort(), encoded: results }))
    t.ok(results > requests / 10, `${results} results are encoded`)
    for (const status of expected) t.ok(statuses.has(status), String(status))
  })
