import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { freeBuffer } from '../../../server/common/free-buffer.ts'

t.test('frees the memory of a whole buffer', async (t) => {
  const buffer = Buffer.allocUnsafeSlow(64 * 1024)
  const other = new Uint8Array(buffer.buffer)
  freeBuffer(buffer)
  t.equal(buffer.length, 0)
  t.equal(other.length, 0)
  t.doesNotThrow(() => freeBuffer(buffer), 'once more')
})

t.test('leaves parts of a larger memory, and small buffers', async (t) => {
  const memory = Buffer.alloc(128 * 1024, 'a')
  for (const part of [memory.subarray(0, 64 * 1024), memory.subarray(64 * 1024), memory.subarray(1)]) {
    freeBuffer(part)
  }
  t.equal(memory.length, 128 * 1024)
  t.ok(memory.equals(Buffer.alloc(128 * 1024, 'a')))
  const small = Buffer.from('small')
  freeBuffer(small)
  t.equal(small.toString(), 'small')
})

t.test('needs no garbage collection', async (t) => {
  // The port of the module is closed by then.
  await setTimeout(50)
  const before = process.memoryUsage().arrayBuffers
  // A gigabyte: were it kept, the process would need it.
  let peak = 0
  for (let index = 0; index < 1024; index++) {
    freeBuffer(Buffer.alloc(1024 * 1024))
    peak = Math.max(peak, process.memoryUsage().arrayBuffers - before)
  }
  t.ok(peak < 4 * 1024 * 1024, `at most ${peak} bytes at a time`)
})
