// Read requests to this server and to the real PostgREST 12.0.2, over the same database.
// The seed of the generated requests is printed; the environment variable SEED sets it.
import t from 'tap'
import { startApplication } from '../../support/application.ts'
import { createGarage } from '../../support/garage.ts'
import { generatedRead } from '../../support/generated-reads.ts'
import { unexplained, type KnownDifference } from '../../support/known-difference.ts'
import { explanationOf, knownDifferences } from '../../support/known-differences.ts'
import { startPostgrest, withoutPostgrest } from '../../support/postgrest.ts'
import { requestOf } from '../../support/request-table.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'
import { send, type SentRequest } from '../../support/sent-request.ts'
import { commonSettings, readTables } from '../../tables/reads/read-tables.ts'

const generated = Number(process.env.READS ?? 900)
const defaultSeed = 20_261_121
/** The requests of the tables that need no special settings. */
const written = readTables.filter(({ settings }) => settings === undefined).flatMap(({ rows }) => rows)

t.test(
  'this server responds as PostgREST does, except for changes in later versions',
  { skip: withoutPostgrest },
  async (t) => {
    const { environment } = await createGarage(t)
    const theirUrl = await startPostgrest(t, { ...environment, ...commonSettings })
    const { PGRST_DB_URI: uri = '', ...rest } = environment
    const { url: ourUrl } = await startApplication(t, uri, {
      ...rest,
      ...commonSettings,
      REST_BASE_PATH: '/',
      URL_IGNORE_TRAILING_TEXT: 'true',
    })

    const seed = testSeed(defaultSeed)
    const random = seededRandom(seed)
    const requests: readonly SentRequest[] = [
      ...(await Promise.all(written.map(requestOf))),
      ...random.some(generated, generated, () => generatedRead(random)),
    ]
    t.ok(requests.length >= 1000, `${requests.length} requests`)

    const seen = new Set<KnownDifference>()
    const compare = async (request: SentRequest): Promise<void> => {
      const [theirs, ours] = await Promise.all([send(theirUrl, request), send(ourUrl, request)])
      const found = unexplained({ request, theirs, ours }, explanationOf, seen)
      if (found.length > 0) t.fail(`${request.method} ${readable(request.path)}`, { request, unexplained: found })
    }
    const queue = requests.values()
    const work = async (): Promise<void> => {
      for (const request of queue) await compare(request)
    }
    await Promise.all(Array.from({ length: 6 }, work))
    for (const known of knownDifferences)
      t.ok(seen.has(known), `still needed: ${known.version} #${known.issue} ${known.reason}`)
  },
)

/** A readable form of a path. */
function readable(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
