// A body that is read in parts, because it is large, has the result of one that is read at once: the same payload and columns, or the
// same first error. `SEED=` chooses other bodies.
import t from 'tap'
import { loadConfig } from '../../../server/config/load.ts'
import { ApiError } from '../../../server/rest/errors.ts'
import type { HttpRequest } from '../../../server/rest/request/api-request.ts'
import { readLargePayload } from '../../../server/rest/request/large-payload.ts'
import { parseApiRequest } from '../../../server/rest/request/parse-api-request.ts'
import { checkPayload } from '../../../server/rest/request/payload-check.ts'
import { createValidator } from '../../../server/validation/validator.ts'
import { seededRandom, testSeed } from '../../support/seeded-random.ts'

const { config } = loadConfig({ env: { PGRST_DB_SCHEMAS: 'public' } })
const validator = await createValidator()
const options = { addressed: undefined, settings: config, further: [], validator, cache: undefined, limit: 1e8 }

type Outcome = { readonly payload: unknown; readonly columns: unknown } | readonly unknown[]

function outcomeOf(read: () => HttpRequest): Outcome {
  try {
    const { request, ...found } = parseApiRequest(read(), config)
    checkPayload(request, found, validator)
    return { payload: request.input.payload, columns: request.shape.columns }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    return [error.code, error.message, error.details]
  }
}

type Sent = { readonly method: string; readonly path: string; readonly query: string; readonly type?: string }

const request = ({ method, path, query, type = 'application/json' }: Sent, body: Buffer): HttpRequest => ({
  method,
  path,
  query,
  headers: [['content-type', type]],
  body,
})

/** Reads a body in parts. Returns the request and the longest of the parts in milliseconds. */
function readInParts(http: HttpRequest): { readonly read: HttpRequest; readonly longest: number } {
  const reading = readLargePayload(http, options)
  let longest = 0
  for (;;) {
    const begin = performance.now()
    const { done, value } = reading.next()
    longest = Math.max(longest, performance.now() - begin)
    if (done === true) return { read: value, longest }
  }
}

const both = (sent: Sent, body: Buffer): readonly [small: Outcome, large: Outcome] => {
  const http = request(sent, body)
  return [outcomeOf(() => http), outcomeOf(() => readInParts(http).read)]
}

const runs = '/classification_runs'
const requests: readonly [Sent, ...Sent[]] = [
  { method: 'POST', path: runs, query: '' },
  { method: 'POST', path: runs, query: 'columns=image_uri,confidence' },
  { method: 'PATCH', path: runs, query: 'id=eq.1' },
  { method: 'PATCH', path: runs, query: 'id=eq.1&columns=confidence' },
  { method: 'PUT', path: runs, query: 'id=eq.1' },
  { method: 'POST', path: '/elsewhere', query: '' },
  { method: 'POST', path: '/elsewhere', query: 'columns=a,b' },
  { method: 'POST', path: '/rpc/called', query: '' },
]

t.test('generated bodies', async (t) => {
  const { pick, below, chance, some } = seededRandom(testSeed(43))
  const names = [
    ...(['"confidence"', '"is_positive"', '"image_uri"', '"image_source"', '"result_label"'] as const),
    ...[
      '"confidenc\\u0065"',
      '"\\u0063onfidence"',
      '"confidence "',
      '"conf"',
      '""',
      '"__proto__"',
      '"10"',
      '"a"',
      '"b"',
    ],
    `"${'n'.repeat(150)}"`,
    `"${'n'.repeat(151)}"`,
  ] as const
  const values = [
    ...([
      '1',
      '50.5',
      '101',
      '"x"',
      'true',
      'null',
      '"https://a.test/1.jpg"',
      '""',
      '[]',
      '{"a":{}}',
      '"\\u0000"',
    ] as const),
    ...['-0', '1e2', '"😀"', '"\\ud83d\\ude00"', '"\\ud800"', `"${'v'.repeat(300)}"`],
  ] as const
  const whole = [
    ['"image_uri"', '"https://a.test/1.jpg"'],
    ['"image_source"', '"phone"'],
    ['"result_label"', '"x"'],
    ['"confidence"', '50'],
    ['"is_positive"', 'true'],
  ] as const
  const member = ([name, value]: readonly [string, string]): string => `${name}${pick(['', ' '])}:${value}`
  const row = (): string => {
    if (chance(0.05)) return pick(values)
    const members: (readonly [string, string])[] = chance(0.8)
      ? whole.map(([name, value]) => [name, chance(0.05) ? pick(values) : value])
      : some(0, 4, () => [pick(names), pick(values)])
    if (chance(0.1)) members.push([pick(names), pick(values)])
    if (chance(0.1)) members.reverse()
    if (chance(0.05)) members.splice(below(members.length + 1), 1)
    return `{${members.map(member).join(',')}}`
  }
  const kinds = new Map<string, number>()
  for (let round = 0; round < 6000; round++) {
    // So few that there are less than a hundred faults: which further ones are listed is not the same.
    const rows = some(0, pick([1, 3, 12]), row)
    const body = chance(0.15) ? (rows[0] ?? pick(values)) : `[${rows.join(pick([',', ', ', ',\n']))}]`
    const at = below(body.length + 1)
    const text = chance(0.1) ? body.slice(0, at) + pick(['', ',', '}', '"', '0']) + body.slice(at + 1) : body
    const sent = pick(requests)
    const [small, large] = both(sent, Buffer.from(text))
    const kind = Array.isArray(small) ? String(small[1]) : 'read'
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
    if (JSON.stringify(small) !== JSON.stringify(large))
      t.strictSame(large, small, JSON.stringify([sent, text]).slice(0, 2000))
  }
  t.comment(JSON.stringify([...kinds]))
  for (const kind of [
    'read',
    'Empty or invalid json',
    'All object keys must match',
    'The body does not match the schema of the table',
  ])
    t.ok((kinds.get(kind) ?? 0) > 100, kind)
})

t.test('which error is the first one', async (t) => {
  const [post] = requests
  const right =
    '{"image_uri":"https://a.test/1.jpg","image_source":"phone","result_label":"x","confidence":50,"is_positive":true}'
  const wrong = right.replace('50', '500')
  for (const [title, last] of [
    ['JSON that ends too early', ''],
    ['no object', ',7]'],
    ['other keys', ',{"a":1}]'],
    [
      'the same keys in another order, one of them escaped',
      `,${right.replace('"confidence":50,', '').replace('}', ',"c\\u006fnfidence":1}')}]`,
    ],
    ['a key twice', `,${right.replace('}', ',"confidence":1}')}]`],
    ['the end of the array', ']'],
  ] as const)
    for (const first of [right, wrong]) {
      const body = Buffer.from(`[${first}${`,${right}`.repeat(2000)}${last}`)
      const [small, large] = both(post, body)
      t.strictSame(large, small, title)
    }
})

t.test('the parts are short, however the body is divided into rows', async (t) => {
  const [, , , , , elsewhere = requests[0]] = requests
  const of = (count: number, row: (n: number) => string): Buffer =>
    Buffer.from(`[${Array.from({ length: count }, (_, n) => row(n)).join(',')}]`)
  const run = (text: string): string =>
    `{"image_uri":"https://a.test/1.jpg","image_source":"${text}","result_label":"x","confidence":50,"is_positive":true}`
  for (const [title, sent, body] of [
    ['short rows', elsewhere, of(200_000, (n) => `{"a":${n},"b":"x"}`)],
    ['rows with keys in turn', elsewhere, of(200_000, (n) => (n % 2 ? `{"a":1,"b":2}` : `{"b":1,"a":2}`))],
    [
      'rows of many keys',
      elsewhere,
      of(500, () => `{${Array.from({ length: 1500 }, (_, n) => `"k${n}":1`).join(',')}}`),
    ],
    ['one row of 10 MB', elsewhere, of(1, () => `{"a":"${'x'.repeat(10_000_000)}"}`)],
    ['checked rows', requests[0], of(50_000, () => run('phone'))],
    ['checked rows of 300 bytes', requests[0], of(20_000, () => run('x'.repeat(200)))],
  ] as const) {
    // The best of some attempts: other work of the machine makes any part long.
    const longest = Math.min(...Array.from({ length: 4 }, () => readInParts(request(sent, body)).longest))
    t.comment(`${title}: ${body.length} bytes, ${longest.toFixed(1)} ms`)
    t.ok(longest < 250, title)
  }
})
