import t from 'tap'
import { SecondChanceCache } from '../../server/common/second-chance-cache.ts'

t.test('keeps entries that are used', async (t) => {
  let evictions = 0
  const cache = new SecondChanceCache<string>(3, () => {
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
      cache.add(key, step)
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
  const cache = new SecondChanceCache<string>(16)
  let random = 1
  for (let step = 0; step < 20_000; step++) {
    random = (random * 48_271) % 2_147_483_647
    const key = String(random % 40)
    if (cache.get(key) === undefined) cache.add(key, key)
    if (cache.get(key) !== key) t.fail(`lost ${key} at once`)
    if (cache.size > 16) t.fail('too many entries')
  }
  t.equal(cache.size, 16)
})

t.test('a new working set replaces an old one', async (t) => {
  const cache = new SecondChanceCache<string>(100)
  const hitsOf = (name: string): number => {
    let hits = 0
    for (let index = 0; index < 80; index++) {
      const key = `${name}${index}`
      if (cache.get(key) === undefined) cache.add(key, key)
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
  const cache = new SecondChanceCache<string>(1)
  cache.add('a', '1')
  cache.get('a')
  cache.add('b', '2')
  t.strictSame([cache.get('a'), cache.get('b'), cache.size], [undefined, '2', 1])
  const none = new SecondChanceCache<string>(0)
  none.add('a', '1')
  t.strictSame([none.get('a'), none.size], [undefined, 0])
})
