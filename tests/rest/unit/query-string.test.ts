// Query strings -> pairs, and their canonical form (as in Content-Location).
import t from 'tap'
import { parseQueryParams } from '../../../server/rest/request/query-params.ts'
import { canonicalQueryString, parseQueryString } from '../../../server/rest/request/query-string.ts'

t.test('pairs', async (t) => {
  const rows: [string, [string, string | undefined][]][] = [
    ['', []],
    ['a', [['a', undefined]]],
    ['a=', [['a', '']]],
    [
      'a=1&b=2;c=3',
      [
        ['a', '1'],
        ['b', '2'],
        ['c', '3'],
      ],
    ],
    ['a=1&', [['a', '1']]],
    ['&', [['', undefined]]],
    [
      'a=1&&b',
      [
        ['a', '1'],
        ['', undefined],
        ['b', undefined],
      ],
    ],
    ['=x', [['', 'x']]],
    ['a=b=c', [['a', 'b=c']]],
    ['a+b=+c%2B', [['a b', ' c+']]],
    ['%61%3D=%26%3B', [['a=', '&;']]],
    [
      'a=%&b=%4&c=%zz&d=%4g&e=%%41',
      [
        ['a', '%'],
        ['b', '%4'],
        ['c', '%zz'],
        ['d', '%4g'],
        ['e', '%A'],
      ],
    ],
    ['a=%00%e9%C3%A9', [['a', '\0\xe9\xc3\xa9']]],
    ['?a=1', [['?a', '1']]],
    ['__proto__=1', [['__proto__', '1']]],
  ]
  for (const [query, pairs] of rows) t.strictSame(parseQueryString(query), pairs, query)
})

t.test('canonical form', async (t) => {
  const rows: [string, string][] = [
    ['', ''],
    ['b=2&a=1', 'a=1&b=2'],
    ['d&a=', 'a=&d='],
    ['a=1&b=x&a=2', 'a=1,2&b=x'],
    ['B=1&a=2&_=3', 'B=1&_=3&a=2'],
    ['a=x+y', 'a=x%20y'],
    ["a=-_.~!*'()/:@,$", 'a=-_.~%21%2A%27%28%29%2F%3A%40%2C%24'],
    ['a=%22%0a%7f', 'a=%22%0A%7F'],
    ['a=%C3%A9', 'a=%C3%83%C2%A9'],
    ['select=id,name&id=eq.1', 'id=eq.1&select=id%2Cname'],
    ['&&', '=,'],
  ]
  for (const [query, canonical] of rows) t.equal(canonicalQueryString(parseQueryString(query)), canonical, query)
  t.equal(parseQueryParams('select=id&limit=1', false).canonical, 'limit=1&select=id')
})
