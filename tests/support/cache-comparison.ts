// Two services on one database, one with caches and one without, which must give equal responses to any request.
import type { Test } from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import type { KnownShape } from '../../server/rest/cache/plan-cache.ts'
import { ApiError } from '../../server/rest/errors.ts'
import { startApplication } from './application.ts'
import { createMigratedDatabase, withClient } from './database.ts'
import { loadFixture } from './fixture.ts'
import { generatedAttacks, type Attack, type Header } from './generated-attacks.ts'
import { GeneratedConditions } from './generated-conditions.ts'
import { RawConnection, requestHead, type RawResponse } from './raw-connection.ts'
import { seededRandom } from './seeded-random.ts'
import { signToken } from './token.ts'

export type Caller = { readonly name: string; readonly headers: readonly Header[] }

export type CacheComparison = {
  /** The callers: anonymous, two users by token, the service by token and by key, and an expired token. */
  readonly callers: readonly [Caller, ...Caller[]]
  /** Secrets of the callers, which must not be cached. */
  readonly secrets: readonly string[]
  /** The responses of both services to a request, that of the one with caches first. */
  readonly ask: (attack: Attack, caller: Caller, connection?: number) => Promise<readonly [RawResponse, RawResponse]>
  /** The cache entries of the service with caches. */
  readonly cached: () => readonly (readonly [string, KnownShape])[]
}

const connections = 8

/** Bytes that are not allowed in a request target. */
const unsendable = /[\0-\x20\x7f]/g

const targetOf = ({ path, query }: Attack): string =>
  (path + (query.length === 0 ? '' : `?${query.join('&')}`)).replace(unsendable, encodeURIComponent)

/** Starts both services for the duration of a test. Every transaction is rolled back, so both see the same rows. */
export async function startCacheComparison(t: Pick<Test, 'teardown'>): Promise<CacheComparison> {
  const database = await createMigratedDatabase()
  t.teardown(() => database.drop())
  await loadFixture(database, 'cache-differential')
  const { key } = await withClient(database.adminUri, (client) =>
    createApiKey(client, { role: 'service_role', label: 'test' }),
  )
  const env = {
    PGRST_DB_SCHEMAS: 'public,archive',
    PGRST_DB_TX_END: 'rollback',
    PGRST_DB_POOL: '4',
    PGRST_LOG_LEVEL: 'crit',
    PGRST_DB_AGGREGATES_ENABLED: 'true',
    REST_BASE_PATH: '/',
  }
  const on = await startApplication(t, database.authenticatorUri, env)
  const off = await startApplication(t, database.authenticatorUri, {
    ...env,
    PLAN_CACHE_MAX_ENTRIES: '0',
    PGRST_JWT_CACHE_MAX_ENTRIES: '0',
    PGRST_DB_PREPARED_STATEMENTS: 'false',
    DB_POOL_SHARING: 'none',
  })
  const pairs = Array.from(
    { length: connections },
    () => [new RawConnection(on.url), new RawConnection(off.url)] as const,
  )
  t.teardown(() => pairs.flat().forEach((connection) => connection.close()))
  const exp = 4_000_000_000
  const tokens = await Promise.all([
    signToken({ role: 'authenticated', sub: 'ann', exp }),
    signToken({ role: 'authenticated', sub: 'bob', exp }),
    signToken({ role: 'service_role', exp }),
    signToken({ role: 'authenticated', sub: 'ann', exp: 1_700_000_000 }),
  ])
  const [ann = '', bob = '', service = '', expired = ''] = tokens
  const bearer = (value: string): Header => ['Authorization', `Bearer ${value}`]
  return {
    callers: [
      { name: 'anonymous', headers: [] },
      { name: 'ann', headers: [bearer(ann), ['Cookie', 'secret-cookie=ann']] },
      { name: 'bob', headers: [bearer(bob), ['X-Secret', 'secret-header']] },
      { name: 'service', headers: [bearer(service)] },
      { name: 'key', headers: [['apikey', key]] },
      { name: 'ann with the key', headers: [['apikey', key], bearer(ann)] },
      { name: 'expired', headers: [bearer(expired)] },
    ],
    secrets: [...tokens, key, 'secret-cookie', 'secret-header'],
    ask: async (attack, caller, connection = 0) => {
      const { method, body } = attack
      const length: Header[] = body === '' && method === 'GET' ? [] : [['Content-Length', String(body.length)]]
      const head = requestHead(method, targetOf(attack), [
        ['Host', 'test'],
        ...caller.headers,
        ...attack.headers,
        ...length,
      ])
      const [first, second] = pairs[connection % connections] ?? []
      if (!first || !second) throw new Error('there are no connections')
      const request = { head, body, isHead: method === 'HEAD' }
      return Promise.all([first.send(request), second.send(request)])
    },
    cached: () => on.service.engine.snapshot.plans.entries(),
  }
}

/** The parts of a response that must be equal. */
export const comparable = ({ status, headers, body }: RawResponse) => ({
  status,
  headers: headers.filter(([name]) => name !== 'date').map(([name, value]) => `${name}: ${value}`),
  body,
})

/** Whether a statement of a pair was the victim of a deadlock with another pair: a race, which caches do not decide. */
const isDeadlocked = (pair: readonly RawResponse[]): boolean => pair.some(({ body }) => body.includes('"code":"40P01"'))

export type Outcome = {
  /** One line for each request that was answered differently. */
  readonly differences: readonly string[]
  readonly statuses: ReadonlyMap<number, number>
  /** Number of requests with credentials whose plan, or rejection, was cached. */
  readonly plans: number
  readonly rejections: number
  /** Number of requests that wrote related rows. */
  readonly nested: number
}

const relatedRows = /"(?:above:parent_id":\{|items!parent_id":\[\{)/

/** Sends generated requests of all callers in random order, and compares the responses. */
export async function compareCaches(comparison: CacheComparison, seed: number, requests: number): Promise<Outcome> {
  const attacks = generatedAttacks(seed)
  const { pick } = seededRandom(seed + 1)
  const conditions = new GeneratedConditions(seededRandom(seed + 2))
  const differences: string[] = []
  const statuses = new Map<number, number>()
  let nested = 0
  let left = requests
  const worker = async (connection: number): Promise<void> => {
    while (left-- > 0 && differences.length < 20) {
      const attack = conditions.of(attacks.next().value)
      const caller = pick(comparison.callers)
      let pair = await comparison.ask(attack, caller, connection)
      for (let time = 0; time < 20 && isDeadlocked(pair); time++)
        pair = await comparison.ask(attack, caller, connection)
      conditions.note(attack, pair[0])
      const [on, off] = pair.map(comparable)
      if (!on || !off) throw new Error('two answers are needed')
      statuses.set(off.status, (statuses.get(off.status) ?? 0) + 1)
      if (off.status === 201 && relatedRows.test(attack.body)) nested++
      if (JSON.stringify(on) !== JSON.stringify(off)) {
        differences.push(JSON.stringify({ caller: caller.name, attack, on, off }))
      }
    }
  }
  await Promise.all(Array.from({ length: connections }, (_, index) => worker(index)))
  const known = comparison.cached().map(([, shape]) => shape)
  return {
    differences,
    statuses,
    plans: known.filter((shape) => shape !== 'uncacheable' && !(shape instanceof ApiError)).length,
    rejections: known.filter((shape) => shape instanceof ApiError).length,
    nested,
  }
}
