// Rows and filters of the console's grid, without a browser.
import t from 'tap'
import { typesOf } from '../../../server/console/pages/api/examples.ts'
import { jsonOf, objectOf, parseRows, prettyJson, textOf } from '../../../server/console/rest/cells.ts'
import {
  equals,
  filterOf,
  listItem,
  orderOf,
  parameterOf,
  queryText,
  quotedName,
} from '../../../server/console/rest/filter.ts'

t.test('rows keep every digit and every document as it is', async (t) => {
  const text =
    '[{"id":9007199254740993,"n":1.10,"t":"a \\"quoted\\" } text","d":{"a":[1,{"b":"]"}], "c" : 1.0},"z":null},\n {"id":1e400,"__proto__":[]} ]'
  const [first, second, ...others] = parseRows(text)
  t.strictSame(others, [])
  t.strictSame(
    [...(first ?? [])],
    [
      ['id', '9007199254740993'],
      ['n', '1.10'],
      ['t', '"a \\"quoted\\" } text"'],
      ['d', '{"a":[1,{"b":"]"}], "c" : 1.0}'],
      ['z', 'null'],
    ],
  )
  t.strictSame(
    [...(second ?? [])],
    [
      ['id', '1e400'],
      ['__proto__', '[]'],
    ],
  )
  t.strictSame(parseRows(' [ ] '), [])
  t.strictSame(
    parseRows('[{}]').map((row) => row.size),
    [0],
  )
  for (const broken of ['{}', '[1]', '[{"a":', '[{"a":"b', '']) t.throws(() => parseRows(broken), SyntaxError, broken)
})

const type = (baseType: string, category: string, isArray = false) => ({ baseType, category, isArray })
const text = type('text', 'S')

t.test('values are shown and typed by their type', async (t) => {
  t.equal(textOf('"a\\nb"', text), 'a\nb')
  t.equal(textOf('"a"', type('jsonb', 'U')), '"a"', 'documents are shown as JSON')
  t.equal(textOf('null', text), '')
  t.equal(jsonOf('12345678901234567890.10', type('numeric', 'N')), '12345678901234567890.10')
  t.equal(jsonOf('NaN', type('numeric', 'N')), '"NaN"')
  t.equal(jsonOf(' true ', type('bool', 'B')), 'true')
  t.equal(jsonOf('true', text), '"true"')
  t.equal(jsonOf('{"a": 1}', type('jsonb', 'U')), '{"a": 1}')
  t.throws(() => jsonOf('{a}', type('jsonb', 'U')), SyntaxError)
  t.equal(jsonOf('{a,b}', type('text', 'S', true)), '"{a,b}"')
  t.equal(jsonOf('["a"]', type('text', 'S', true)), '["a"]')
  t.equal(objectOf([['a"b', '1']]), '{"a\\"b":1}')
})

t.test('documents are formatted without losing digits', async (t) => {
  t.equal(
    prettyJson('{"a":1.10,"b":[],"c":[{},"x,{}"]}'),
    '{\n  "a": 1.10,\n  "b": [],\n  "c": [\n    {},\n    "x,{}"\n  ]\n}',
  )
})

t.test('filters', async (t) => {
  const filter = { column: 'a', isNegated: true, operator: 'gte', value: '1.5' }
  t.strictSame(filterOf(['a', 'not.gte.1.5']), filter)
  t.strictSame(parameterOf(filter), ['a', 'not.gte.1.5'])
  t.equal(filterOf(['or', '(a.eq.1)']), undefined)
  t.equal(filterOf(['a->b', 'eq.1']), undefined)
  t.equal(filterOf(['a', 'unknown.1']), undefined)
  for (const name of ['order', 'a b', 'a"b\\', 'a.b', 'or', 'ä']) {
    t.equal(filterOf([quotedName(name), 'eq.x'])?.column, name)
  }
  t.strictSame(equals('a', null), ['a', 'is.null'])
  t.strictSame(equals('limit', 'x'), ['"limit"', 'eq.x'])
  t.equal(listItem('a,b"c'), '"a,b\\"c"')
  t.equal(queryText([['a', 'eq.x & y,(z)']]), 'a=eq.x%20%26%20y,(z)')
})

t.test('orders', async (t) => {
  t.strictSame(orderOf('a.desc.nullslast,b'), { column: 'a', isDescending: true })
  t.strictSame(orderOf('"a.desc".asc'), { column: 'a.desc', isDescending: false })
  t.equal(orderOf(null), undefined)
})

t.test('the types of one table are found in all types', async (t) => {
  const types = [
    'export type Database = {',
    '  public: {',
    '    Tables: {',
    '      a: {',
    '        Row: {',
    '          b: string',
    '        }',
    '      }',
    `      '<i title="x">': {`,
    '        Row: {}',
    '      }',
    '    }',
    '    Functions: {',
    '      b: { Args: never; Returns: string }',
    '    }',
    '  }',
    '}',
  ].join('\n')
  t.equal(typesOf(types, ['public', 'Tables', 'a']), 'a: {\n  Row: {\n    b: string\n  }\n}')
  t.equal(typesOf(types, ['public', 'Tables', '<i title="x">']), `'<i title="x">': {\n  Row: {}\n}`)
  t.equal(typesOf(types, ['public', 'Functions', 'b']), 'b: { Args: never; Returns: string }')
  t.equal(typesOf(types, ['public', 'Tables', 'Row']), undefined)
})
