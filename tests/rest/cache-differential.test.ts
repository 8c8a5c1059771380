// A service with caches responds like one without, to several callers and to requests that imitate others.
// `SEED=` repeats a run; the long run is `tests/chaos/caches.chaos.ts`.
import t from 'tap'
import { ApiError } from '../../server/rest/errors.ts'
import { comparable, compareCaches, startCacheComparison } from '../support/cache-comparison.ts'
import type { Attack, Header } from '../support/generated-attacks.ts'
import { testSeed } from '../support/seeded-random.ts'

// Takes minutes on a loaded machine.
const comparison = await startCacheComparison(t)
const [anonymous, ann] = comparison.callers
if (!ann) throw new Error('a caller is missing')

const attack = (method: string, query: readonly string[], headers: readonly Header[] = []): Attack => ({
  method,
  path: '/items',
  query,
  headers,
  body: '',
})

t.test('a part of the query is not mistaken for a header', async (t) => {
  const full: Header = ['Prefer', 'return=representation']
  const rows: readonly (readonly [title: string, attacks: readonly Attack[], victim: Attack])[] = [
    [
      'Content-Profile, of a delete',
      [attack('DELETE', ['id=eq.§1', 'content-profile:archive'], [full])],
      attack('DELETE', ['id=eq.3'], [['Content-Profile', 'archive'], full]),
    ],
    [
      'Content-Profile, the other way round',
      [attack('DELETE', ['id=eq.3'], [['Content-Profile', 'archive'], full])],
      attack('DELETE', ['id=eq.3', 'content-profile:archive'], [full]),
    ],
    ['Range', [attack('GET', ['range:0-1'])], attack('GET', [], [['Range', '0-1']])],
    ['Prefer', [attack('GET', ['prefer:count=exact'])], attack('GET', [], [['Prefer', 'count=exact']])],
    ['Accept', [attack('GET', ['accept:text/csv'])], attack('GET', [], [['Accept', 'text/csv']])],
    [
      'two headers',
      [attack('GET', ['accept:text/csv', 'range:0-1'])],
      attack(
        'GET',
        [],
        [
          ['Accept', 'text/csv'],
          ['Range', '0-1'],
        ],
      ),
    ],
    [
      'a value after a filter',
      [attack('GET', ['id=eq.', '', 'range:0-1'])],
      attack('GET', ['id=eq.3'], [['Range', '0-1']]),
    ],
  ]
  for (const [title, attacks, victim] of rows) {
    for (const hostile of attacks) {
      const query = hostile.query.map((part) => part.replace('§', ''))
      for (let time = 0; time < 3; time++) await comparison.ask({ ...hostile, query }, anonymous)
    }
    const [on, off] = await comparison.ask(victim, ann)
    t.strictSame(comparable(on), comparable(off), title)
  }
})

t.test('the rejection of a request without a body does not apply to requests with one', async (t) => {
  const full: Header = ['Prefer', 'return=representation']
  for (const method of ['POST', 'PATCH']) {
    const query = method === 'PATCH' ? ['id=eq.1'] : []
    for (let time = 0; time < 3; time++) {
      const [on, off] = await comparison.ask(attack(method, query, [full]), anonymous)
      t.equal(on.status, 400)
      t.strictSame(comparable(on), comparable(off))
    }
    for (const body of ['{"nothing":1}', '{', '{"name":"other"}', '{"name":"other"}', ' {"name":"other"}']) {
      const [on, off] = await comparison.ask({ ...attack(method, query, [full]), body }, ann)
      t.strictSame(comparable(on), comparable(off), `${method} ${body}`)
    }
  }
})

t.test('rejected bodies do not keep a request shape out of the cache', async (t) => {
  const insert = { ...attack('PATCH', ['id=eq.2', 'owner=is.null'], [['Prefer', 'return=representation']]) }
  for (let time = 0; time < 4; time++) await comparison.ask({ ...insert, body: '{"nothing":1}' }, anonymous)
  const before = comparison.cached().length
  for (let time = 0; time < 3; time++) await comparison.ask({ ...insert, body: '{"name":"other"}' }, ann)
  const added = comparison.cached().slice(before)
  t.equal(added.length, 1)
  t.match(added[0]?.[1], { plan: { kind: 'mutate' } })
})

t.test('text that is no cursor is not mistaken for an invalid one', async (t) => {
  for (const values of [
    ['x', 'x', 'x', '', 'a%20b', '%41'],
    ['', '', '', 'x', '%41', 'a%20b'],
  ]) {
    for (const value of values) {
      const call = { ...attack('GET', ['a=1', 'b=2', `cursor=${value}`]), path: '/rpc/add' }
      const [on, off] = await comparison.ask(call, anonymous)
      t.strictSame(comparable(on), comparable(off), `cursor=${value}`)
    }
  }
})

const requests = Number(process.env.REQUESTS ?? 4_000)
const seed = testSeed(20_261_124)

t.test(`${requests} generated requests, SEED=${seed}`, async (t) => {
  const { differences, statuses, plans, rejections, nested } = await compareCaches(comparison, seed, requests)
  t.equal(differences.length, 0, differences[0] ?? 'all responses are equal')
  t.comment(JSON.stringify({ statuses: [...statuses].sort(), plans, rejections, nested }))
  t.ok(plans > 50 && rejections > 20, 'many plans and many rejections are cached')
  t.ok(nested > 5, 'related rows are written')
  for (const status of [200, 201, 204, 206, 304, 400, 401, 404, 405, 406, 412])
    t.ok(statuses.has(status), String(status))
})

/** The direct children of a value: members of an object, keys and values of a map. */
function partsOf(value: object): unknown[] {
  const members: unknown[] = Reflect.ownKeys(value).map((key) => Reflect.get(value, key) as unknown)
  if (value instanceof Map) for (const entry of value as Map<unknown, unknown>) members.push(...entry)
  if (value instanceof Set) for (const element of value as Set<unknown>) members.push(element)
  return members
}

/** All strings in a value, at any depth. */
function* textsIn(value: unknown, seen = new Set<unknown>()): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Buffer.isBuffer(value)) yield value.toString('latin1')
  else if (typeof value === 'object' && value !== null && !seen.has(value)) {
    seen.add(value)
    for (const part of partsOf(value)) yield* textsIn(part, seen)
  }
}

t.test('a cache entry contains no data of a caller', async (t) => {
  const needle = 'needle-of-a-request'
  const shapes: readonly Attack[] = [
    attack('GET', [`name=eq.${needle}`, `id=gt.1`]),
    attack('GET', [`name=like.${needle}*`]),
    attack('GET', [`name=in.(a,${needle})`]),
    attack('GET', [`name=in.("${needle}")`]),
    attack('GET', [`name=wfts(english).${needle}`]),
    attack('GET', [`or=(name.eq.${needle},and(id.gt.1,name.ilike.${needle}))`]),
    attack('GET', [`or=(name.eq."${needle}",id.eq.1)`]),
    attack('GET', [`name=equals.${needle}`]),
    attack('GET', [`name=${needle}`]),
    attack('GET', [`name=eq.${needle}`, 'select=id,']),
    { ...attack('GET', [`who=${needle}`]), path: '/rpc/items_of' },
    { ...attack('POST', ['select=id']), body: `{"id":50,"name":"${needle}"}` },
    { ...attack('PATCH', ['id=eq.1']), body: `{"name":"${needle}"}` },
    { ...attack('POST', ['columns=id,name']), body: `[{"id":50,"name":"${needle}"}]` },
    { ...attack('POST', []), path: '/rpc/items_of', body: `{"who":"${needle}"}` },
  ]
  for (const shape of shapes) for (let time = 0; time < 3; time++) await comparison.ask(shape, ann)
  const entries = comparison.cached()
  t.ok(entries.some(([key]) => key.includes('items_of')))
  t.ok(entries.some(([, shape]) => shape instanceof ApiError))
  const secrets = [...comparison.secrets, needle]
  const found = entries.filter((entry) => [...textsIn(entry)].some((text) => secrets.some((one) => text.includes(one))))
  t.strictSame(
    found.map(([key]) => key),
    [],
  )
})
