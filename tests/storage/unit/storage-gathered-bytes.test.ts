// The body of an upload, joined to pieces that are worth their cost.
import { PassThrough, Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { gatheredBytes } from '../../../server/services/storage/gathered-bytes.ts'

async function piecesOf(gathered: Readable): Promise<readonly Buffer[]> {
  const pieces: Buffer[] = []
  for await (const piece of gathered) pieces.push(piece as Buffer)
  return pieces
}

t.test('chunks of a byte are joined, in their order', async (t) => {
  const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, n) => n % 251))
  const source = new PassThrough({ highWaterMark: 100_000 })
  for (const byte of bytes) source.write(Buffer.of(byte))
  source.end()
  const pieces = await piecesOf(gatheredBytes(source))
  t.ok(Buffer.concat(pieces).equals(bytes))
  t.ok(pieces.length < 20, `${pieces.length} pieces`)
})

t.test('what comes slowly does not wait for more', async (t) => {
  const source = new PassThrough()
  const gathered = gatheredBytes(source)
  const pieces = gathered[Symbol.asyncIterator]()
  for (const text of ['a', 'b', 'c']) {
    source.write(text)
    t.equal(String((await pieces.next()).value), text)
  }
  source.end()
  t.strictSame(await pieces.next(), { done: true, value: undefined })
})

t.test('large chunks are passed on as they are', async (t) => {
  const chunks = Array.from({ length: 10 }, () => Buffer.alloc(65_536, 'x'))
  const pieces = await piecesOf(gatheredBytes(Readable.from(chunks, { objectMode: false })))
  t.equal(pieces.length, chunks.length)
  t.ok(pieces.every((piece, index) => piece === chunks[index]))
})

t.test('a source is read no faster than the result', async (t) => {
  let made = 0
  const source = new Readable({
    read() {
      made++
      this.push(Buffer.alloc(10_000))
    },
  })
  const gathered = gatheredBytes(source)
  for (let turn = 0; turn < 100; turn++) await nextTurn()
  t.ok(made < 20, `${made} before it is read`)
  const pieces = gathered[Symbol.asyncIterator]()
  for (let count = 0; count < 5; count++) await pieces.next()
  for (let turn = 0; turn < 100; turn++) await nextTurn()
  t.ok(made < 60, `${made} after five pieces`)
  await pieces.return?.()
  t.notOk(source.destroyed, 'the source is left open')
  const before = made
  for (let turn = 0; turn < 100; turn++) await nextTurn()
  t.ok(made - before < 20, 'and not read further')
})

t.test('a source that breaks off', async (t) => {
  const failed = new PassThrough()
  const ofFailed = gatheredBytes(failed)
  failed.write('x')
  failed.destroy(new Error('gone'))
  await t.rejects(buffer(ofFailed), { message: 'gone' })
  const closed = new PassThrough()
  const ofClosed = gatheredBytes(closed)
  closed.write('x')
  closed.destroy()
  await nextTurn()
  await t.rejects(buffer(ofClosed), { message: 'the source ended early' }, 'a reader that comes later hears of it')
  await t.rejects(buffer(gatheredBytes(failed)), { message: 'gone' }, 'before it is gathered')
})

t.test('an empty source', async (t) => {
  t.strictSame(await piecesOf(gatheredBytes(Readable.from([], { objectMode: false }))), [])
})
