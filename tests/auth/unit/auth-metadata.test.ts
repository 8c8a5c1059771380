// Metadata of users: texts that PostgreSQL cannot store are refused, and all others pass unchanged.
import t from 'tap'
import { objectMember } from '../../../server/services/auth/metadata.ts'
import { jsonMembers } from '../../../server/text/json-members.ts'

const read = (data: string): string | null => objectMember(jsonMembers(`{"data": ${data}}`), 'data')

t.test('texts that are refused', async (t) => {
  for (const text of [
    '"\\u0000"',
    '"\\\\\\u0000"',
    '"\\ud800"',
    '"\\uDFFF"',
    '"\\udc00\\ud800"',
    '"\\ud800\\\\udc00"',
  ]) {
    t.throws(() => read(`{"a": ${text}}`), { status: 400, code: 'validation_failed' }, text)
  }
})

t.test('texts that pass unchanged', async (t) => {
  for (const text of [
    '"\\ud83d\\ude00"',
    '"\\\\ud800"',
    '"\\\\u0000"',
    '"\u{1F600}"',
    '"\\ud7ff"',
    '1e400',
    '"__proto__"',
  ]) {
    t.equal(read(`{"a": ${text}}`), `{"a": ${text}}`)
  }
  t.equal(read('null'), null)
  t.equal(objectMember(new Map(), 'data'), null)
})
