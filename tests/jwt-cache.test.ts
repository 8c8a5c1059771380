import t from 'tap'
import { SieveCache } from '../server/identity/jwt-cache.ts'

t.test('keeps what was asked for again', async (t) => {
  let evictions = 0
  const cache = new SieveCache<number>(3, () => {
    evictions += 1
  })
  // What is done, and what is in the cache then.
  const steps: readonly [string, string][] = [
    ['add a', 'a'],
    ['add b', 'ab'],
    ['add c', 'abc'],
    ['get a', 'abc'],
    ['add d', 'acd'], // a is marked, so b goes; the hand stays at c
    ['add e', 'ade'],
    ['get a', 'ade'],
    ['get d', 'ade'],
    ['get e', 'ade'],
    ['add f', 'aef'], // every mark is cleared on a whole round, and the hand is at d again
    ['add a', 'aef'], // known already
    ['add g', 'afg'],
  ]
  const held = new Set<string>()
  for (const [step, expected] of steps) {
    const [verb, key = ''] = step.split(' ')
    if (verb === 'add') {
      cache.add(key, 1)
      held.add(key)
    } else cache.get(key)
    t.equal(cache.size, expected.length, `${step}: size`)
    for (const known of held) {
      if (!expected.includes(known)) held.delete(known)
    }
    t.equal([...held].sort().join(''), expected, step)
  }
  t.equal(evictions, 4)
  const present = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].filter((key) => cache.get(key) !== undefined)
  t.strictSame(present, ['a', 'f', 'g'])
})

t.test('stays within its limit whatever is asked', async (t) => {
  const cache = new SieveCache<number>(16)
  let random = 1
  for (let step = 0; step < 20_000; step++) {
    random = (random * 48_271) % 2_147_483_647
    const key = String(random % 40)
    if (cache.get(key) === undefined) cache.add(key, Number(key))
    if (cache.get(key) !== Number(key)) t.fail(`lost ${key} at once`)
    if (cache.size > 16) t.fail('too many entries')
  }
  t.equal(cache.size, 16)
})

t.test('a limit of none holds nothing', async (t) => {
  const cache = new SieveCache<number>(0)
  cache.add('a', 1)
  t.equal(cache.get('a'), undefined)
})

t.test('a limit of one', async (t) => {
  const cache = new SieveCache<number>(1)
  cache.add('a', 1)
  cache.get('a')
  cache.add('b', 2)
  t.strictSame([cache.get('a'), cache.get('b'), cache.size], [undefined, 2, 1])
})
