import t from 'tap'
import { JoinedPieces } from '../../../server/common/joined-pieces.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

const joined = (pieces: readonly Uint8Array[]): Buffer => {
  const all = new JoinedPieces()
  for (const piece of pieces) all.add(piece)
  return all.join()
}

t.test('a body of one piece is that piece, however small', (t) => {
  for (const size of [0, 1, 1023, 1024, 100_000]) {
    const piece = Buffer.alloc(size, 'a')
    t.equal(joined([piece]), piece, `${size} bytes`)
  }
  t.end()
})

t.test('other bytes than those of a buffer are copied into one', (t) => {
  const joint = joined([new Uint8Array([1, 2, 3])])
  t.type(joint, Buffer)
  t.strictSame([...joint], [1, 2, 3])
  t.equal(joined([]).length, 0)
  t.end()
})

t.test('pieces of any size are joined in their order, also after they were joined before', (t) => {
  const { below, pick } = seededRandom(testSeed())
  for (let round = 0; round < 100; round++) {
    const all = new JoinedPieces()
    const seen: Buffer[] = []
    for (let number = below(40); number > 0; number--) {
      const piece = Buffer.from(Array.from({ length: pick([0, 1, 100, 1023, 1024, 1025, 20_000]) }, () => below(256)))
      all.add(piece)
      seen.push(piece)
      if (below(5) === 0) t.ok(all.join().equals(Buffer.concat(seen)), `round ${round}, before the end`)
    }
    t.ok(all.join().equals(Buffer.concat(seen)), `round ${round}`)
  }
  t.end()
})

t.test('a wrong number of expected bytes changes nothing, and takes no memory ahead of what arrives', (t) => {
  const pieces = Array.from({ length: 10 }, (_, index) => Buffer.alloc(1000, index))
  const block = 16 * 1024
  for (const [expected, size] of [
    ...[0, 1, block, 2 ** 40, NaN, -1].map((bytes) => [bytes, block] as const),
    [9999, 20_000],
    [10_000, 10_000],
    [10_001, 10_001],
  ] as const) {
    const all = new JoinedPieces(expected)
    for (const piece of pieces) all.add(piece)
    const joint = all.join()
    t.ok(joint.equals(Buffer.concat(pieces)), `${expected} bytes`)
    t.equal(joint.buffer.byteLength, size)
  }
  t.end()
})

t.test('many small pieces take a block, not a buffer each', (t) => {
  const pieces = Array.from({ length: 16 }, (_, index) => Buffer.from([index]))
  const joint = joined(pieces)
  t.equal(joint.buffer.byteLength, 16 * 1024)
  t.strictSame(
    [...joint],
    Array.from({ length: 16 }, (_, index) => index),
  )
  t.end()
})
