// Slots of imports: shares of users, and senders that stall.
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import type { Caller } from '../../../server/rest/database.ts'
import { ImportSlots } from '../../../server/rest/extensions/imports/import-slots.ts'

const present: Caller = { isGone: false, onGone: () => () => undefined }
const never = (): Promise<undefined> => new Promise(() => undefined)
const large = Buffer.alloc(64 * 1024)

t.test('one user gets half of the slots', async (t) => {
  const slots = new ImportSlots({ slots: 5, maxWait: 20 })
  const taken = await Promise.all(['ann', 'ann', 'ann', 'bob'].map((owner) => slots.take(present, owner)))
  await t.rejects(slots.take(present, 'ann'), { status: 429, code: 'PGRSTX70', headers: [['Retry-After', '1']] })
  const last = await slots.take(present, 'bob')
  await t.rejects(slots.take(present, 'cid'), { status: 503, code: 'PGRSTX70' })
  t.equal(slots.used, 5)
  for (const slot of [...taken, last, last]) slot.release()
  t.equal(slots.used, 0)
})

t.test('a slot passes to the first import that may have it', async (t) => {
  const slots = new ImportSlots({ slots: 2, maxWait: 10_000 })
  const ann = await slots.take(present, 'ann')
  const bob = await slots.take(present, 'bob')
  const order: string[] = []
  const waiting = ['ann', 'cid', 'bob'].map(async (owner) => {
    const slot = await slots.take(present, owner)
    order.push(owner)
    return slot
  })
  bob.release()
  ;(await waiting[1])?.release()
  ;(await waiting[2])?.release()
  t.strictSame(order, ['cid', 'bob'], 'not to a user that has its share')
  ann.release()
  ;(await waiting[0])?.release()
  t.equal(slots.used, 0)
})

t.test('a sender that stalls loses its slot when another import waits', async (t) => {
  const slots = new ImportSlots({ slots: 1, maxWait: 60_000, patience: 50 })
  const stalling = await slots.take(present, 'ann')
  const received = stalling.receive(never)
  const isSettled = await Promise.race([received.then(() => true), pause(200, false)])
  t.equal(isSettled, false, 'it may stall while no other import waits')
  const waiting = slots.take(present, 'bob')
  const stalled = {
    status: 408,
    code: 'PGRSTX76',
    headers: [
      ['Retry-After', '1'],
      ['Connection', 'close'],
    ],
  }
  await t.rejects(received, stalled)
  stalling.release()
  const next = await waiting
  t.equal(await next.receive(() => Promise.resolve(large)), large)
  t.equal(await next.receive(() => Promise.resolve(undefined)), undefined, 'the end')
  next.release()
})

t.test('a sender of few bytes loses its slot, too, and a fast one does not', async (t) => {
  const slots = new ImportSlots({ slots: 1, maxWait: 60_000, patience: 100 })
  const slot = await slots.take(present, 'ann')
  const waiting = slots.take(present, 'ann')
  const after = (time: number, piece: Buffer) => () => pause(time, piece)
  // In total, the sender takes more time than it has for one fair piece.
  for (let piece = 0; piece < 10; piece++) await slot.receive(after(20, large))
  let pieces = 0
  const trickle = async (): Promise<void> => {
    for (; pieces < 1000; pieces++) await slot.receive(after(20, large.subarray(0, 1)))
  }
  await t.rejects(trickle(), { status: 408, code: 'PGRSTX76' })
  t.ok(pieces < 50, `${pieces} pieces`)
  slot.release()
  ;(await waiting).release()
})

t.test('a caller that is gone waits no longer', async (t) => {
  const slots = new ImportSlots({ slots: 1, maxWait: 60_000 })
  const slot = await slots.take(present, 'ann')
  let leave = (): void => undefined
  const leaving: Caller = { isGone: false, onGone: (listener) => ((leave = listener), () => undefined) }
  const waiting = slots.take(leaving, 'bob')
  leave()
  await t.rejects(waiting)
  slot.release()
  t.equal(slots.used, 0)
})
