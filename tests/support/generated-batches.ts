// Random batches over `fixtures/writes.sql`: reads, writes, calls and nested writes with preferences, conditions, pages
// and references to earlier results.
import { generatedWrite } from './generated-writes.ts'
import type { Random } from './seeded-random.ts'

/** A request of a batch. */
export type GeneratedPart = {
  readonly id: string
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** JSON text, or a text of another type. */
  readonly body?: string
  readonly isJson: boolean
}

const reads = [
  '/makes?select=id,name&order=id',
  '/vehicles?select=id,plate,makes(name)&order=id&limit=2',
  '/vehicles?select=colour&distinct=on.*&order=colour',
  '/vehicles?select=id,make_id&distinct=on.(make_id)&order=make_id,id.desc',
  '/vehicles?select=make_id,id.count()&having=id.count().gt.0&order=make_id',
  '/vehicles?id=eq.1',
  '/vehicles?order=id&offset=1&limit=1',
  '/tags?name=in.(fast,"cle\\"an",clean)&order=name',
  '/makes/1',
  '/notes?offset=50',
  '/unheard_of',
  '/makes?id=eq.x',
  '/makes?name=eq.%00',
  '/Odd%20Names?select=%22a,b%22&order=%22the%20key%22',
  '/pairs?or=(a.eq.1,and(b.gt.1,b.lt.5))&order=a,b',
  '/secrets',
  '/',
] as const
const readHeaders = [
  {},
  {},
  { Prefer: 'count=exact' },
  { Prefer: 'count=planned' },
  { Prefer: 'pagination=keyset' },
  { Prefer: 'pagination=keyset, count=exact' },
  { Accept: 'text/csv' },
  { Accept: 'application/x-ndjson' },
  { Accept: 'application/vnd.pgrst.object+json' },
  { Range: '0-0' },
  { 'If-None-Match': '*' },
  { 'If-None-Match': '"none"' },
  { 'Accept-Profile': 'depot' },
  { Accept: 'image/png' },
] as const
const conditions = ['*', '"none"', 'W/"1"', '"a", "b"', 'nonsense'] as const
const hostile = [
  '{"$ref": 1}',
  '{"$ref": "p0"}',
  '{"__proto__": {"a": 1}}',
  '{"constructor": null}',
  '{"a": "\\u0000"}',
  '{"a": "${p0#/id}"}',
  '{"a": {"$$ref": "x#/y"}}',
  '[]',
  '{}',
  `${'['.repeat(60)}${']'.repeat(60)}`,
] as const

/** Returns the requests of one batch. The first may be referred to by the others. */
export function generatedBatch(random: Random): readonly GeneratedPart[] {
  const parts: GeneratedPart[] = []
  const count = random.integer(1, 7)
  const hasSource = random.chance(0.5)
  if (hasSource) parts.push(source(random))
  while (parts.length < count) {
    const part = random.chance(0.35)
      ? read(random)
      : hasSource && random.chance(0.4)
        ? reference(random)
        : random.chance(0.15)
          ? nested(random)
          : write(random)
    if (part) parts.push({ ...part, id: `p${parts.length}` })
  }
  return parts
}

const plain = { id: 'p0', headers: {}, isJson: true } as const
const representation = { Prefer: 'return=representation' } as const

const source = (random: Random): GeneratedPart => ({
  ...plain,
  method: 'POST',
  url: '/makes?select=id,name',
  headers: { ...representation, Accept: 'application/vnd.pgrst.object+json' },
  body: JSON.stringify({ id: random.integer(200, 210), name: random.pick(['Saab', 'a,"b"', 'x)', '${p0#/id}', 'é']) }),
})

/** A request with references to the source. */
const reference = (random: Random): GeneratedPart => ({
  ...plain,
  ...random.pick<Pick<GeneratedPart, 'method' | 'url'> & Partial<GeneratedPart>>([
    { method: 'GET', url: '/makes?id=eq.${p0#/id}' },
    { method: 'GET', url: '/makes?name=in.(${p0#/name},Fiat)&order=id' },
    { method: 'GET', url: '/makes?or=(name.eq.${p0#/name},id.eq.1)&order=id' },
    { method: 'GET', url: '/makes/${p0#/id}' },
    { method: 'GET', url: '/makes?id=eq.${p0#/nothing}' },
    { method: 'DELETE', url: '/makes?id=eq.${p0#/id}' },
    { method: 'PATCH', url: '/makes?id=eq.${p0#/id}', headers: representation, body: '{"name": "other"}' },
    { method: 'POST', url: '/rpc/whole_json', body: '{"a": {"$ref": "p0#/id"}}' },
    {
      method: 'POST',
      url: '/vehicles?select=id,plate,makes(name)',
      headers: representation,
      body: `{"id": ${random.integer(300, 310)}, "plate": {"$ref": "p0#/name"}, "make_id": {"$ref": "p0#/id"}}`,
    },
    { method: 'POST', url: '/tags', headers: representation, body: '[{"name": {"$ref": "p0#/name"}}]' },
  ]),
})

function read(random: Random): GeneratedPart {
  const headers = random.pick(readHeaders)
  return { ...plain, method: random.chance(0.15) ? 'HEAD' : 'GET', url: random.pick(reads), headers }
}

const nested = (random: Random): GeneratedPart => ({
  ...plain,
  method: 'POST',
  url: '/makes?select=id,vehicles(id,plate)',
  headers: representation,
  body: JSON.stringify({
    id: random.integer(400, 410),
    name: `nested ${random.integer(0, 5)}`,
    vehicles: random.some(0, 3, () => ({ id: random.integer(500, 505), plate: random.pick(['N-1', 'N-2', 'AA-1']) })),
  }),
})

/** Undefined for a body that no batch can have. */
function write(random: Random): GeneratedPart | undefined {
  const { method, path, headers, body } = generatedWrite(random)
  const url = path.replaceAll(' ', '%20')
  const prefer = (headers.Prefer ?? '')
    .split(', ')
    .filter((one) => one !== '' && !one.startsWith('tx='))
    .join(', ')
  const others = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'Prefer'))
  const condition: Record<string, string> =
    method !== 'POST' && random.chance(0.15) ? { 'If-Match': random.pick(conditions) } : {}
  const all = { ...others, ...condition, ...(prefer === '' ? {} : { Prefer: prefer }) }
  if (body === undefined) return { ...plain, method, url, headers: all }
  const isJson = headers['Content-Type'] === 'application/json'
  const text = isJson && random.chance(0.05) ? random.pick(hostile) : body.toString()
  if (isJson && !isJsonText(text)) return undefined
  return { ...plain, method, url, headers: all, body: text, isJson }
}

function isJsonText(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
