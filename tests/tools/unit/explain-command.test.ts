// The command line of `rowhouse explain`: options, requests, exit codes.
import t from 'tap'
import type { Dependencies } from '../../../server/tools/command-line/dependencies.ts'
import { runProgram } from '../../../server/tools/command-line/program.ts'
import { parseRequest } from '../../../server/tools/explain/request-line.ts'

const json = ['content-type', 'application/json'] as const
const requests: readonly (readonly [
  line: string,
  data: string | undefined,
  headers: string[],
  method: string,
  target: string,
  sent: unknown,
])[] = [
  ['GET /rest/v1/tasks?select=*', undefined, [], 'GET', '/tasks?select=*', []],
  ['  /rest/v1/tasks ', undefined, [], 'GET', '/tasks', []],
  ['/tasks', '{}', [], 'POST', '/tasks', [json]],
  ['patch /rest/v1?x', '{}', ['content-type: text/csv'], 'PATCH', '/?x', [['content-type', 'text/csv']]],
  ['DELETE http://localhost:3000/rest/v1/a%20b?c=eq.d e', undefined, [], 'DELETE', '/a%20b?c=eq.d%20e', []],
  ['/rest/v10/tasks', undefined, ['Prefer:  count=exact '], 'GET', '/rest/v10/tasks', [['prefer', 'count=exact']]],
  ['/t?name=eq.Zoë"', undefined, ['X: é'], 'GET', '/t?name=eq.Zo%C3%AB%22', [['x', 'Ã©']]],
  ['/t?and=(a.gt.1,b.in.(2,3))', undefined, [], 'GET', '/t?and=(a.gt.1,b.in.(2,3))', []],
]

t.test('requests', (t) => {
  for (const [line, data, headers, method, target, sent] of requests) {
    const body = data === undefined ? undefined : Buffer.from(data)
    const parsed = parseRequest({ line, data: body, headers }, '/rest/v1')
    t.strictSame(
      [parsed.method, parsed.target, parsed.headers, parsed.body.toString()],
      [method, target, sent, data ?? ''],
      line,
    )
  }
  t.equal(parseRequest({ line: '/tasks', data: undefined, headers: [] }, '/').target, '/tasks')
  t.end()
})

t.test('invalid requests', (t) => {
  const parse = (line: string, header?: string) => () =>
    parseRequest({ line, data: undefined, headers: header === undefined ? [] : [header] }, '/rest/v1')
  t.throws(parse('TRACE /tasks'), { message: /^The method TRACE cannot be explained: allowed are GET, HEAD, POST/ })
  for (const line of ['', 'tasks', 'GET', 'GET tasks'])
    t.throws(parse(line), { message: /^A request is a method and a path/ }, line)
  for (const header of ['', 'x', ': y', 'a b: c', 'a: b\r\nc: d']) {
    t.throws(parse('/tasks', header), { message: /^A header is a name and a value/ }, header)
  }
  t.end()
})

async function run(...args: string[]): Promise<readonly [code: number, error: string]> {
  let error = ''
  const code = await runProgram(['explain', ...args], {
    print: () => undefined,
    printError: (text: string) => void (error += text),
    withDatabaseSettings: () => Promise.resolve({ restBasePath: '/rest/v1' }),
    bodyValidator: () => Promise.resolve({ forTable: () => undefined }),
    withDatabase: () => Promise.reject(new Error('no database')),
  } as unknown as Dependencies)
  return [code, error]
}

t.test('options', async (t) => {
  const table: readonly (readonly [args: string[], code: number, error: RegExp])[] = [
    [[], 1, /missing required argument 'request'/],
    [['/tasks', '--as', 'a@b', '--key', 'k'], 1, /option '--as <email>' cannot be used with option '--key <key>'/],
    [['/tasks', '--claims', '{'], 1, /Allowed is a JSON object/],
    [['/tasks', '--claims', '[]'], 1, /Allowed is a JSON object/],
    [['/tasks', '-d', '@/nothing/here'], 2, /^The body cannot be read: ENOENT/],
    [['tasks'], 2, /^A request is a method and a path/],
    [['/tasks', '--claims', '{"sub":"x"}', '-H', 'a: b', '-H', 'c: d'], 2, /^no database/],
  ]
  for (const [args, code, error] of table) {
    const [found, text] = await run(...args)
    t.equal(found, code, args.join(' '))
    t.match(text, error)
  }
})
