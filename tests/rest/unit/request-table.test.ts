// The runner of request tables: what it sends for a row, and that it fails for anything that a row does not mention.
import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { compare, fault, requestOf, type Exchange } from '../../support/request-table.ts'
import type { AnswerHeader } from '../../support/sent-request.ts'

type Answer = {
  readonly status?: number
  readonly body?: string
  readonly headers?: Partial<Record<AnswerHeader, string>>
}

/** Whether the runner accepts a response. */
function accepts(row: Exchange, { status = 200, body = '', headers = {} }: Answer): boolean {
  const header = (name: AnswerHeader): string | null => headers[name] ?? null
  const { found, wanted } = compare(row, { status, body: Buffer.from(body), header })
  return isDeepStrictEqual(found, wanted)
}

const json = 'application/json; charset=utf-8'
const read: Exchange = { send: ['GET', '/cars'], body: [{ id: 1 }, { id: 2 }] }
const rows: Answer = { body: '[{"id":1}, \n {"id":2}]', headers: { 'Content-Type': json, 'Content-Range': '0-1/*' } }
const write: Exchange = { send: ['POST', '/cars', { id: 1 }], status: 201 }
const written: Answer = { status: 201, headers: { 'Content-Range': '*/*' } }
const unknown: Exchange = { send: ['GET', '/car'], status: 404, body: fault('PGRST205', 'no') }
const refused: Answer = {
  status: 404,
  body: '{"code":"PGRST205","details":null,"hint":null,"message":"no"}',
  headers: { 'Content-Type': json, 'Proxy-Status': 'PostgREST; error=PGRST205' },
}

t.test('complete responses', (t) => {
  const pairs: readonly (readonly [Exchange, Answer])[] = [
    [read, rows],
    [write, written],
    [unknown, refused],
    [
      { ...read, body: [], also: { Vary: /^Accept/, 'X-Other': null } },
      { body: '[]', headers: { 'Content-Type': json, 'Content-Range': '*/*', Vary: 'Accept, Prefer' } },
    ],
    [
      { send: ['HEAD', '/cars'], contentType: json, range: '0-1/*' },
      { headers: { 'Content-Type': json, 'Content-Range': '0-1/*' } },
    ],
    [
      { send: ['DELETE', '/cars'], status: 204, applied: 'a', location: '/b' },
      { status: 204, headers: { 'Content-Range': '*/*', 'Preference-Applied': 'a', Location: '/b' } },
    ],
    [
      { ...read, body: /^a+$/, contentType: 'text/plain' },
      { body: 'aa', headers: { 'Content-Type': 'text/plain' } },
    ],
    [{ ...read, body: Buffer.of(1), contentType: null }, { body: '\x01' }],
  ]
  for (const [row, answer] of pairs) t.ok(accepts(row, answer), row.send.join(' '))
  t.end()
})

t.test('anything else', (t) => {
  const changed = (answer: Answer, headers: Answer['headers']): Answer => ({
    ...answer,
    headers: { ...answer.headers, ...headers },
  })
  const without = ({ headers, ...answer }: Answer, absent: AnswerHeader): Answer => ({
    ...answer,
    headers: Object.fromEntries(Object.entries(headers ?? {}).filter(([name]) => name !== absent)),
  })
  const pairs: readonly (readonly [title: string, row: Exchange, answer: Answer])[] = [
    ['status', read, { ...rows, status: 206 }],
    ['value', read, { ...rows, body: '[{"id":1}]' }],
    ['no JSON', read, { ...rows, body: '[' }],
    ['text, which is compared exactly', { ...read, body: '[1]', range: '0-1/*' }, { ...rows, body: '[ 1]' }],
    ['pattern', { ...read, body: /^a$/ }, changed({ body: 'b' }, { 'Content-Type': json })],
    ['bytes', { ...read, body: Buffer.of(1), contentType: null }, { body: '\x02' }],
    ['a body that is not mentioned', write, { ...written, body: '{}' }],
    ['range', read, changed(rows, { 'Content-Range': '0-1/2' })],
    ['no range', read, without(rows, 'Content-Range')],
    ['a range that is not mentioned', { ...read, range: null }, rows],
    ['content type', read, changed(rows, { 'Content-Type': 'text/csv' })],
    ['a content type without a body', write, changed(written, { 'Content-Type': json })],
    ['code in Proxy-Status', unknown, changed(refused, { 'Proxy-Status': 'PostgREST; error=42501' })],
    ['no Proxy-Status', unknown, without(refused, 'Proxy-Status')],
    ['Proxy-Status of a success', read, changed(rows, { 'Proxy-Status': 'PostgREST; error=42501' })],
    ['a header that is absent', { ...read, also: { Vary: 'Accept' } }, rows],
    ['a header that should be absent', { ...read, also: { Vary: null } }, changed(rows, { Vary: 'Accept' })],
    ['a header that does not match', { ...read, also: { Vary: /^A/ } }, changed(rows, { Vary: 'B' })],
    ...(
      [
        'Access-Control-Allow-Origin',
        'Allow',
        'Location',
        'Preference-Applied',
        'Range-Unit',
        'Server-Timing',
        'Warning',
        'WWW-Authenticate',
      ] as const
    ).map((name) => [`${name}, which is not mentioned`, read, changed(rows, { [name]: 'x' })] as const),
  ]
  for (const [title, row, answer] of pairs) t.notOk(accepts(row, answer), title)
  t.end()
})

t.test('requests', async (t) => {
  t.strictSame(await requestOf({ send: ['GET', '/cars'] }), { method: 'GET', path: '/cars', headers: {} })
  t.strictSame(
    await requestOf({ send: ['POST', '/cars', { id: 1 }], prefer: 'a', accept: 'b', headers: { Range: '0-1' } }),
    {
      method: 'POST',
      path: '/cars',
      headers: { 'Content-Type': 'application/json', Prefer: 'a', Accept: 'b', Range: '0-1' },
      body: '{"id":1}',
    },
  )
  t.strictSame(await requestOf({ send: ['POST', '/cars', 'id\n1'], type: 'text/csv' }), {
    method: 'POST',
    path: '/cars',
    headers: { 'Content-Type': 'text/csv' },
    body: 'id\n1',
  })
  t.match(await requestOf({ send: ['GET', '/cars'], as: 'clerk' }), {
    headers: { Authorization: /^Bearer \w+\.\w+\./ },
  })
})
