// What `rowhouse doctor` says of outgoing calls.
import t from 'tap'
import { callFindings, type CallFacts } from '../../../server/tools/doctor/webhooks-findings.ts'

const nothing: CallFacts = {
  due: 0,
  dueSeconds: 0,
  hasSender: false,
  failing: 0,
  failingHost: null,
  failingError: null,
  dead: 0,
  deadReason: null,
}

t.test('nothing waits', (t) => {
  t.strictSame(callFindings(nothing), [])
  t.end()
})

t.test('calls that are due', (t) => {
  const due = { ...nothing, due: 3, dueSeconds: 600 }
  t.match(callFindings(due), [
    {
      code: 'calls_not_sent',
      level: 'ERROR',
      what: '3 calls are due, the first for 10 minutes, and no server sends them.',
    },
  ])
  t.match(callFindings({ ...due, due: 10_000, hasSender: true }), [
    { code: 'calls_late', level: 'WARN', what: '10000 or more calls are due, the first for 10 minutes.' },
  ])
  t.end()
})

t.test('calls that failed', (t) => {
  const failed = { failing: 1, failingHost: 'hooks.example.org', failingError: 'the receiver responded with 500' }
  t.match(callFindings({ ...nothing, ...failed, dead: 2, deadReason: 'no address' }), [
    {
      code: 'calls_failing',
      level: 'INFO',
      what: '1 call is waiting after a failed attempt, most of them for hooks.example.org: the receiver responded with 500.',
    },
    {
      code: 'calls_dead',
      level: 'WARN',
      what: '2 calls were put aside in the last day, most of them because: no address.',
    },
  ])
  t.end()
})
