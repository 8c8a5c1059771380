// Recycled memory: no owner reads what an earlier one has left, and no two owners share a buffer.
import { Writable } from 'node:stream'
import t from 'tap'
import { BufferPool, pieceSize } from '../../../server/postgres/protocol/buffer-pool.ts'
import { PooledBuffer } from '../../../server/postgres/protocol/pooled-buffer.ts'
import { MessageWriter } from '../../../server/postgres/protocol/message-writer.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

const mebibyte = 1024 * 1024

t.test('sizes are powers of two, up to the largest', (t) => {
  const pool = new BufferPool(mebibyte)
  for (const [wanted, given] of [
    [0, pieceSize],
    [1, pieceSize],
    [pieceSize, pieceSize],
    [pieceSize + 1, 2 * pieceSize],
    [mebibyte, mebibyte],
    [mebibyte + 1, mebibyte + 1],
  ] as const) {
    t.equal(pool.take(wanted).length, given, String(wanted))
  }
  t.end()
})

t.test('what is given back is used again, within the limit', (t) => {
  const pool = new BufferPool(2 * pieceSize)
  const taken = [pool.take(1), pool.take(1), pool.take(1)]
  for (const buffer of taken) pool.giveBack(buffer)
  t.equal(pool.unusedBytes, 2 * pieceSize, 'the third is left to the garbage collector')
  pool.giveBack(Buffer.alloc(10))
  pool.giveBack(Buffer.alloc(2 * mebibyte))
  t.equal(pool.unusedBytes, 2 * pieceSize, 'buffers of other sizes are not kept')
  t.ok(taken.includes(pool.take(100)))
  t.ok(taken.includes(pool.take(100)))
  t.equal(pool.unusedBytes, 0)
  t.end()
})

t.test('owners do not disturb one another', (t) => {
  const random = seededRandom(testSeed(20261122))
  const owned: { readonly buffer: PooledBuffer; readonly expected: Buffer }[] = []
  let wrong = 0
  for (let step = 0; step < 3000; step++) {
    if (owned.length < 40 && random.below(2) === 0) {
      const expected = Buffer.alloc(1 + random.below(3 * pieceSize), random.below(256))
      const split = random.below(expected.length + 1)
      const buffer = PooledBuffer.of(expected.subarray(0, split))
      const added = buffer.append(expected.subarray(split))
      owned.push({ buffer, expected: expected.subarray(0, split + added) })
    } else if (owned.length > 0) {
      const [one] = owned.splice(random.below(owned.length), 1)
      if (!one?.buffer.bytes.equals(one?.expected ?? Buffer.alloc(0))) wrong++
      one?.buffer.free()
      one?.buffer.free()
    }
  }
  t.equal(wrong, 0)
  t.end()
})

t.test('a short piece shows nothing of a longer one before it', async (t) => {
  const secret = PooledBuffer.of(Buffer.alloc(pieceSize, 'secret'))
  secret.free()
  const short = PooledBuffer.of(Buffer.from('short'))
  t.equal(short.bytes.toString(), 'short')
  const read = await PooledBuffer.filledBy(async (memory) => memory.write('read'))
  t.equal(read.bytes.toString(), 'read')
  await t.rejects(
    PooledBuffer.filledBy(async () => Promise.reject(new Error('disk'))),
    { message: 'disk' },
  )
})

t.test('what was written of a message that cannot be written is removed', async (t) => {
  const sent: Buffer[] = []
  const stream = new Writable({
    write: (chunk: Buffer, _, done) => {
      sent.push(Buffer.from(chunk))
      done()
    },
  })
  const writer = new MessageWriter()
  for (const before of [10, 5000, 2 * pieceSize]) {
    writer.bind('', [Buffer.alloc(before, 'a')], [])
    const { mark } = writer
    const values = [Buffer.alloc(3 * pieceSize, 'secret'), 5 as unknown as string]
    t.throws(() => writer.bind('', values, []), { name: 'TypeError', message: /number/ })
    t.throws(() => writer.bind('', new Array<null>(70_000).fill(null), []), RangeError)
    writer.undoTo(mark)
    writer.sync()
    writer.sendTo(stream)
    await new Promise((resolve) => setImmediate(resolve))
    const all = Buffer.concat(sent.splice(0))
    const end = 1 + all.readInt32BE(1)
    t.equal(all.toString('latin1', end), 'S\0\0\0\x04', 'the next message follows the one before')
    t.notMatch(all.toString('latin1'), 'secret')
  }
})

t.test('messages of every size arrive whole, while earlier ones are still being sent', async (t) => {
  const random = seededRandom(testSeed(20261122))
  const sent: Buffer[] = []
  const waiting: (() => void)[] = []
  // Takes the bytes only when it is asked to: memory that is used again too early shows.
  const stream = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _, done) {
      waiting.push(() => {
        sent.push(Buffer.from(chunk))
        done()
      })
    },
  })
  const expected: Buffer[] = []
  const writer = new MessageWriter()
  for (let round = 0; round < 60; round++) {
    const length = [10, 3000, 5000, pieceSize - 20, pieceSize + 20, 300_000, 2 * mebibyte][random.below(7)] ?? 0
    const value = Buffer.alloc(length, 65 + random.below(26))
    writer.bind('', [value], [])
    writer.sendTo(stream)
    expected.push(value)
    if (random.below(3) === 0) waiting.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  while (waiting.length > 0) {
    waiting.shift()?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const all = Buffer.concat(sent)
  let offset = 0
  for (const value of expected) {
    const end = offset + 1 + all.readInt32BE(offset + 1)
    // The value stands before its result formats, of which there are none (two bytes).
    t.ok(all.subarray(end - 2 - value.length, end - 2).equals(value), `${value.length} bytes`)
    offset = end
  }
  t.equal(offset, all.length)
})
