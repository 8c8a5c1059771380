// A service that encodes the rows that writes return responds like one for which Postgres does, to generated writes of several
// callers, and both write the same. `SEED=` and `REQUESTS=` choose other ones.
import t from 'tap'
import { countEncodedResults } from '../support/rows-comparison.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { generatedWrittenRows, startWritesComparison } from '../support/written-rows.ts'

const requests = Number(process.env.REQUESTS ?? 1500)
const seed = testSeed(20_261_130)
const encoded = countEncodedResults()
const { compare, rows, callers } = await startWritesComparison(t)

const shapesAtOnce = 20
const requestsOfShape = 8

t.test(`${requests} generated writes, SEED=${seed}`, async (t) => {
  const random = seededRandom(seed)
  const statuses = new Map<number, number>()
  let found = 0
  for (let sent = 0; sent < requests && found < 10; sent++) {
    const block = Math.floor(sent / (shapesAtOnce * requestsOfShape))
    const shape = seededRandom(seed * 1000 + block * shapesAtOnce + random.below(shapesAtOnce))
    const request = generatedWrittenRows(shape, random)
    const caller = random.pick(callers)
    const headers = caller === undefined ? request.headers : { ...request.headers, Authorization: caller }
    const { status, difference } = await compare({ ...request, headers })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (difference === undefined) continue
    found++
    t.fail(difference)
  }
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
    const [one, other] = await rows(table)
    t.equal(one, other, table)
  }
  t.comment(JSON.stringify({ statuses: [...statuses].sort(), encoded: encoded.results }))
  t.ok(encoded.results > requests / 20, `${encoded.results} results are encoded`)
  for (const status of [200, 201, 204, 400, 403, 406, 409]) t.ok(statuses.has(status), String(status))
})
