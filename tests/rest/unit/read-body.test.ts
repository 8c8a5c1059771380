// Reading a body: the order of its last chunk and its admission, and chunks of one byte.
import type { IncomingMessage } from 'node:http'
import { PassThrough, Readable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import { NodeBodyStream, readNodeBody } from '../../../server/adapters/node-body.ts'
import { errors } from '../../../server/rest/errors.ts'
import { BodyBudget } from '../../../server/rest/request/body-budget.ts'
import { largeBody } from '../../../server/rest/request/body.ts'

/** A request whose body has arrived, without Content-Length: it needs admission from its last chunk on. */
function requestOf(...pieces: number[]): IncomingMessage {
  const stream = new PassThrough()
  for (const size of pieces) stream.write(Buffer.alloc(size, 'a'))
  stream.end()
  return Object.assign(stream, { headers: {} }) as unknown as IncomingMessage
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const budget = new BodyBudget({ limit: 10 * largeBody, maxWait: 1000, exhausted: () => errors.bodyBudget(1) })
const gateOf = (admit: () => Promise<void>) => ({ limit: 10 * largeBody, share: budget.open(), admit })

for (const pieces of [[largeBody + 1], [10, largeBody + 1], [largeBody, 1]]) {
  t.test(`chunks of ${pieces.join(' and ')} bytes`, async (t) => {
    let admit = (): void => undefined
    let isAdmitted = false
    const admission = new Promise<void>((resolve) => (admit = resolve))
    const reading = readNodeBody(
      requestOf(...pieces),
      gateOf(() => admission),
    )
    void reading.then(() => t.ok(isAdmitted, 'the body is complete only after its admission'))
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    isAdmitted = true
    admit()
    t.equal(
      (await reading).length,
      pieces.reduce((sum, size) => sum + size, 0),
    )
    const refused = readNodeBody(
      requestOf(...pieces),
      gateOf(() => Promise.reject(errors.path())),
    )
    await t.rejects(refused, errors.path())
  })
}

t.test('chunks of one byte take no more memory than a body in one piece', async (t) => {
  const size = 400_000
  const stream = Readable.from(bytesOf(size), { objectMode: false })
  const request = Object.assign(stream, { headers: {} }) as unknown as IncomingMessage
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  let used = 0
  stream.on('end', () => {
    collectGarbage()
    used = process.memoryUsage().heapUsed - before
  })
  const body = await readNodeBody(request, { ...gateOf(() => Promise.resolve()), limit: size })
  t.equal(body.length, size)
  t.equal(body.at(-1), (size - 1) % 256)
  t.ok(used < 10 * size, `${used} bytes of heap for ${size} bytes`)
})

t.test('a body that is read piece by piece is joined from small chunks', async (t) => {
  const stream = new PassThrough({ highWaterMark: 1 << 20 })
  for (let index = 0; index < 1000; index++) stream.write(Buffer.of(index % 256))
  stream.end()
  const body = new NodeBodyStream(stream as unknown as IncomingMessage)
  const pieces: Buffer[] = []
  for (let piece = await body.next(); piece; piece = await body.next()) pieces.push(piece)
  t.equal(Buffer.concat(pieces).length, 1000)
  t.ok(pieces.length < 10, `${pieces.length} pieces`)
})

function* bytesOf(size: number): Generator<Buffer> {
  for (let index = 0; index < size; index++) yield Buffer.from([index % 256])
}
