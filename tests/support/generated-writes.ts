// Random writes and calls, over `fixtures/writes.sql`. Most are valid; some have a value of the wrong type, or a syntax
// error.
import type { Random } from './seeded-random.ts'
import type { SentRequest } from './sent-request.ts'
import { unknownTags } from './unknown-tags.ts'

type Choices = readonly [string, ...string[]]

/** JSON values, by the type of column that they are intended for. */
const values = {
  integer: ['1', '2', '3', '77', 'null', '"5"', '12345678901', '1.5', '"x"'],
  small: ['1', '2', '0', '40000', 'null'],
  big: ['9223372036854775807', '9007199254740993', '"12"', '-1', '1e3', '9223372036854775808'],
  numeric: ['1.10', '0.1000000000000000000000000001', '1e400', '-0', '"NaN"', '123456789012345678901234567890'],
  text: ['"plain"', '""', 'null', '"é \\"q\\" , ;"', '"a\\nb"', '7', 'true', '{"a":1}', '"Fiat"', '"radio"', '"fast"'],
  colour: ['"red"', '"blue"', 'null', '"grün"'],
  state: ['"new"', '"used"', '"scrap"', '"lost"', 'null'],
  json: ['{"a": [1, 2.50]}', '[]', '"text"', 'null', '12345678901234567890', '{"b":{"c":null}}'],
  list: ['[1,2]', '"{3,4}"', '[]', 'null', '["x"]', '[[1],[2]]'],
} as const satisfies Record<string, Choices>

type Kind = keyof typeof values

type Target = {
  readonly path: string
  /** Whether the key comes from a sequence, which a rollback does not reset: the key must not be in the response. */
  readonly hiddenKey?: true
  /** Required columns, so that nothing depends on a sequence, then optional ones. */
  readonly key: readonly (readonly [string, Kind])[]
  readonly others: readonly (readonly [string, Kind])[]
  readonly selects: Choices
  readonly filters: Choices
  readonly conflicts: Choices
}

const targets: readonly [Target, ...Target[]] = [
  {
    path: '/notes',
    key: [],
    others: [
      ['message', 'text'],
      ['level', 'integer'],
    ],
    selects: ['*', 'message', 'level,m:message', 'level::text', 'unknown'],
    filters: [
      'level=eq.1',
      'level=gt.5',
      'message=like.*s*',
      'or=(level.eq.1,level.eq.2)',
      'level=eq.x',
      'nope=is.null',
    ],
    conflicts: ['message'],
  },
  {
    path: '/tags',
    key: [['name', 'text']],
    others: [],
    selects: ['*', 'name', 'n:name'],
    filters: ['name=eq.fast', 'name=in.(fast,clean)', 'name=neq.fast', 'name=eq.none'],
    conflicts: ['name', 'name', 'nope'],
  },
  {
    path: '/pairs',
    key: [
      ['a', 'integer'],
      ['b', 'integer'],
    ],
    others: [],
    selects: ['*', 'a', 'b,a'],
    filters: ['a=eq.1', 'a=eq.1&b=eq.2', 'b=gte.1', 'not.and=(a.eq.1,b.eq.1)'],
    conflicts: ['a,b', 'b,a', 'a'],
  },
  {
    path: '/fittings',
    key: [
      ['vehicle_id', 'small'],
      ['part', 'text'],
    ],
    others: [
      ['quantity', 'integer'],
      ['note', 'text'],
    ],
    selects: ['*', 'part,vehicles(plate)', 'quantity,...vehicles(plate)', 'part,vehicles!inner(id,makes(name))'],
    filters: [
      'vehicle_id=eq.1',
      'part=eq.radio',
      'vehicle_id=eq.1&part=eq.radio',
      'quantity=lt.2',
      'vehicles.plate=eq.AA-1',
    ],
    conflicts: ['vehicle_id,part', 'part'],
  },
  {
    path: '/makes',
    key: [
      ['id', 'small'],
      ['name', 'text'],
    ],
    others: [],
    selects: ['*', 'name', 'id,vehicles(plate)', 'id,count:vehicles(count)'],
    filters: ['id=eq.1', 'id=eq.77', 'name=eq.Fiat', 'id=in.(2,3)', 'id=not.eq.1'],
    conflicts: ['id', 'name'],
  },
  {
    path: '/vehicles',
    key: [['id', 'small']],
    others: [
      ['plate', 'text'],
      ['make_id', 'small'],
      ['colour', 'colour'],
      ['doors', 'small'],
      ['state', 'state'],
      ['label', 'text'],
    ],
    selects: [
      '*',
      'id,label',
      'plate,makes(*),fittings(part)',
      'loud_plate,colour',
      'id,state::text,...makes(make:name)',
    ],
    filters: [
      'id=eq.1',
      'id=gt.1',
      'colour=is.null',
      'state=eq.used',
      'plate=ilike.*-*',
      'loud_plate=eq.AA-1!',
      'id=lt.3&colour=eq.red',
    ],
    conflicts: ['id', 'plate', 'colour'],
  },
  {
    path: '/ledger',
    hiddenKey: true,
    key: [],
    others: [
      ['amount', 'numeric'],
      ['big', 'big'],
      ['doc', 'json'],
      ['raw', 'json'],
      ['list', 'list'],
    ],
    selects: ['amount,big', 'doc,raw', 'list,doc->a', 'doc->a->>0,amount'],
    filters: ['big=eq.7', 'amount=lt.2', 'doc->>a=is.null'],
    conflicts: ['n'],
  },
  {
    path: '/plates',
    key: [['id', 'small']],
    others: [['name', 'text']],
    selects: ['*', 'name'],
    filters: ['id=eq.1', 'name=eq.CC-3', 'id=gt.50'],
    conflicts: ['id'],
  },
  {
    path: '/red_vehicles',
    key: [['id', 'small']],
    others: [
      ['plate', 'text'],
      ['colour', 'colour'],
    ],
    selects: ['*', 'id', 'plate,colour'],
    filters: ['id=eq.1', 'plate=eq.AA-1'],
    conflicts: ['id', 'plate'],
  },
  {
    path: '/Odd%20Names',
    key: [['the key', 'small']],
    others: [
      ['a,b', 'text'],
      ['tag=x', 'text'],
    ],
    selects: ['*', '"the key"', 'x:"a,b"'],
    filters: ['the%20key=eq.1', '%22the%20key%22=gte.1'],
    conflicts: ['"the key"'],
  },
]

const calls: readonly [
  readonly [string, readonly (readonly [string, Kind])[]],
  ...(readonly [string, readonly (readonly [string, Kind])[]])[],
] = [
  [
    'add',
    [
      ['a', 'integer'],
      ['b', 'small'],
    ],
  ],
  [
    'greet',
    [
      ['name', 'text'],
      ['mark', 'text'],
    ],
  ],
  [
    'required_and_default',
    [
      ['a', 'small'],
      ['b', 'small'],
    ],
  ],
  [
    'price',
    [
      ['vehicle', 'small'],
      ['discount', 'numeric'],
    ],
  ],
  ['price', [['plate', 'text']]],
  ['pick', [['a', 'text']]],
  ['sorted', [['list', 'list']]],
  [
    'limited',
    [
      ['name', 'text'],
      ['code', 'text'],
    ],
  ],
  [
    'precise',
    [
      ['n', 'numeric'],
      ['big', 'big'],
    ],
  ],
  ['named_json', [['doc', 'json']]],
  ['gives_vehicle', [['key', 'small']]],
  ['gives_vehicles', []],
  ['gives_numbers', [['n', 'small']]],
  ['gives_table', [['n', 'small']]],
  ['gives_out', [['a', 'small']]],
  ['gives_void', []],
  ['gives_null', []],
  ['gives_set_of_out', []],
  ['delete_fittings', [['vehicle', 'small']]],
  ['add_tag', [['name', 'text']]],
  ['whole_json', [['a', 'integer']]],
  [
    'whole_jsonb',
    [
      ['a', 'json'],
      ['b', 'text'],
    ],
  ],
  ['setting', [['name', 'text']]],
  ['unheard_of', [['a', 'text']]],
]

const preferences: Choices = [
  'return=minimal',
  'return=representation',
  'return=representation',
  'return=headers-only',
  'count=exact',
  'missing=default',
  'resolution=merge-duplicates',
  'resolution=ignore-duplicates',
  'handling=strict',
  'handling=lenient',
  'tx=rollback',
  'timezone=UTC',
  'unknown=1',
]

const accepts: Choices = [
  'application/json',
  '*/*',
  'text/csv',
  'application/vnd.pgrst.object+json',
  'image/gif',
  'text/html, application/json;q=0.5',
]

const object = (row: readonly (readonly [string, string])[]): string =>
  `{${row.map(([name, value]) => `${JSON.stringify(name)}: ${value}`).join(', ')}}`

/** A value in its text form, outside JSON. */
function plain(value: string): string {
  const parsed: unknown = JSON.parse(value)
  return typeof parsed === 'string' ? parsed : parsed === null ? 'NULL' : value
}

const csvField = (value: string): string => `"${plain(value).replaceAll('"', '""')}"`

type Body = { readonly text: string; readonly type: string }

function bodyOf(random: Random, columns: readonly (readonly [string, Kind])[], mostRows: number): Body {
  const names = columns.map(([name]) => name)
  const row = (): [string, string][] => columns.map(([name, kind]) => [name, random.pick<string>(values[kind])])
  const json = (text: string): Body => ({ text, type: 'application/json' })
  if (random.chance(0.03)) return json(random.pick(['', '{', 'null', '5', '[1]', '[{"a":1},{"b":2}]']))
  if (columns.length > 0 && random.chance(0.12)) {
    const lines = random.some(0, mostRows, () =>
      row()
        .map(([, value]) => csvField(value))
        .join(','),
    )
    return { text: [names.join(','), ...lines].join('\n'), type: 'text/csv' }
  }
  if (random.chance(0.1)) {
    const pairs = row().map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(plain(value))}`)
    return { text: pairs.join('&'), type: 'application/x-www-form-urlencoded' }
  }
  if (random.chance(0.4)) return json(`[${random.some(0, mostRows, () => object(row())).join(',')}]`)
  return json(object(row()))
}

/** Returns one request. */
export function generatedWrite(random: Random): SentRequest {
  return conditional(random, random.chance(0.3) ? call(random) : write(random))
}

function headersOf(random: Random, type: string | undefined): Record<string, string> {
  const prefer = random.some(0, 3, () => random.pick(preferences)).join(', ')
  return {
    ...(type === undefined ? {} : { 'Content-Type': type }),
    ...(prefer === '' ? {} : { Prefer: prefer }),
    ...(random.chance(0.25) ? { Accept: random.pick(accepts) } : {}),
  }
}

/** With a condition that holds, of which other methods than these refuse some. */
function conditional(random: Random, request: SentRequest): SentRequest {
  if (!['GET', 'HEAD', 'POST'].includes(request.method) || !random.chance(0.15)) return request
  return { ...request, headers: { ...request.headers, 'If-None-Match': random.pick(unknownTags) } }
}

function write(random: Random): SentRequest {
  const target = random.pick(targets)
  const method = random.pick(['POST', 'POST', 'PATCH', 'PATCH', 'PUT', 'DELETE'])
  const others = target.others.filter(() => random.chance(0.4))
  const columns = method === 'PATCH' ? others : [...target.key, ...others]
  const parameters: string[] = []
  if (target.hiddenKey || random.chance(0.6)) parameters.push(`select=${random.pick(target.selects)}`)
  if (method === 'PUT' && target.key.length > 0 && random.chance(0.7)) {
    for (const [name, kind] of target.key) {
      parameters.push(`${encodeURIComponent(name)}=eq.${encodeURIComponent(plain(random.pick<string>(values[kind])))}`)
    }
  } else if (method !== 'POST' && random.chance(0.85)) parameters.push(random.pick(target.filters))
  if (method === 'POST' && random.chance(0.25)) parameters.push(`on_conflict=${random.pick(target.conflicts)}`)
  if (method !== 'DELETE' && random.chance(0.15)) {
    const names = columns
      .map(([name]) => (/\W/.test(name) ? `"${name}"` : name))
      .concat(random.chance(0.1) ? 'nope' : [])
    if (names.length > 0) parameters.push(`columns=${names.join(',')}`)
  }
  const query = parameters.length === 0 ? '' : `?${parameters.join('&')}`
  if (method === 'DELETE') return { method, path: target.path + query, headers: headersOf(random, undefined) }
  const body = bodyOf(random, columns, method === 'POST' ? 3 : 1)
  const headers = headersOf(random, body.type)
  if (target.hiddenKey && headers.Prefer?.includes('headers-only')) delete headers.Prefer
  return { method, path: target.path + query, headers, body: body.text }
}

function call(random: Random): SentRequest {
  const [name, parameters] = random.pick(calls)
  const given = parameters.filter(() => random.chance(0.85))
  const query: string[] = []
  if (name.startsWith('gives_vehicle') && random.chance(0.6))
    query.push(random.pick(['select=id,makes(name)', 'select=id&id=gt.1', 'select=loud_plate', 'order=id.desc']))
  if (random.chance(0.15)) query.push(random.pick(['limit=1', 'offset=1', 'limit=0', 'offset=9']))
  const path = `/rpc/${name}`
  if (random.chance(0.4)) {
    for (const [parameter, kind] of given) {
      query.push(`${parameter}=${encodeURIComponent(plain(random.pick<string>(values[kind])))}`)
    }
    const method = random.chance(0.15) ? 'HEAD' : 'GET'
    return { method, path: `${path}?${query.join('&')}`, headers: headersOf(random, undefined) }
  }
  const body = bodyOf(random, given, 1)
  const rest = query.length === 0 ? '' : `?${query.join('&')}`
  return { method: 'POST', path: path + rest, headers: headersOf(random, body.type), body: body.text }
}
