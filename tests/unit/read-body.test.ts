// Reading a body: the order of its last chunk and its admission.
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { readNodeBody } from '../../server/adapters/node-body.ts'
import { errors } from '../../server/rest/errors.ts'
import { BodyBudget } from '../../server/rest/request/body-budget.ts'
import { largeBody } from '../../server/rest/request/body.ts'

/** A request whose body has arrived, without Content-Length: it needs admission from its last chunk on. */
function requestOf(...pieces: number[]): IncomingMessage {
  const stream = new PassThrough()
  for (const size of pieces) stream.write(Buffer.alloc(size, 'a'))
  stream.end()
  return Object.assign(stream, { headers: {} }) as unknown as IncomingMessage
}

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
