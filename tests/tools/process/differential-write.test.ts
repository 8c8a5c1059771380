// Writes and calls to this server and to the real PostgREST 12.0.2, over the same database, each in a transaction that
// is rolled back. The seed of the generated requests is printed; the environment variable SEED sets it.
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { jwtSecret, startApplication } from '../../support/application.ts'
import { differences, type Difference } from '../../support/differences.ts'
import { createFixtureDatabase } from '../../support/fixture.ts'
import { generatedWrite } from '../../support/generated-writes.ts'
import type { KnownDifference } from '../../support/known-difference.ts'
import { explanationOf, knownDifferences } from '../../support/known-write-differences.ts'
import { startPostgrest, withoutPostgrest } from '../../support/postgrest.ts'
import { requestOf } from '../../support/request-table.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'
import { send, type SentRequest } from '../../support/sent-request.ts'
import { writesSettings } from '../../support/writes-service.ts'
import { argumentTables } from '../../tables/rpc-arguments.ts'
import { resultTables } from '../../tables/rpc-results.ts'
import { insertRowTables } from '../../tables/write-insert-rows.ts'
import { insertBodyTables } from '../../tables/write-insert.ts'
import { updateAndDeleteTables } from '../../tables/write-update-delete.ts'
import { upsertTables } from '../../tables/write-upsert.ts'

const generated = Number(process.env.WRITES ?? 700)
const defaultSeed = 20_261_127
const tables = [
  ...insertBodyTables,
  ...insertRowTables,
  ...upsertTables,
  ...updateAndDeleteTables,
  ...argumentTables,
  ...resultTables,
]

t.test(
  'this server responds as PostgREST does, except for changes in later versions',
  { skip: withoutPostgrest },
  async (t) => {
    const database = await createFixtureDatabase('writes')
    t.teardown(() => database.drop())
    const uri = database.uri('garage_server', 'garage')
    const settings = { ...writesSettings, PGRST_DB_SCHEMAS: 'garage' }
    const theirUrl = await startPostgrest(t, { ...settings, PGRST_DB_URI: uri, PGRST_JWT_SECRET: jwtSecret })
    const { url: ourUrl } = await startApplication(t, uri, {
      ...settings,
      REST_BASE_PATH: '/',
      URL_IGNORE_TRAILING_TEXT: 'true',
    })

    const seed = testSeed(defaultSeed)
    const random = seededRandom(seed)
    const rows = tables.flatMap((table) => table.rows)
    const requests: readonly SentRequest[] = [
      ...(await Promise.all(rows.map(requestOf))),
      ...random.some(generated, generated, () => generatedWrite(random)),
    ]
    t.ok(requests.length >= 1000, `${requests.length} requests`)

    const seen = new Set<KnownDifference>()
    for (const request of requests) {
      // In sequence, because each would wait for the locks of the other's transaction.
      const theirs = await send(theirUrl, request)
      const ours = await send(ourUrl, request)
      for (const difference of differences(theirs, ours)) {
        if (!request.path.includes('order=') && isOnlyOrder(difference)) continue
        const explanation = explanationOf(difference, { request, theirs, ours })
        if (explanation) seen.add(explanation)
        else t.fail(`${request.method} ${request.path}: ${difference.aspect}`, { request, ...difference })
      }
    }
    for (const known of knownDifferences) t.ok(seen.has(known), `still needed: ${known.version} ${known.reason}`)
  },
)

/** Whether the same rows came in another order. Without `order`, it depends on the query plan. */
function isOnlyOrder({ aspect, theirs, ours }: Difference): boolean {
  const sorted = (rows: readonly unknown[]) => rows.map((row) => JSON.stringify(row)).sort()
  return (
    aspect === 'body' && Array.isArray(theirs) && Array.isArray(ours) && isDeepStrictEqual(sorted(theirs), sorted(ours))
  )
}
