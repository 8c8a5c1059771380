// Large responses to slow clients: buffered in memory or in a file while requests wait for the connection.
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { StreamedField } from '../../../server/postgres/protocol/streamed-field.ts'
import { PooledBuffer } from '../../../server/postgres/protocol/pooled-buffer.ts'
import { SpillFile } from '../../../server/postgres/protocol/spill-file.ts'
import { SpillSpace } from '../../../server/postgres/protocol/spill-space.ts'
import { StreamRelief } from '../../../server/postgres/protocol/stream-relief.ts'
import { until } from '../../support/until.ts'

const mebibyte = 1024 ** 2
const hashOf = (...pieces: Buffer[]): string => {
  const hash = createHash('sha256')
  for (const piece of pieces) hash.update(piece)
  return hash.digest('hex')
}

/** A reader that takes nothing until it is allowed to; then everything, or a number of bytes. */
class SlowReader extends Writable {
  readonly #hash = createHash('sha256')
  received = 0
  #allowed = 0
  #taking: (() => void) | undefined

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.#taking = (): void => {
      this.#taking = undefined
      this.#allowed -= chunk.length
      this.received += chunk.length
      this.#hash.update(chunk)
      // Asynchronously, like a socket.
      setImmediate(done)
    }
    if (this.#allowed > 0) this.#taking()
  }

  allow(bytes: number): void {
    this.#allowed += bytes
    if (this.#allowed > 0) this.#taking?.()
  }

  digest(): string {
    return this.#hash.digest('hex')
  }
}

type Source = {
  readonly field: StreamedField
  readonly value: Buffer
  /** Resolves when everything has been pushed. */
  readonly arrived: Promise<void>
  readonly isPaused: () => boolean
}

/** A field that arrives in chunks unless it is paused, from a database that is always faster than the reader. */
function streamed(length: number, piece = 64 * 1024): Source {
  const value = randomBytes(length)
  let isPaused = false
  let wake = (): void => undefined
  const field = new StreamedField(length, {
    pause: () => (isPaused = true),
    resume: () => {
      isPaused = false
      wake()
    },
  })
  const send = async (): Promise<void> => {
    for (let offset = 0; offset < length; offset += piece) {
      if (isPaused) await new Promise<void>((resolve) => (wake = resolve))
      field.push(value.subarray(offset, Math.min(offset + piece, length)))
      await new Promise(setImmediate)
    }
    field.end()
  }
  return { field, value, arrived: send(), isPaused: () => isPaused }
}

const closed = (reader: Writable): Promise<void> => new Promise((resolve) => reader.once('close', resolve))
const isFreed = (space: SpillSpace): Promise<boolean> => until(() => space.memory.used + space.disk.used === 0)

for (const [where, memory, disk] of [
  ['memory', 64, 0],
  ['a file', 0, 64],
  ['both', 4, 64],
] as const) {
  t.test(`a buffered response is kept in ${where} and sent completely`, async (t) => {
    const space = new SpillSpace(memory * mebibyte, disk * mebibyte)
    const { field, value, arrived, isPaused } = streamed(24 * mebibyte, 50_000)
    const reader = new SlowReader()
    field.sendTo(reader)
    t.ok(await until(isPaused), 'while no request waits, the database does')
    t.equal(space.memory.used + space.disk.used, 0)
    field.spillTo(space)
    await arrived
    t.ok(space.memory.used <= memory * mebibyte)
    t.ok(await until(() => space.memory.used + space.disk.used > 22 * mebibyte))
    const end = closed(reader)
    reader.allow(Infinity)
    await end
    t.equal(reader.received, value.length)
    t.equal(reader.digest(), hashOf(value), 'the same bytes')
    t.ok(await isFreed(space), 'no memory is in use')
  })
}

t.test('a reader that continues slowly in the meantime gets the same bytes', async (t) => {
  const space = new SpillSpace(mebibyte, 64 * mebibyte)
  const { field, value, arrived } = streamed(16 * mebibyte, 33_333)
  const reader = new SlowReader()
  field.sendTo(reader)
  const end = closed(reader)
  const timer = setInterval(() => reader.allow(400_000), 2)
  t.ok(await until(() => reader.received > 0))
  field.spillTo(space)
  await arrived
  await end
  clearInterval(timer)
  t.equal(reader.digest(), hashOf(value))
  t.ok(await isFreed(space))
})

t.test('a reader that disconnects frees memory and file', async (t) => {
  const space = new SpillSpace(2 * mebibyte, 64 * mebibyte)
  const { field, arrived, isPaused } = streamed(20 * mebibyte)
  const reader = new SlowReader()
  field.sendTo(reader)
  t.ok(await until(isPaused))
  field.spillTo(space)
  t.ok(await until(() => space.disk.used > 0))
  reader.destroy()
  await arrived
  t.ok(await isFreed(space))
})

t.test(
  'without space, the database is paused; the slowest reader is disconnected after others have waited for long',
  async (t) => {
    const space = new SpillSpace(mebibyte, mebibyte)
    let since: number | undefined
    const relief = new StreamRelief(space, () => since)
    const [slow, slower] = [streamed(32 * mebibyte), streamed(32 * mebibyte)]
    const [reader, idle] = [new SlowReader(), new SlowReader()]
    slow.field.sendTo(reader)
    slower.field.sendTo(idle)
    const timer = setInterval(() => reader.allow(100_000), 50)
    t.teardown(() => clearInterval(timer))
    relief.add(slow.field)
    relief.add(slower.field)
    t.ok(await until(() => slow.isPaused() && slower.isPaused()))
    since = performance.now()
    relief.begin()
    await closed(idle)
    t.ok(performance.now() - since > 1000, 'not at once')
    t.notOk(reader.destroyed, 'the faster reader continues')
    since = undefined
    await slower.arrived
    clearInterval(timer)
    const end = closed(reader)
    reader.allow(Infinity)
    await end
    t.equal(reader.digest(), hashOf(slow.value))
    t.ok(await isFreed(space))
  },
)

t.test('readers that keep up are not disconnected, however long others wait', async (t) => {
  const space = new SpillSpace(64 * mebibyte, 0)
  const since = performance.now() - 60_000
  const relief = new StreamRelief(space, () => since)
  const { field, value, arrived } = streamed(24 * mebibyte)
  const reader = new SlowReader()
  reader.allow(Infinity)
  field.sendTo(reader)
  relief.add(field)
  const end = closed(reader)
  await arrived
  await end
  t.equal(reader.digest(), hashOf(value))
})

t.test('responses that have arrived completely count, too', async (t) => {
  const space = new SpillSpace(2 * mebibyte, 64 * mebibyte)
  const relief = new StreamRelief(space, () => undefined)
  const { field, value, arrived } = streamed(6 * mebibyte)
  const reader = new SlowReader()
  field.sendTo(reader)
  relief.add(field)
  await arrived
  t.equal(space.memory.used, 2 * mebibyte)
  const end = closed(reader)
  reader.allow(Infinity)
  await end
  t.equal(reader.digest(), hashOf(value))
  t.ok(await isFreed(space))
})

for (const [where, memory, disk, kept] of [
  ['there is no space', 0, 0, 4],
  ['the space is used up', 40, 8, 5],
] as const) {
  t.test(`memory is bounded for any number of slow readers: ${where}`, async (t) => {
    const space = new SpillSpace(memory * mebibyte, disk * mebibyte)
    const relief = new StreamRelief(space, () => undefined)
    const limit = Math.max(memory, 32) * mebibyte
    const readers: SlowReader[] = []
    const values: Buffer[] = []
    for (let number = 0; number < 20; number++) {
      const { field, value, arrived } = streamed(7 * mebibyte)
      const reader = new SlowReader()
      // Later readers are faster.
      reader.allow(number * 100_000)
      readers.push(reader)
      values.push(value)
      field.sendTo(reader)
      relief.add(field)
      await arrived
      t.ok(relief.unplacedBytes <= limit, `${number}: ${relief.unplacedBytes} bytes`)
    }
    t.ok(relief.unplacedBytes > limit - 8 * mebibyte, 'the limit is used')
    const left = readers.flatMap((reader, number) => (reader.destroyed ? [] : [number]))
    t.ok(left.length >= kept && left.length < 20, `${left.join()} remain`)
    t.strictSame(left.slice(-3), [17, 18, 19], 'the slowest are disconnected')
    for (const number of left) {
      const reader = readers[number]
      const value = values[number]
      if (!reader || !value) continue
      const end = closed(reader)
      reader.allow(Infinity)
      await end
      t.equal(reader.digest(), hashOf(value), 'the others get everything')
    }
    t.equal(relief.unplacedBytes, 0)
    t.ok(await isFreed(space))
  })
}

t.test('a failing transaction breaks off the response', async (t) => {
  const field = new StreamedField(100, { pause: () => undefined, resume: () => undefined })
  const reader = new SlowReader()
  const failed = new Promise((resolve) => reader.once('error', resolve))
  field.sendTo(reader)
  field.push(Buffer.alloc(50))
  field.end(new Error('too late'))
  t.match(await failed, { message: 'too late' })
})

const pooledBuffers = (count: number): PooledBuffer[] =>
  Array.from({ length: count }, () => PooledBuffer.of(randomBytes(64 * 1024)))

async function readAll(file: SpillFile): Promise<Buffer[]> {
  const pieces: Buffer[] = []
  while (!file.isEmpty) {
    const pooled = await file.take()
    if (pooled) pieces.push(Buffer.from(pooled.bytes))
    else await pause(1)
  }
  return pieces
}

t.test('the temporary file has no name, and is deleted with the response', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'spill-test-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const space = new SpillSpace(0, mebibyte)
  const file = new SpillFile({ space, folder, onProgress: () => undefined })
  const all = pooledBuffers(16)
  const expected = hashOf(...all.map(({ bytes }) => bytes))
  for (const pooled of all) file.append(pooled)
  while (file.unwrittenBytes > 0) await pause(1)
  t.strictSame(await readdir(folder), [])
  t.equal(space.disk.used, mebibyte)
  t.equal(hashOf(...(await readAll(file))), expected)
  file.close()
  t.equal(space.disk.used, 0)
})

t.test('data that cannot be written stays in memory, in order', async (t) => {
  for (const [fault, folder, disk] of [
    ['no such folder', '/nowhere/at/all', 64],
    ['a full disk', tmpdir(), 1],
  ] as const) {
    const space = new SpillSpace(0, disk * mebibyte)
    let attempts = 0
    const file = new SpillFile({ space, folder, onProgress: () => attempts++ })
    const all = pooledBuffers(40)
    const expected = hashOf(...all.map(({ bytes }) => bytes))
    for (const pooled of all) file.append(pooled)
    t.ok(await until(() => attempts > 0), `${fault}: tried`)
    t.ok(file.unwrittenBytes >= 24 * 64 * 1024, fault)
    t.equal(hashOf(...(await readAll(file))), expected, fault)
    file.close()
    t.equal(space.disk.used, 0, fault)
  }
})

t.test('a body that is complete does not hold up what follows on its connection', (t) => {
  const space = new SpillSpace(0, 100 * 1024 * 1024)
  const calls: string[] = []
  const flow = { pause: () => calls.push('pause'), resume: () => calls.push('resume') }
  const field = StreamedField.collected([], { space, flow, onFull: undefined })
  for (let time = 0; time < 100; time++) field.push(Buffer.alloc(64 * 1024))
  t.strictSame(calls, ['pause'], 'more waits to be written than may')
  field.end()
  t.strictSame(calls, ['pause', 'resume'])
  field.drop()
  t.end()
})
