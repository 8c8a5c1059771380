// What follows an attempt to deliver a call.
import t from 'tap'
import { OutgoingError } from '../../../server/services/outgoing/outgoing-error.ts'
import { afterError, afterResponse } from '../../../server/services/webhooks/retry-plan.ts'

const limits = { webhooksMaxAttempts: 20, webhooksMaxPause: 14_400 }
const hook = (attempt = 1) => ({ attempt, retries: true })
const once = { attempt: 1, retries: false }

t.test('2xx is a delivery, 410 asks for no more, and others are repeated', (t) => {
  for (const status of [200, 201, 202, 204, 299]) {
    t.strictSame(afterResponse(hook(), { status, headers: {} }, limits), { state: 'delivered' })
  }
  for (const status of [100, 199, 300, 304, 400, 401, 404, 429, 500, 503, 599]) {
    const after = afterResponse(hook(), { status, headers: {} }, limits)
    t.match(after, { state: 'waiting', error: new RegExp(`^the receiver responded with ${status}( |$)`) })
  }
  t.strictSame(afterResponse(hook(), { status: 410, headers: {} }, limits), {
    state: 'dead',
    error: 'the receiver responded with 410 Gone',
  })
  t.end()
})

t.test('a call that is sent once is delivered with any response, and put aside without one', (t) => {
  for (const status of [200, 404, 410, 500]) {
    t.strictSame(afterResponse(once, { status, headers: {} }, limits), { state: 'delivered' })
  }
  t.strictSame(afterError(once, new OutgoingError('refused'), limits), { state: 'dead', error: 'refused' })
  t.end()
})

t.test('pauses grow up to a bound, and differ', (t) => {
  const pauseOf = (attempt: number): number =>
    afterError(hook(attempt), new OutgoingError('no'), limits).pause_ms ?? NaN
  let total = 0
  for (let attempt = 1; attempt < 20; attempt++) {
    const expected = Math.min(5000 * 3 ** (attempt - 1), 14_400_000)
    const pauses = Array.from({ length: 200 }, () => pauseOf(attempt))
    t.ok(
      pauses.every((pause) => pause >= expected * 0.75 - 1 && pause <= Math.min(expected * 1.25, 14_400_000) + 1),
      `around ${expected}`,
    )
    t.ok(new Set(pauses).size > 50)
    total += expected
  }
  t.ok(total > 86_400_000, 'more than a day, for receivers that answer 500 for a day')
  t.ok(Number.isNaN(pauseOf(20)), 'the last attempt')
  const longer = afterError(hook(900), new OutgoingError('no'), { ...limits, webhooksMaxAttempts: 1000 })
  t.ok(Number.isSafeInteger(longer.pause_ms))
  t.match(afterError(hook(20), new OutgoingError('no'), limits), {
    state: 'dead',
    error: 'no; attempt 20 was the last one',
  })
  t.match(
    afterError(hook(33), new OutgoingError('no'), limits),
    { state: 'dead' },
    'also after servers that were killed',
  )
  t.end()
})

t.test('what is refused is put aside at once', (t) => {
  const refused = new OutgoingError('not public', { isFinal: true })
  t.strictSame(afterError(hook(), refused, limits), { state: 'dead', error: 'not public' })
  t.end()
})

t.test('Retry-After is respected within the bounds', (t) => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  const pauseAfter = (header: string, status = 503): number =>
    afterResponse(hook(), { status, headers: { 'retry-after': header } }, limits, now).pause_ms ?? NaN
  t.equal(pauseAfter('3600'), 3_600_000)
  t.equal(pauseAfter('Thu, 01 Jan 2026 00:02:00 GMT', 429), 120_000)
  t.equal(pauseAfter('9999999999'), 14_400_000, 'not longer than the setting')
  t.equal(pauseAfter('Fri, 31 Dec 9999 00:00:00 GMT'), 14_400_000)
  for (const header of ['0', '1', '-5', 'soon', '', '1e9', 'Thu, 01 Jan 1970 00:00:00 GMT', '99999999999999999999']) {
    const pause = pauseAfter(header)
    t.ok(pause >= 3750 && pause <= 6250, `${header}: ${pause}`)
  }
  t.end()
})
