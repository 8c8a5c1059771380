// References of a batch: in JSON bodies, and in urls, where a value must stay one value of PostgREST's grammar.
import t from 'tap'
import { ownHeaders } from '../../../server/client/batch.ts'
import { parseBatch } from '../../../server/rest/extensions/batch/batch-request.ts'
import { JsonDocument } from '../../../server/text/json-document.ts'
import { jsonElements, jsonMembers } from '../../../server/text/json-members.ts'
import { ofPart } from '../../../server/rest/extensions/batch/part-headers.ts'
import { BatchResults, bodyTemplate, fillBody } from '../../../server/rest/extensions/batch/references.ts'
import { fillUrl, urlTemplate } from '../../../server/rest/extensions/batch/url-template.ts'
import { ApiError } from '../../../server/rest/errors.ts'
import { groupingParameters } from '../../../server/rest/extensions/distinct/groupings.ts'
import { cursorParameter } from '../../../server/rest/extensions/keyset-pages/page-request.ts'
import { parseQueryParams } from '../../../server/rest/request/query-params.ts'

t.test('JSON texts are sliced without a change', async (t) => {
  const text =
    ' { "a" : [1.10, -2e5,"x\\\\", "]\\"", {"b":[]}, true,null ], "\\u0061": 12345678901234567890 , "e":{} } '
  t.strictSame(
    [...jsonMembers(text)],
    [
      ['a', '12345678901234567890'],
      ['e', '{}'],
    ],
  )
  t.strictSame(jsonElements('[1.10, -2e5,"x\\\\", "]\\"", {"b":[]}, true,null ]'), [
    '1.10',
    '-2e5',
    '"x\\\\"',
    '"]\\""',
    '{"b":[]}',
    'true',
    'null',
  ])
  for (const other of ['[]', '"{"', '7']) t.equal(jsonMembers(other).size, 0)
  for (const other of ['[]', '{}', '"["', 'null']) t.strictSame(jsonElements(other), [])
  for (const [pointer, value] of [
    ['', '{"a/b":[{"~":1}],"":2}'],
    ['/a~1b/0/~0', '1'],
    ['/', '2'],
    ['/a~1b/00', undefined],
    ['/a~1b/1', undefined],
    ['/a~1b/length', undefined],
    ['/__proto__', undefined],
  ] as const) {
    t.equal(new JsonDocument('{"a/b":[{"~":1}],"":2}').at(pointer), value, pointer)
  }
})

t.test('values are found in large documents as in small ones', async (t) => {
  const value = {
    list: Array.from({ length: 200 }, (_, n) => ({ n, text: `]}"\\${'x'.repeat(n)}`, list: [[n], [], {}] })),
    ['a/b']: { '~': ' '.repeat(100), deep: JSON.parse(`${'['.repeat(300)}7${']'.repeat(300)}`) as unknown },
  }
  for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)]) {
    const document = new JsonDocument(text)
    for (const n of [199, 0, 57]) {
      t.equal(document.at(`/list/${n}/list/0/0`), String(n))
      t.equal(JSON.parse(document.at(`/list/${n}/text`) ?? ''), value.list[n]?.text)
      t.strictSame(JSON.parse(document.at(`/list/${n}`) ?? ''), value.list[n])
      t.equal(document.at(`/list/${n}/list/2/x`), undefined)
    }
    t.equal(document.at(`/a~1b/deep${'/0'.repeat(300)}`), '7')
    t.equal(document.at(`/a~1b/deep${'/0'.repeat(301)}`), undefined)
    t.equal(document.at('/list/200'), undefined)
    t.strictSame(JSON.parse(document.at('') ?? ''), value)
  }
  t.equal(new JsonDocument('{"a": 1, "a": [2.50 , 3]}').at('/a/0'), '2.50', 'the last of repeated names')
})

t.test('deeply nested bodies and long strings are read in linear time', async (t) => {
  const deep = `${'['.repeat(90_000)}{"$ref":"a#/x"}${']'.repeat(90_000)}`
  t.equal(fillBody(bodyTemplate(deep), () => '1').length, 180_001)
  const long = JSON.stringify({ text: '\\"'.repeat(500_000) })
  t.equal(
    fillBody(bodyTemplate(long), () => '1'),
    long,
  )
  t.equal(
    parseBatch(Buffer.from(`{"requests":[{"id":"a","method":"POST","url":"/x","body":${deep.replace(/{.*}/, '')}}]}`), {
      batchMaxRequests: 1,
      requestHeaderLimit: 100,
    }).length,
    1,
  )
})

t.test('a batch has a limit of values, and of references in a url', async (t) => {
  const limits = { batchMaxRequests: 2, requestHeaderLimit: 100 }
  const batch = (...requests: readonly object[]) => parseBatch(Buffer.from(JSON.stringify({ requests })), limits)
  const many = { id: 'a', method: 'POST', url: '/x', body: Array.from({ length: 100_001 }, () => 0) }
  t.throws(() => batch(many), { code: 'PGRSTX11', status: 413, message: 'The batch has too many values' })
  const text = { ...many, body: ',:[{'.repeat(20_000) }
  t.equal(batch(text).length, 1)
  const references = { id: 'b', method: 'GET', dependsOn: ['a'], url: `/x?${'${a#/y}'.repeat(100)}` }
  t.throws(() => batch(text, references), { code: 'PGRSTX11', status: 431 })
})

const value = {
  text: 'a',
  list: 'a,b)',
  quote: '"\\',
  filter: 'eq.1',
  number: 12.5,
  yes: true,
  nothing: null,
  rows: [1],
  brace: '},id.gt.0,x.cs.{',
  'ä b': 'ü&=+;',
}
const results = new BatchResults(0, 1_000_000)
results.add('r', JSON.stringify(value))
const { lookup } = results

const fill = (url: string, isRead = true): string => {
  const { path, query } = fillUrl(urlTemplate(url), isRead, lookup)
  return query === '' ? path : `${path}?${query}`
}
const decodedFill = (url: string): string => decodeURIComponent(fill(url))

t.test('values in urls', async (t) => {
  for (const [url, filled] of [
    ['/t/${r#/list}', '/t/a%2Cb%29'],
    ['/t?id=eq.${r#/number}&x=eq.$5${a}', '/t?id=eq.12.5&x=eq.$5${a}'],
    ['/t?id=eq.${r#/%C3%A4%20b}', '/t?id=eq.%C3%BC%26%3D%2B%3B'],
    ['/t?limit=${r#/number}', '/t?limit=12.5'],
    ['/rpc/f?a=${r#/text}', '/rpc/f?a=a'],
  ] as const) {
    t.equal(fill(url), filled, url)
  }
  for (const [url, filled] of [
    ['/t?a=in.(${r#/list},x,${r#/quote})', '/t?a=in.("a,b)",x,"\\"\\\\")'],
    ['/t?a=in.("x-${r#/list}")', '/t?a=in.("x-a,b)")'],
    ['/t?a=not.in.(${r#/text})', '/t?a=not.in.("a")'],
    [
      '/t?or=(a.eq.${r#/list},and(b.like."*${r#/quote}*",c.not.in.(${r#/list})))',
      '/t?or=(a.eq."a,b)",and(b.like."*\\"\\\\*",c.not.in.("a,b)")))',
    ],
    ['/t?a=cs.{${r#/list},"x${r#/quote}"}', '/t?a=cs.{"a,b)","x\\"\\\\"}'],
    ['/t?a=cs.{"n":${r#/number},"t":${r#/text}}', '/t?a=cs.{"n":12.5,"t":"a"}'],
    ['/t?a=eq(any).{${r#/list}}', '/t?a=eq(any).{"a,b)"}'],
    ['/t?a=like.*${r#/list}*', '/t?a=like.*a,b)*'],
    ['/t?a=fts(english).${r#/list}', '/t?a=fts(english).a,b)'],
    ['/t?a=cs.%20{${r#/list}}', '/t?a=cs. {"a,b)"}'],
    ['/t?or=(a.cs."{x,${r#/list}}",b.cs."{${r#/number}}")', '/t?or=(a.cs."{x,\\"a,b)\\"}",b.cs."{12.5}")'],
    ['/t?or=(a.cs."{x,\\"y%20${r#/quote}\\"}")', '/t?or=(a.cs."{x,\\"y \\\\\\"\\\\\\\\\\"}")'],
    ['/t?a=in.("%20{${r#/list}}")', '/t?a=in.(" {\\"a,b)\\"}")'],
    ['/t?having=eq.${r#/text}&distinct=in.(${r#/list})', '/t?having=eq.a&distinct=in.("a,b)")'],
  ] as const) {
    t.equal(decodedFill(url), filled, url)
  }
})

t.test('places where a value could become more than one are refused', async (t) => {
  for (const url of [
    '/t?${r#/text}=eq.1',
    '/t?a=${r#/filter}',
    '/t?a=e${r#/text}.1',
    '/t?a=in.${r#/list}',
    '/t?a=in.(x${r#/list})',
    '/t?a=in.(${r#/list}x)',
    '/t?a=in.("${r#/list}"x)',
    '/t?a=in.("${r#/list})',
    '/t?a=in.(a(${r#/list},b)',
    '/t?a=eq(any).${r#/list}',
    '/t?or=(${r#/list})',
    '/t?or=(a.eq.x${r#/list})',
    '/t?or=(a.eq.f(b.eq.${r#/list}))',
    '/t?or=(a.like(any).${r#/brace})',
    '/t?or=(a.cs.{b,c.eq.${r#/brace}})',
    '/t?or=(a.cs.{${r#/brace}})',
    '/t?or=(a.eq.b."${r#/list}")',
    '/t?a=cs.{"x\\${r#/quote}"}',
    '/t?select=${r#/text}',
    '/t?order=${r#/text}.desc',
    '/t?b.order=${r#/text}',
    '/rpc/f?a=${r#/filter}',
    '/t?a=not.${r#/filter}',
    '/rpc/f?a=not.${r#/filter}',
    '/t?or=(a.cs."{x,\\"${r#/list}}")',
    '/t?having=${r#/text}',
    '/t?having=count().gt.${r#/number}',
    '/rpc/f?having=count().gt.${r#/number}',
    '/rpc/f?having=or.(count().gt.${r#/text})',
    '/rpc/f?having=${r#/text}',
    '/rpc/f?b.having=${r#/text}',
    '/rpc/f?having=not.${r#/text}',
    '/rpc/f?distinct=on.(${r#/text})',
    '/rpc/f?distinct=${r#/text}',
    '/rpc/f?order=${r#/text}',
    '/rpc/f?columns=${r#/text}',
    '/rpc/f?select=${r#/text}',
    '/t?on_conflict=${r#/text}',
    '/${r#/text}',
    '/t${r#/text}?a=eq.1',
    '/rpc/${r#/text}',
    '/rpc/f${r#/text}/x',
    '/${r#/text}/1',
    '/t?a=eq.${r#/nothing}',
    '/t?a=eq.${r#/rows}',
    '/t?a=eq.${r#}',
  ]) {
    t.throws(() => fill(url), { code: 'PGRSTX12', status: 400 }, url)
  }
})

t.test('no value changes the structure of what is parsed', async (t) => {
  const templates = [
    'or=(a.cs."{x,$}",b.in.("{$}","(a,$)"))',
    'a=cs.%20{$}',
    'limit=$',
    'x.offset=$',
    'having=eq.$',
    'distinct=not.in.($)',
    'a=eq.$',
    'a=in.($,"x-$",y)',
    'or=(a.eq.$,and(b.in.($),not.or(c.like."*$",d.cs.$)))',
    'a=cs.{$}',
    'a=not.in.($)',
    'x.y.or=(a.not.eq.$)',
  ]
  const values = [
    'a',
    ',',
    '"',
    '\\',
    ')',
    '(',
    '{',
    '}',
    '.',
    'eq.1',
    'a,b.eq.1',
    '")',
    '\\")',
    '",x.eq."',
    '},id.gt.0,c.cs.{',
    '&or=(a.eq.1)',
    ';b=eq.1',
    '%2C%29',
    '%22',
    '+',
    'null',
    '${r#/x}',
    '\u0000',
    '"},{"',
    "'",
    '*',
    'ü',
    '\n',
  ]
  /** What was parsed, without the texts of values. */
  const structure = (query: string): string =>
    JSON.stringify(parseQueryParams(query, false), (name, it: unknown) =>
      name === 'canonical' || name === 'key' || (name === 'value' && typeof it === 'string')
        ? ''
        : name === 'values'
          ? (it as unknown[]).length
          : it,
    )
  for (const template of templates) {
    const url = `/t?${template.replaceAll('$', '${r#/v}')}`
    const query = (text: string): string =>
      fillUrl(urlTemplate(url), true, () => JSON.stringify({ v: text }).slice(5, -1)).query
    const plain = structure(query('plain'))
    for (const text of values) t.equal(structure(query(text)), plain, `${template} with ${JSON.stringify(text)}`)
  }
})

t.test('no value changes what a literal within a value contains', async (t) => {
  const templates = ['a=cs.{x,$}', 'or=(a.cs."{x,$}")', 'a=in.("{x,$}",y)', 'a=cs.%20{"x",$}', 'a=eq.[$,5)']
  const valueOf = (query: string): string => {
    const { filters, logic } = parseQueryParams(query, false)
    const [tree] = logic.map(({ value }) => (value.kind === 'logic' ? value.operands[0] : undefined))
    const { operation } = tree?.kind === 'filter' ? tree.filter : (filters[0]?.value ?? { operation: { kind: 'is' } })
    return 'values' in operation ? (operation.values[0] ?? '') : 'value' in operation ? operation.value : ''
  }
  /** Elements of a literal without nested ones, as PostgreSQL reads them. */
  const count = (literal: string): number =>
    literal
      .replaceAll(/\\./gs, '')
      .replaceAll(/"[^"]*"/g, '')
      .split(/[,{}()[\]]/).length
  for (const template of templates) {
    for (const text of ['plain', ',', '},{', '"', '\\', '\\"', '","', '\\",x,\\"', ')', 'null']) {
      const url = `/t?${template.replaceAll('$', '${r#/v}')}`
      const { query } = fillUrl(urlTemplate(url), true, () => JSON.stringify(text))
      t.equal(count(valueOf(query)), 4, `${template} with ${text}: ${valueOf(query)}`)
    }
  }
})

t.test('an argument of a function stays an argument', async (t) => {
  const names = [
    'a',
    'b.a',
    'having',
    'distinct',
    'a.having',
    'x.distinct',
    'cursor',
    'limit',
    'order',
    'or',
    'columns',
  ]
  const starts = [
    '',
    'x',
    'o',
    'on',
    'on.',
    'on.(',
    'or',
    'or.(',
    'not',
    'not.',
    'e',
    'eq',
    'f',
    'count().',
    'a.sum()',
    ' ',
  ]
  const texts = [
    ...[
      'eq.1',
      'q.1',
      '.eq.1',
      '(any).{1}',
      '.in.(1)',
      'in.(1,2)',
      'n.(id)',
      '.(a)',
      '(count().gt.1)',
      'or.(a.eq.1)',
      '*',
    ],
    ...[
      '.*',
      'fts(english).x',
      'fts( x y ).z',
      'is.null',
      '.isdistinct.1',
      'count().gt.1',
      'gt.1',
      ')',
      'a),b)',
      'eq .1',
      ' eq.1',
    ],
  ]
  const kindsOf = (query: string): unknown => {
    const { filters, logic, groupings, order, columns, onConflict } = parseQueryParams(query, true, false, 'rejected', [
      groupingParameters,
      cursorParameter,
    ])
    return { filters, logic, groupings, order, columns, onConflict }
  }
  const nothing = kindsOf('a=plain')
  for (const name of names)
    for (const start of starts)
      for (const text of texts) {
        let query: string
        try {
          query = fillUrl(urlTemplate(`/rpc/f?${name}=${encodeURIComponent(start)}\${r#/v}`), true, () =>
            JSON.stringify(text),
          ).query
        } catch (error) {
          t.match(error, { code: 'PGRSTX12' })
          continue
        }
        t.strictSame(kindsOf(query), nothing, `${name}=${start}\${${text}}`)
      }
})

t.test('invalid urls', async (t) => {
  for (const url of ['x', '', '/a b', '/a\n', '/a#b', '/a?b=eq.${r#/%}', '/a?b=eq.${r#/~2}', '/a?b=${r#x}']) {
    t.throws(() => urlTemplate(url), ApiError, url)
  }
})

t.test('the client sends the headers that the server accepts for a request', async (t) => {
  t.strictSame([...ownHeaders].sort(), [...ofPart].sort())
})
