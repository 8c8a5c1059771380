import t from 'tap'
import { SecondChanceCache } from '../../../server/common/second-chance-cache.ts'

/** More than the entries of these tests have. */
const bytes = 1_000_000

t.test('keeps entries that are used', async (t) => {
  let evictions = 0
  const cache = new SecondChanceCache<string>({ entries: 3, bytes }, () => {
    evictions += 1
  })
  // The operation, and the contents of the cache after it.
  const steps: readonly [string, string][] = [
    ['add a', 'a'],
    ['add b', 'ab'],
    ['add c', 'abc'],
    ['get a', 'abc'],
    ['get x', 'abc'],
    ['add d', 'acd'], // a was used, so it is moved behind c, and b is evicted
    ['add e', 'ade'],
    ['add f', 'def'], // a has no second chance left
    ['get d', 'def'],
    ['get e', 'def'],
    ['get f', 'def'],
    ['add g', 'efg'], // all were used: a whole round, then the oldest is evicted
    ['add e', 'efg'], // exists already
    ['add h', 'fgh'],
  ]
  const held = new Set<string>()
  for (const [step, expected] of steps) {
    const [verb, key = ''] = step.split(' ')
    if (verb === 'add') {
      cache.add(key, step, 10)
      held.add(key)
    } else t.equal(cache.get(key) !== undefined, held.has(key), step)
    for (const known of held) if (!expected.includes(known)) held.delete(known)
    t.equal([...held].sort().join(''), expected, step)
    t.equal(cache.size, expected.length, `${step}: size`)
  }
  t.equal(evictions, 5)
  t.strictSame(
    [...'abcdefgh'].map((key) => cache.get(key)),
    [undefined, undefined, undefined, undefined, undefined, 'add f', 'add g', 'add h'],
  )
})

t.test('never exceeds its limit', async (t) => {
  const cache = new SecondChanceCache<string>({ entries: 16, bytes })
  let random = 1
  for (let step = 0; step < 20_000; step++) {
    random = (random * 48_271) % 2_147_483_647
    const key = String(random % 40)
    if (cache.get(key) === undefined) cache.add(key, key, 10)
    if (cache.get(key) !== key) t.fail(`lost ${key} at once`)
    if (cache.size > 16) t.fail('too many entries')
  }
  t.equal(cache.size, 16)
})

t.test('a new working set replaces an old one', async (t) => {
  const cache = new SecondChanceCache<string>({ entries: 100, bytes })
  const hitsOf = (name: string): number => {
    let hits = 0
    for (let index = 0; index < 80; index++) {
      const key = `${name}${index}`
      if (cache.get(key) === undefined) cache.add(key, key, 10)
      else hits++
    }
    return hits
  }
  t.strictSame([hitsOf('a'), hitsOf('a'), hitsOf('a')], [0, 80, 80])
  hitsOf('b')
  hitsOf('b')
  t.strictSame([hitsOf('b'), hitsOf('b')], [80, 80])
})

t.test('limits of one and zero', async (t) => {
  const cache = new SecondChanceCache<string>({ entries: 1, bytes })
  cache.add('a', '1', 10)
  cache.get('a')
  cache.add('b', '2', 10)
  t.strictSame([cache.get('a'), cache.get('b'), cache.size], [undefined, '2', 1])
  const none = new SecondChanceCache<string>({ entries: 0, bytes })
  none.add('a', '1', 10)
  t.strictSame([none.get('a'), none.size], [undefined, 0])
})

t.test('never exceeds its bytes', async (t) => {
  const cache = new SecondChanceCache<string>({ entries: 1_000, bytes: 10_000 })
  let random = 1
  for (let step = 0; step < 5_000; step++) {
    random = (random * 48_271) % 2_147_483_647
    const key = String(random % 400)
    if (cache.get(key) === undefined) cache.add(key, key, random % 3_000)
    if (cache.get(key) !== key) t.fail(`lost ${key} at once`)
    if (cache.bytes > 10_000) t.fail('too many bytes')
  }
  t.ok(cache.size > 0 && cache.size < 50, `${cache.size} entries`)
  cache.add('large', 'large', 10_000)
  t.equal(cache.get('large'), undefined, 'an entry that is larger than the cache')
  t.ok(cache.size > 0, 'does not evict others')
})

t.test('long keys are hashed', async (t) => {
  const cache = new SecondChanceCache<number>({ entries: 10, bytes: 10_000 })
  const long = 'k'.repeat(1_000_000)
  cache.add(`${long}1`, 1, 0)
  cache.add(`${long}2`, 2, 0)
  t.strictSame([cache.get(`${long}1`), cache.get(`${long}2`), cache.get(`${long}3`)], [1, 2, undefined])
  t.ok(cache.bytes < 1_000, `${cache.bytes} bytes`)
})
