// Requests that try to be mistaken for others: ordinary ones of many shapes, and variants with a header in the query, a
// separator in a name or value, or a duplicate header. Everything is derived from a seed.
import { seededRandom, type Random } from './seeded-random.ts'

export type Header = readonly [name: string, value: string]

/** A request without credentials. Strings have one character per byte. */
export type Attack = {
  readonly method: string
  readonly path: string
  /** Query parameters; `§` is replaced by a value. */
  readonly query: readonly string[]
  readonly headers: readonly Header[]
  readonly body: string
}

const bytes = (text: string): string => Buffer.from(text).toString('latin1')

const values: readonly string[] = [
  ...['1', '2', '7', '12', '30', '31', '32', 'ann', 'bob', 'item 3', 'archived 3', 'ünï', '😀', 'null', 'true', ''],
  ...['a b', 'line\nbreak', '\r', '\n\n', 'x\ny', 'a:b&c=d', 'a;b', 'content-profile:archive', 'range:0-1'],
  ...['content-profile:archive\n', '\ncontent-profile:archive', 'prefer:count=exact', '3:abc', 'h5:range', 'v0z', '*'],
  ...[
    'item*',
    '%',
    '_',
    '(1,2)',
    '1,2',
    '(any).1',
    'eq.1',
    'not.eq.1',
    '"',
    "'",
    '\\',
    '$1',
    '{a,b}',
    '{"key":1}',
    '\0',
  ],
  ...['1'.repeat(36), 'x'.repeat(300), '1.5', '-1', '1e3', '9'.repeat(20), '2020-01-01T00:00:00Z'],
]

const operators: readonly string[] = [
  ...['eq.', 'neq.', 'gt.', 'gte.', 'lt.', 'lte.', 'like.', 'ilike.', 'match.', 'imatch.', 'isdistinct.', 'cs.', 'cd.'],
  ...['ov.', 'fts.', 'plfts.', 'phfts.', 'wfts.', 'wfts(english).', 'eq(any).', 'like(all).', 'not.eq.', 'not.like.'],
  ...[
    'EQ.',
    'equals.',
    'eq',
    '',
    'not.',
    'not.not.eq.',
    'e%71.',
    'eq%2E',
    'is.',
    'in.',
    'not.in.',
    'foo.',
    'in.(',
    'sl.',
  ],
]
const names: readonly string[] = [
  ...['id', 'name', 'owner', 'amount', 'tags', 'data', 'data->key', 'data->>key', 'parent_id', 'nothing', 'Id', '%69d'],
  ...[
    'items.id',
    'parent.id',
    '"id"',
    'id.limit',
    'select',
    'and',
    'id ',
    'a',
    'b',
    'who',
    'words',
    'ünï',
    'in',
    'not',
  ],
]
const wholeParts: readonly string[] = [
  ...['select=id,name', 'select=*', 'select=id,parent:items!parent_id(id)', 'select=id::text', 'select=id::%20'],
  ...[
    'distinct=on.*',
    'distinct=on.(name)',
    'distinct=on.(owner,id)',
    'distinct=on.(§)',
    'distinct=§',
    'distinct=eq.§',
  ],
  ...['having=count().gt.§', 'having=id.max().lt.§', 'having=§', 'having=or.(count().gte.§,name.min().eq.§)'],
  ...[
    'having=(count().gt.0,owner.eq.§)',
    'having=%28count().gt.0%29',
    'select=owner,id.count(distinct)',
    'select=owner',
  ],
  ...['select=count()', 'select=nothing', 'select=id,', 'select', 'order=id.desc', 'order=name.asc,id', 'order=id.up'],
  ...['limit=2', 'limit=0', 'limit=-1', 'limit=x', 'offset=1', 'limit=1&offset=1', 'columns=id,name', 'on_conflict=id'],
  ...['and=(id.eq.§,name.eq.§)', 'or=(id.eq.§,amount.gt.§)', 'or=(name.like.§,owner.is.null)', 'not.and=(id.eq.§)'],
  ...[
    'or=(id.eq.§,and(id.gt.§,id.lt.9))',
    'or=(id.in.(1,§),id.eq.§)',
    'and=(id.foo.§)',
    'or=(id.eq.§',
    'items.or=(id.eq.1)',
  ],
  ...[
    'owner=is.null',
    'owner=is.TRUE',
    'owner=not.is.null',
    'owner=is.nothing',
    'id=in.(1,2,3)',
    'id=in.(§)',
    'id=in.("1",2)',
  ],
  ...[
    'id=e%71.§',
    '%6eame=eq.§',
    'name=eq(any).{§,ann}',
    'name=like(any).{§,item*}',
    'name=in.("§",b)',
    'name=in.( a, "b,c" )',
    'name=fts(english).§',
    'data->>key=eq.§',
    'data->key=not.is.null',
    'order=name.desc.nullslast',
    'order=name%2Edesc',
    'cursor=§',
    'or=(name.eq."§",id.in.(1,2))',
    'or=%28name.eq.§,id.eq.1%29',
    'and=( id.gt.0 , or(name.eq."a,b",not.and(id.eq.§,owner.is.null)) )',
    'select=id,parent:items!parent_id(id)&parent.or=(id.eq.§,name.eq.§)',
    'select=id,parent:items!parent_id(id)&parent.name=eq.§',
  ],
  ...[
    'name=in.(§,§)',
    'name=in.()',
    'id=not.in.(§,4)',
    '',
    '=',
    '=§',
    '§',
    '&',
    'id=eq.§;name=eq.§',
    'id=eq.§;',
    'a=1&b=2',
  ],
  ...[
    'a=§&b=§',
    'who=§',
    'words=§&words=§',
    'id',
    'id=§',
    'order',
    'limit',
    'x y',
    'id=eq.§&id=eq.§',
    'select=*&select=id',
  ],
]

const paths: readonly string[] = [
  ...['/items', '/items', '/items', '/items', '/rpc/whoami', '/rpc/whoami', '/rpc/add', '/rpc/items_of', '/rpc/joined'],
  ...[
    '/rpc/echo',
    '/nothing',
    '/Items',
    '/%69tems',
    '/items/',
    '/items/7',
    '/%72pc/add',
    '/',
    '/rpc/',
    '/rpc/a/b',
    '/itemś',
  ],
].map(bytes)

const headers: readonly Header[] = [
  ...[
    'application/json',
    'text/csv',
    '*/*',
    '',
    'image/png',
    'application/vnd.pgrst.object+json',
    'text/csv;q=0.5, */*',
  ].map((value): Header => ['Accept', value]),
  ...['public', 'archive', 'Archive', '', 'nothing', 'archivé'].flatMap((value): Header[] => [
    ['Accept-Profile', bytes(value)],
    ['Content-Profile', bytes(value)],
  ]),
  ...['0-1', '1-', '5-2', '', 'x', 'items=0-1', '0-1,3-4', '1-1'].map((value): Header => ['Range', value]),
  ['Range-Unit', 'items'],
  ...[
    'count=exact',
    'count=exact, return=representation',
    'return=representation',
    'return=minimal',
    'count=Exact',
    '',
  ].map((value): Header => ['Prefer', value]),
  ...['tx=commit', 'handling=strict', 'handling=strict, nonsense=1', 'max-affected=1, handling=strict', 'x:y'].map(
    (value): Header => ['Prefer', value],
  ),
  ...['timezone=Europe/Berlin', 'resolution=merge-duplicates', 'missing=default', 'return=headers-only'].map(
    (value): Header => ['Prefer', value],
  ),
  ...['application/json', 'text/csv', 'application/x-www-form-urlencoded', 'text/plain', 'image/png', ''].map(
    (value): Header => ['Content-Type', value],
  ),
  ['Cookie', 'a=b; c=d'],
  ['X-Other', 'other'],
]

const bodies: readonly string[] = [
  ...[
    '',
    '{"id":40,"name":"§"}',
    '[{"id":41,"name":"§"}]',
    '[{"id":42,"name":"a"},{"id":43,"name":"§"}]',
    '{"name":"§"}',
  ],
  ...[
    '{}',
    '[]',
    '[{}]',
    '{"a":1,"b":2}',
    ' {"a":3,"b":4}',
    '{"a":5}',
    '{',
    'x',
    'v',
    '\ufeff{"a":1,"b":2}',
    'id,name\n44,§\n',
  ],
  ...[
    'a=1&b=2',
    '"text"',
    '17',
    'null',
    '{"nothing":1}',
    '{"id":1,"id":2,"name":"§"}',
    '{"who":"§"}',
    '{"words":["§"]}',
  ],
  ...[
    '{"id":45,"name":"§","above:parent_id":{"id":46,"name":"§"}}',
    '{"id":47,"name":"a","items!parent_id":[{"id":48,"name":"§"},{"id":49,"name":"b"}]}',
    '{"id":50,"name":"a","above:parent_id":{"nothing":"§"}}',
    '{"id":51,"name":"a","items":[{"id":52}]}',
  ],
].map(bytes)

const methods: readonly string[] = [
  ...[
    'GET',
    'GET',
    'GET',
    'GET',
    'GET',
    'HEAD',
    'POST',
    'POST',
    'PATCH',
    'PUT',
    'DELETE',
    'DELETE',
    'OPTIONS',
    'TRACE',
  ],
]

const choose = <T>(choices: readonly T[], { below }: Random): T => choices[below(choices.length)] as T

const letterCase = (text: string, { below }: Random): string =>
  [text, text.toLowerCase(), text.toUpperCase()][below(3)] ?? text

function part(random: Random): string {
  if (random.chance(0.45)) return choose(wholeParts, random)
  return `${choose(names, random)}=${choose(operators, random)}§`
}

function strange(random: Random): Attack {
  const { some } = random
  return {
    method: choose(methods, random),
    path: choose(paths, random),
    query: some(0, 3, () => part(random)),
    headers: some(0, 3, () => choose(headers, random)).map(([name, value]) => [letterCase(name, random), value]),
    body: choose(bodies, random),
  }
}

const tameFilters = [
  ...['id=eq.§', 'id=gt.§', 'id=lte.§', 'id=in.(1,2,§)', 'name=eq.§', 'name=neq.§', 'name=like.*§', 'name=ilike.§*'],
  ...[
    'name=in.(§,§)',
    'owner=eq.§',
    'owner=is.null',
    'or=(id.eq.§,owner.eq.§)',
    'and=(id.gt.§,name.like.*)',
    'tags=cs.{§}',
  ],
]
const tameOthers = [
  ...['select=id,name', 'select=id,parent:items!parent_id(id)', 'select=id,owner', 'order=id', 'order=name.desc'],
  ...['limit=2', 'offset=1', 'limit=3&offset=1', 'select=count()', 'select=id::text'],
]
const tameHeaders: readonly Header[] = [
  ['Accept', 'application/json'],
  ['Accept', 'text/csv'],
  ['Accept-Profile', 'archive'],
  ['Content-Profile', 'archive'],
  ['Range', '0-1'],
  ['Range', '2-'],
  ['Prefer', 'count=exact'],
  ['Prefer', 'return=representation'],
  ['Prefer', 'timezone=Europe/Berlin'],
]
const tameCalls: readonly (readonly [string, readonly string[]])[] = [
  ['/rpc/whoami', []],
  ['/rpc/add', ['a=1', 'b=2']],
  ['/rpc/items_of', ['who=§']],
  ['/rpc/joined', ['words=§', 'words=§']],
]

/** Bodies with related rows, which are never cached, and one of the same shape without. */
const nestedBodies: readonly string[] = [
  '{"id":53,"name":"§","owner":"ann","above:parent_id":{"id":54,"name":"§"}}',
  '{"id":53,"name":"§","owner":"ann","above:parent_id":{"id":54,"name":"a","above:parent_id":{"id":55,"name":"§"}}}',
  '{"id":53,"name":"§","above:parent_id":null}',
  '{"id":53,"name":"§","items!parent_id":[{"id":56,"name":"§"},{"id":57,"name":"a","owner":"bob"}]}',
  '{"id":53,"name":"§","items!parent_id":[]}',
  '{"id":53,"name":"§","parent_id":1}',
]

/** A request that succeeds for most callers and values. */
function tame(random: Random): Attack {
  const { some, chance } = random
  const chosen = some(0, 2, () => choose(tameHeaders, random))
  if (chance(0.2)) {
    const [path, query] = choose(tameCalls, random)
    return { method: 'GET', path, query, headers: chosen, body: '' }
  }
  const filters = some(0, 2, () => choose(tameFilters, random))
  const others = some(0, 1, () => choose(tameOthers, random))
  const method = choose(['GET', 'GET', 'GET', 'GET', 'HEAD', 'DELETE', 'PATCH', 'POST'], random)
  if (method === 'POST' || method === 'PATCH') {
    const plain = ['{"id":40,"name":"§"}', '[{"id":41,"name":"§"}]', '{"name":"§"}']
    const body = bytes(choose(method === 'POST' && chance(0.4) ? nestedBodies : plain, random))
    const query = method === 'POST' ? others : [...filters, ...others]
    return { method, path: '/items', query, headers: [...chosen, ['Content-Type', 'application/json']], body }
  }
  return { method, path: '/items', query: [...filters, ...others], headers: chosen, body: '' }
}

/** Ways to write a header that could be mistaken for a part of the query. */
function lookalike([name, value]: Header, { pick, chance }: Random): string {
  const lower = chance(0.8) ? name.toLowerCase() : name
  const separator = pick([':', ':', ':', '=', '%3A', ':%20', '%0a', ';'])
  const ending = pick(['', '', '', '%0a', '%0d%0a', '%0A%0A', ';', '\u00a0'])
  return `${lower}${separator}${value.replaceAll(' ', '%20')}${ending}`
}

/** A variant of a request with a small difference. */
function twin(attack: Attack, random: Random): Attack {
  const { pick, below, chance } = random
  const { query, headers } = attack
  const at = below(Math.max(headers.length, 1))
  const header =
    headers[at] ??
    pick([
      ['Content-Profile', 'archive'],
      ['Range', '0-1'],
      ['Prefer', 'count=exact'],
    ])
  const others = headers.filter((_, index) => index !== at)
  switch (below(8)) {
    case 0:
    case 1:
    case 2:
      return { ...attack, headers: others, query: [...query, lookalike(header, random)] }
    case 3:
      return { ...attack, headers: [...headers, header] }
    case 4:
      return { ...attack, headers: [...others, [header[0], '']] }
    case 5:
      return {
        ...attack,
        query: query.map((text) => (chance(0.5) ? text.replace('=', pick(['', '==', '%3D', '=\u00a0'])) : text)),
      }
    case 6:
      return {
        ...attack,
        path: `${attack.path}${pick(['&', ':', '%0a', '%3f', '%20', ';'])}${query[0]?.replace('§', '') ?? ''}`,
      }
    default:
      return { ...attack, method: choose(methods, random), headers: chance(0.5) ? [...headers].reverse() : others }
  }
}

/** A value as a URL may contain it: percent-encoded, as raw bytes, or unchanged if allowed. */
function written(value: string, { below }: Random): string {
  const encoded = encodeURIComponent(value).replace(/'/g, '%27')
  switch (below(4)) {
    case 0:
      return bytes(value).replace(/[\0-\x20#?]/g, encodeURIComponent)
    case 1:
      return encoded.replaceAll('%20', '+').toLowerCase()
    default:
      return encoded
  }
}

/** An endless sequence of requests. Shapes recur with other values, close to their variants. */
export function* generatedAttacks(seed: number): Generator<Attack, never> {
  const random = seededRandom(seed)
  const { below, chance } = random
  const familiar: Attack[] = []
  for (;;) {
    const known = familiar[below(familiar.length + 1)]
    let chosen: Attack
    if (known && chance(0.85)) chosen = known
    else {
      chosen = known && chance(0.5) ? twin(known, random) : chance(0.7) ? tame(random) : strange(random)
      if (familiar.length < 300) familiar.push(chosen)
      else familiar[below(familiar.length)] = chosen
    }
    const value = (): string => written(choose(values, random), random)
    const query = chosen.query.map((text) => bytes(text).replaceAll(bytes('§'), value))
    const body = chosen.body.replaceAll(bytes('§'), () => bytes(JSON.stringify(choose(values, random)).slice(1, -1)))
    yield { ...chosen, query, body }
  }
}
