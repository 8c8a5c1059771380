// Text functions shared by several rooms.
import t from 'tap'
import { sortedTexts } from '../../../server/text/code-point-order.ts'
import { editDistance, nearestName } from '../../../server/text/nearest-name.ts'
import { jsonMembers, jsonObject, jsonTexts } from '../../../server/text/json-members.ts'

t.test('texts are sorted by code points, without duplicates', (t) => {
  t.strictSame(sortedTexts(['\u{1f600}', '\uffee', 'b', 'a', 'b', '']), ['', 'a', 'b', '\uffee', '\u{1f600}'])
  t.end()
})

t.test('edit distance', (t) => {
  const distance = (one: string, other: string): number => editDistance(Array.from(one), Array.from(other))
  t.equal(distance('kitten', 'sitting'), 3)
  t.equal(distance('', 'abc'), 3)
  t.equal(distance('abc', ''), 3)
  t.equal(distance('a\u{1f600}', 'a\u{1f601}'), 1, 'a character beyond U+FFFF counts as one')
  t.end()
})

t.test('nearest name', (t) => {
  t.equal(nearestName('db-pol', ['db-uri', 'db-pool', 'log-level']), 'db-pool')
  t.equal(nearestName('something-else', ['db-uri', 'db-pool']), undefined)
  t.end()
})

t.test('members of a JSON object keep their source text', (t) => {
  t.strictSame(
    [...jsonMembers('{"a" : 1.50, "b":{"c":["}",2]}, "a":12345678901234567890}')],
    [
      ['a', '12345678901234567890'],
      ['b', '{"c":["}",2]}'],
    ],
  )
  t.end()
})

t.test('a JSON object is written from JSON texts', (t) => {
  const raw = { big: '12345678901234567890', absent: undefined, 'a"b': '"c"' }
  t.equal(jsonObject(raw), '{"big":12345678901234567890,"a\\"b":"c"}')
  t.equal(jsonObject({}), '{}')
  t.equal(jsonObject(jsonMembers('{"b":1.0,"2":[],"1":{}}')), '{"b":1.0,"2":[],"1":{}}', 'in the order of a map')
  t.equal(jsonObject({ ...jsonTexts({ n: 1, none: undefined, list: [null] }), n: '1.50' }), '{"n":1.50,"list":[null]}')
  t.end()
})
