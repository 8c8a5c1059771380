// A service that encodes the rows of functions that may have effects responds like one for which Postgres does, to generated calls of
// several callers, and both have the same effects. `SEED=` and `REQUESTS=` choose other ones.
import t from 'tap'
import { generatedCall } from '../support/called-rows.ts'
import { countEncodedResults } from '../support/rows-comparison.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { startWritesComparison } from '../support/written-rows.ts'

const requests = Number(process.env.REQUESTS ?? 1500)
const seed = testSeed(20_261_130)
const encoded = countEncodedResults()

const shapesAtOnce = 20
const requestsOfShape = 8

for (const [title, env] of [
  ['', {}],
  [' with a limit of rows, and a function before every request', { PGRST_DB_MAX_ROWS: '2', PGRST_DB_PRE_REQUEST: 'public.nothing' }], // prettier-ignore
] as const)
  t.test(`${requests} generated calls${title}, SEED=${seed}`, async (t) => {
    const { compare, rows, callers } = await startWritesComparison(t, ['written-rows', 'called-rows'], env)
    const random = seededRandom(seed)
    const statuses = new Map<number, number>()
    const before = encoded.results
    let found = 0
    for (let sent = 0; sent < requests && found < 10; sent++) {
      const block = Math.floor(sent / (shapesAtOnce * requestsOfShape))
      const shape = seededRandom(seed * 1000 + block * shapesAtOnce + random.below(shapesAtOnce))
      const request = generatedCall(shape, random)
      const caller = random.pick(callers)
      const headers = caller === undefined ? request.headers : { ...request.headers, Authorization: caller }
      const { status, difference } = await compare({ ...request, headers })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      if (difference === undefined) continue
      found++
      t.fail(difference.slice(0, 4000))
    }
    for (const table of ['things', 'children', 'keyless', 'journal']) {
      const [one, other] = await rows(table)
      t.equal(one, other, table)
    }
    const results = encoded.results - before
    t.comment(JSON.stringify({ statuses: [...statuses].sort(), encoded: results }))
    t.ok(results > requests / 4, `${results} results are encoded`)
    for (const status of [200, 201, 204, 206, 400, 402, 404, 406, 418, 500]) t.ok(statuses.has(status), String(status))
  })
