// Malformed and misleading bodies on every route that takes one: all get 4xx, and change nothing.
import { deflateRawSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { readJson } from '../../server/text/json-text.ts'
import { password, signIn, signUp } from '../support/account.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { startService } from '../support/service.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const { call, logged } = await startService(t, database.authenticatorUri)
await signUp(call, 'ann@example.org')
await database.query("update auth.users set app_role = 'admin'")
const ann = await signIn(call, 'ann@example.org')

t.test('bodies -> values or errors', (t) => {
  const twice = 'has a name twice in one object'
  const deep = 'is nested too deeply'
  const broken = 'is not valid JSON'
  const rows: readonly (readonly [string, string | undefined])[] = [
    ['{}', undefined],
    ['"a"', undefined],
    [' [1, {"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}, "{\\"a\\":1,\\"a\\":2}"] ', undefined],
    ['{"a":1,"b":{"a":1},"c":[{"a":1}]}', undefined],
    ['{"a":"a","b":"a"}', undefined],
    ['{"a":[1,"a","a"],"b":"x,\\"a\\":"}', undefined],
    ['{"\\\\":1,"\\"":2,"\\u005c\\"":3}', undefined],
    ['{"a":1,"a":2}', twice],
    ['{"a":1,"b":2,"a":1}', twice],
    ['{"a":{},"a":{}}', twice],
    ['{"a":[],"a":[]}', twice],
    ['{"a":1,"\\u0061":2}', twice],
    ['{"\\u005f_proto__":1,"__proto__":2}', twice],
    ['{"":1,"":2}', twice],
    ['[{"b":{"c":1,"d":{},"c":2}}]', twice],
    ['{"é":1,"\\u00e9":2}', twice],
    [`${'['.repeat(32)}${']'.repeat(32)}`, undefined],
    [`${'['.repeat(33)}${']'.repeat(33)}`, deep],
    [`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, deep],
    [`${'['.repeat(50_000)}${']'.repeat(50_000)}`, deep],
    ['{"a":1,}', broken],
    ["{'a':1}", broken],
    ['{"a":1}{"a":1}', broken],
    ['NaN', broken],
    ['', broken],
  ]
  for (const [text, fault] of rows) {
    const reading = readJson(text)
    const label = text.slice(0, 60)
    if (fault === undefined) t.strictSame(reading, { kind: 'value', text, value: JSON.parse(text) as unknown }, label)
    else t.strictSame(reading, { kind: 'fault', fault }, label)
  }
  t.end()
})

const report = { manufacturer: 'a', model: 'b', year: 2000, mileage: 1, price: 1, lat: 1, lng: 1 }
const id = '00000000-0000-4000-8000-000000000000'
/** The routes, each with a valid body. */
const routes: readonly (readonly [method: string, path: string, body: Readonly<Record<string, unknown>>])[] = [
  ['POST', '/auth/signup', { email: 'b@example.org', firstName: 'B', password }],
  ['POST', '/auth/signin', { email: 'ann@example.org', password }],
  ['PATCH', '/auth/me', { currentPassword: password, email: 'b@example.org' }],
  ['DELETE', '/auth/me', { password }],
  ['POST', '/report', report],
  ['PATCH', `/report/${id}`, report],
  ['PATCH', `/report/${id}/approval`, { approved: true }],
]

t.test('every route: body -> status', async (t) => {
  const before = await snapshot()
  const json = 'application/json'
  for (const [method, path, body] of routes) {
    const good = JSON.stringify(body)
    const [first = ''] = Object.keys(body)
    const value = JSON.stringify(body[first])
    const inside = good.slice(1, -1)
    const rows: readonly (readonly [label: string, body: unknown, status: number, headers?: Record<string, string>])[] =
      [
        ['nothing', '', 400],
        ['not an object', '[]', 400],
        ['null', 'null', 400],
        ['an unknown field', { ...body, extra: 1 }, 400],
        ['__proto__', `{"__proto__":{"admin":true},${inside}}`, 400],
        ['__proto__ alone', `{"__proto__":${good}}`, 400],
        ['constructor', `{"constructor":{"prototype":{"x":1}},${inside}}`, 400],
        ['toString', `{"toString":1,${inside}}`, 400],
        ['a name twice', `{"${first}":${value},${inside}}`, 400],
        [
          'a name twice, escaped',
          `{"\\u${first.charCodeAt(0).toString(16).padStart(4, '0')}${first.slice(1)}":1,${inside}}`,
          400,
        ],
        ['deep', `{"${first}":${'['.repeat(4000)}${']'.repeat(4000)}}`, 400],
        ['deeper', `${'{"a":'.repeat(1900)}1`, 400],
        ['a huge string', { ...body, [first]: 'x'.repeat(9000) }, 400],
        ['too large', { ...body, [first]: 'x'.repeat(10_001) }, 413],
        ['a bomb', gzipSync('x'.repeat(5_000_000)), 413, { 'Content-Encoding': 'gzip' }],
        ['a wrong Content-Encoding', gzipSync(good), 400],
        ['cut', gzipSync(good).subarray(0, 20), 400, { 'Content-Encoding': 'gzip' }],
        ['raw deflate', deflateRawSync(good), 400, { 'Content-Encoding': 'gzip' }],
        ['two encodings', gzipSync(good), 415, { 'Content-Encoding': 'gzip, gzip' }],
        ['an unknown encoding', good, 415, { 'Content-Encoding': 'zstd2' }],
        ['invalid UTF-8', Buffer.concat([Buffer.from(good.slice(0, -2)), Buffer.from([0xc3, 0x28, 0x22, 0x7d])]), 400],
        ['an overlong character', Buffer.from([0x22, 0xc0, 0xaf, 0x22]), 400],
        ['a surrogate in UTF-8', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]), 400],
        ['UTF-16', Buffer.from(`\ufeff${good}`, 'utf16le'), 400],
        ['UTF-16, as it says', Buffer.from(good, 'utf16le'), 415, { 'Content-Type': `${json}; charset=utf-16` }],
        ['Latin-1, as it says', good, 415, { 'Content-Type': `${json};charset=iso-8859-1` }],
        ['a form', 'a=b', 415, { 'Content-Type': 'application/x-www-form-urlencoded' }],
        ['a form with files', 'a=b', 415, { 'Content-Type': 'multipart/form-data; boundary=x' }],
        ['text', good, 415, { 'Content-Type': 'text/plain' }],
        ['a text type that contains JSON', good, 415, { 'Content-Type': 'text/plain; application/json' }],
        ['two types', good, 415, { 'Content-Type': `${json}, text/plain` }],
        ['comments', `/**/${good}`, 400],
        ['two values', `${good}${good}`, 400],
        ['NUL after it', `${good}\0`, 400],
      ]
    for (const [label, hostile, status, headers = {}] of rows) {
      const given = await ann.call(method, path, { body: hostile, headers: { 'Content-Type': json, ...headers } })
      t.match(
        [given.status, given.body],
        [status, { status: 'fail', statusCode: status }],
        `${method} ${path}: ${label}`,
      )
      t.notMatch(given.text, /\bat .*\.ts|node_modules|SyntaxError/, label)
    }
  }
  t.strictSame(await snapshot(), before, 'nothing was changed')
  t.strictSame(logged, [], 'no request caused an internal error')
  t.notOk('admin' in {} || 'x' in {}, 'no prototype was changed')
})

t.test('the valid bodies are accepted', async (t) => {
  const statuses: number[] = []
  for (const [method, path, body] of routes.filter(([method]) => method !== 'DELETE')) {
    statuses.push((await ann.call(method, path, { body })).status)
    // Signing in has replaced the session.
    if (path === '/auth/signin') break
  }
  t.strictSame(statuses, [201, 200])
})

async function snapshot(): Promise<unknown> {
  const { rows } = await database.query(`
    select (select jsonb_agg(u order by id) from auth.users u) as users,
      (select count(*) from public.reports) as reports,
      (select count(*) from auth.sessions) as sessions`)
  return rows
}
