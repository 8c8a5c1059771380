// The buffer in which the parts of an upload to S3 are collected.
import { randomBytes } from 'node:crypto'
import t from 'tap'
import { PartBuffer } from '../../../server/services/storage/backends/part-buffer.ts'

t.test('it takes what fits, and returns the rest', async (t) => {
  const part = new PartBuffer(100_000)
  t.equal(part.bytes.length, 0)
  const bytes = randomBytes(250_000)
  const cut: Buffer[] = []
  for (let at = 0; at < bytes.length; at += 30_001) {
    let rest = part.add(bytes.subarray(at, at + 30_001))
    while (rest.length > 0) {
      t.equal(part.bytes.length, 100_000, 'full')
      cut.push(Buffer.from(part.bytes))
      part.clear()
      rest = part.add(rest)
    }
  }
  t.ok(Buffer.concat([...cut, part.bytes]).equals(bytes))
  t.equal(cut.length, 2)
})

t.test('its memory grows with its content, and is reused', async (t) => {
  const maxBytes = 5 * 1024 * 1024
  const part = new PartBuffer(maxBytes)
  part.add(randomBytes(10))
  t.equal(part.bytes.buffer.byteLength, 16 * 1024, 'small for a small object')
  part.add(randomBytes(maxBytes))
  const { buffer } = part.bytes
  t.equal(buffer.byteLength, maxBytes)
  for (let count = 0; count < 3; count++) {
    part.clear()
    part.add(randomBytes(maxBytes))
    t.equal(part.bytes.buffer, buffer)
  }
})

t.test('a chunk that fills it to the byte leaves no rest', async (t) => {
  const part = new PartBuffer(10)
  t.equal(part.add(randomBytes(10)).length, 0)
  t.equal(part.add(randomBytes(1)).length, 1)
  t.equal(part.add(Buffer.alloc(0)).length, 0)
})
