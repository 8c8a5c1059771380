// Bodies -> payloads, or PGRST102.
import t from 'tap'
import { decodeMediaType } from '../../../server/rest/media-type.ts'
import type { Action } from '../../../server/rest/request/api-request.ts'
import { parsePayload } from '../../../server/rest/request/payload.ts'

const relation = { schema: 'public', name: 't' }
const create: Action = { kind: 'mutate', relation, mutation: 'create' }
const call: Action = { kind: 'call', routine: relation, method: 'post' }

const readWithValue = (body: string | Buffer, type: string, action: Action = create, columns?: readonly string[]) =>
  parsePayload(typeof body === 'string' ? Buffer.from(body) : body, decodeMediaType(type), columns, action)

function read(...given: Parameters<typeof readWithValue>) {
  const { payload, columns } = readWithValue(...given)
  return { payload, columns }
}

t.test('the value of a parsed body', async (t) => {
  const type = 'application/json'
  t.strictSame(readWithValue(' {"a":[1]}', type).value, { a: [1] })
  t.strictSame(readWithValue('[{"a":1},{"a":null}]', type).value, [{ a: 1 }, { a: null }])
  t.equal(readWithValue('[]', type).value, undefined, 'no rows')
  t.equal(readWithValue('{"a":1}', type, create, ['a']).value, undefined, 'the columns are given')
  t.equal(readWithValue('a\n1', 'text/csv').value, undefined, 'CSV')
  t.equal(readWithValue('a=1', 'application/x-www-form-urlencoded').value, undefined, 'a form')
})

t.test('JSON', async (t) => {
  const rows: [string, readonly string[], string?][] = [
    ['{}', []],
    ['{"b":1,"a":{"c":[1,{"d":2}]}}', ['a', 'b']],
    [' [ {"a":1} , {"a":2} ]\r\n\t', ['a']],
    ['[{"a":1,"b":2},{"b":3,"a":4}]', ['a', 'b']],
    ['[{}, {}]', []],
    ['[]', []],
    [' [ ] ', [], '[]'],
    ['1', [], '[]'],
    ['"text"', [], '[]'],
    ['null', [], '[]'],
    ['{"a":12345678901234567890.12345678901234567890,"b":1e400}', ['a', 'b']],
    ['{"a":1,"a":2}', ['a']],
    ['{"__proto__":1,"constructor":2}', ['__proto__', 'constructor']],
    ['[{"__proto__":1},{"__proto__":{}}]', ['__proto__']],
    ['{"10":1,"9":2,"":3}', ['', '10', '9']],
    ['{"\\u0061":1}', ['a']],
    ['[{"é":1},{"\\u00e9":2}]', ['é']],
    ['{"𝒳":1,"ﬁ":2}', ['ﬁ', '𝒳']],
    ['{"a":"\\ud83d\\ude97 \\\\ud800 \\u0000"}', ['a']],
    [`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, ['a']],
  ]
  for (const [body, keys, text = body] of rows)
    t.strictSame(
      read(body, 'application/json'),
      { payload: { kind: 'json', text, keys }, columns: keys },
      body.slice(0, 40),
    )
})

t.test('invalid JSON', async (t) => {
  const rows: [string | Buffer, string][] = [
    ['', 'Empty or invalid json'],
    [' ', 'Empty or invalid json'],
    ['{', 'Empty or invalid json'],
    ['{"a":01}', 'Empty or invalid json'],
    ["{'a':1}", 'Empty or invalid json'],
    ['{"a":1,}', 'Empty or invalid json'],
    ['{"a":NaN}', 'Empty or invalid json'],
    ['{"a":"\t"}', 'Empty or invalid json'],
    ['{} {}', 'Empty or invalid json'],
    ['\ufeff{}', 'Empty or invalid json'],
    ['{"a":"\\ud800"}', 'Empty or invalid json'],
    ['{"a":"\\udc00\\ud800"}', 'Empty or invalid json'],
    ['{"\\ud83dx":1}', 'Empty or invalid json'],
    ['{"a":"\\ud83d\\ude97\\ude97"}', 'Empty or invalid json'],
    [Buffer.from('{"a":"\xff"}', 'latin1'), 'Empty or invalid json'],
    [Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1'), 'Empty or invalid json'],
    ['['.repeat(200_000), 'Empty or invalid json'],
    ['[{"a":1},{"b":1}]', 'All object keys must match'],
    ['[{"a":1},{"a":1,"b":1}]', 'All object keys must match'],
    ['[{"a":1,"b":1},{"a":1}]', 'All object keys must match'],
    ['[{"a":1},{"__proto__":1}]', 'All object keys must match'],
    ['[{},{"toString":1}]', 'All object keys must match'],
    ['[{},1]', 'All object keys must match'],
    ['[1]', 'All object keys must match'],
    ['[null]', 'All object keys must match'],
    ['[[]]', 'All object keys must match'],
  ]
  for (const [body, message] of rows)
    t.throws(
      () => read(body, 'application/json'),
      { code: 'PGRST102', status: 400, message },
      body.toString().slice(0, 40),
    )
})

t.test('JSON with the columns parameter', async (t) => {
  const columns = ['a', 'b']
  const text = '[{"a":1},{"c":'
  t.strictSame(
    read(text, 'application/json', create, columns),
    { payload: { kind: 'raw-json', text }, columns },
    'the body is not parsed',
  )
  t.strictSame(read('', 'application/json', call, columns), { payload: { kind: 'raw-json', text: '' }, columns })
  t.strictSame(
    read('{"c":1}', 'application/json', { kind: 'mutate', relation, mutation: 'single-upsert' }, columns).columns,
    ['c'],
    'not for PUT',
  )
  t.throws(() => read(Buffer.from([0xff]), 'application/json', create, columns), { code: 'PGRST102' })
})

t.test('CSV', async (t) => {
  const rows: [string, unknown[], readonly string[]][] = [
    ['a,b\n1,2', [{ a: '1', b: '2' }], ['a', 'b']],
    [
      'b,a\r\n1,2\r\n3,4\r\n',
      [
        { b: '1', a: '2' },
        { b: '3', a: '4' },
      ],
      ['a', 'b'],
    ],
    ['a\r1\r2', [{ a: '1' }, { a: '2' }], ['a']],
    [
      'a,b\nNULL,"NULL"\nnull,\n',
      [
        { a: null, b: null },
        { a: 'null', b: '' },
      ],
      ['a', 'b'],
    ],
    ['a\n"x ""y"", z\r\n"\n', [{ a: 'x "y", z\r\n' }], ['a']],
    [' a ,"b c"\n 1 ,2 \n', [{ ' a ': ' 1 ', 'b c': '2 ' }], [' a ', 'b c']],
    ['a\n\n1\n\n\n2\n\n', [{ a: '1' }, { a: '2' }], ['a']],
    ['a\n""\n1', [{ a: '1' }], ['a']],
    ['a,b\n', [], []],
    ['a,b\n1\n2\n', [{ a: '1' }, { a: '2' }], ['a']],
    ['a,b,a\n1,2,3\n', [{ a: '3', b: '2' }], ['a', 'b']],
    ['\n1\n', [{ '': '1' }], ['']],
    ['é,🚗\nü,\\\n', [{ é: 'ü', '🚗': '\\' }], ['é', '🚗']],
    ["a\n'; drop table t; --\n", [{ a: "'; drop table t; --" }], ['a']],
    ['\ufeffa\n1', [{ a: '1' }], ['a']],
    ['a\n\0', [{ a: '\0' }], ['a']],
  ]
  for (const [body, value, keys] of rows) {
    const { payload, columns } = read(body, 'text/csv')
    const { text = '', keys: found } = payload?.kind === 'json' ? payload : {}
    t.strictSame(JSON.parse(text), value, body)
    t.strictSame([found, columns], [keys, keys])
  }
  const { payload } = read('__proto__,10,9\n1,2,3', 'text/csv', create, ['ignored'])
  t.strictSame(payload, {
    kind: 'json',
    text: '[{"__proto__":"1","10":"2","9":"3"}]',
    keys: ['10', '9', '__proto__'],
  })
})

t.test('invalid CSV', async (t) => {
  const satisfy = (rest: string) => `parse error (Failed reading: satisfy) at ${rest}`
  const rows: [string | Buffer, string][] = [
    ['', 'parse error (not enough input) at ""'],
    ['a,b', 'parse error (not enough input) at ""'],
    ['a,"b\n', 'parse error (not enough input) at ""'],
    ['a,b\n1,2\n3', 'All lines must have same number of fields'],
    ['a,b\n1\n2,3', 'All lines must have same number of fields'],
    ['a\n1\n2,3\n', 'Line 3 has more fields than the header'],
    ['a\n1,x"y\n', 'parse error (Failed reading: satisfy) at "\\"y\\n"'],
    ['a\n"x"y\n', satisfy('"y\\n"')],
    ['a"b\n', satisfy('"\\"b\\n"')],
    ['"a" \n1', satisfy('" \\n1"')],
    ['a\n"x"é\u0001\u000eH1\u007f', satisfy('"\\195\\169\\SOH\\SO\\&H1\\DEL"')],
    ['a\n"x"\xe9' + '1', satisfy('"\\195\\169\\&1"')],
    [`a\n"x"${'y'.repeat(101)}`, satisfy(`${'y'.repeat(100)} (truncated)`)],
    ['a\n"x', 'parse error (Failed reading: insufficient input) at ""'],
    ['a\n"x""', 'parse error (Failed reading: insufficient input) at ""'],
    ['a\n1\n"', 'parse error (Failed reading: trailing double quote) at ""'],
    [Buffer.from('a\n\xff', 'latin1'), 'The CSV is not valid UTF-8'],
  ]
  for (const [body, message] of rows)
    t.throws(() => read(body, 'text/csv'), { code: 'PGRST102', status: 400, message }, body.toString().slice(0, 40))
})

t.test('forms', async (t) => {
  const pairs = [
    ['b', '1'],
    ['a b', 'é&'],
    ['b', '2'],
    ['c', ''],
  ]
  const body = 'b=1&a+b=%C3%A9%26;b=2&c'
  const keys = ['a b', 'b', 'c']
  t.strictSame(read(body, 'application/x-www-form-urlencoded', call), {
    payload: { kind: 'form', pairs, keys },
    columns: keys,
  })
  t.strictSame(read(body, 'application/x-www-form-urlencoded'), {
    payload: { kind: 'json', text: '{"b":"2","a b":"é&","c":""}', keys },
    columns: keys,
  })
  t.strictSame(read('__proto__=1&10=2&"=%22', 'application/x-www-form-urlencoded').payload, {
    kind: 'json',
    text: '{"__proto__":"1","10":"2","\\"":"\\""}',
    keys: ['"', '10', '__proto__'],
  })
  t.strictSame(read('', 'application/x-www-form-urlencoded').payload, { kind: 'json', text: '{}', keys: [] })
  t.strictSame(read('?a=1', 'application/x-www-form-urlencoded').columns, ['a'])
  t.throws(() => read('a=%FF', 'application/x-www-form-urlencoded'), {
    code: 'PGRST102',
    message: 'The form is not valid UTF-8',
  })
})

t.test('binary bodies', async (t) => {
  const bytes = Buffer.from([0, 0xff, 0x41])
  for (const type of ['text/plain', 'text/xml', 'application/octet-stream']) {
    t.strictSame(read(bytes, type, call), { payload: { kind: 'raw', bytes }, columns: [] }, type)
    t.throws(() => read(bytes, type), { code: 'PGRST102', message: `Content-Type not acceptable: ${type}` }, type)
  }
  for (const type of ['image/png', '*/*', 'application/vnd.pgrst.object+json', 'nonsense'])
    t.throws(() => read('{}', type, call), { code: 'PGRST102', message: `Content-Type not acceptable: ${type}` }, type)
  t.strictSame(read('{"a":1}', 'application/vnd.pgrst.array+json').columns, ['a'])
})

t.test('actions that ignore the body', async (t) => {
  const actions: Action[] = [
    { kind: 'read', relation, headersOnly: false },
    { kind: 'mutate', relation, mutation: 'delete' },
    { kind: 'call', routine: relation, method: 'get' },
    { kind: 'call', routine: relation, method: 'head' },
    { kind: 'relation-info', relation },
    { kind: 'schema-info' },
  ]
  for (const action of actions)
    t.strictSame(read('not json', 'image/png', action, ['a']), { payload: undefined, columns: [] }, action.kind)
  t.strictSame(read('', 'application/json', call), { payload: { kind: 'json', text: '', keys: [] }, columns: [] })
})
