// Every method of the query builder of `@supabase/supabase-js`, unmodified, against the whole service.
import { createClient } from '@supabase/supabase-js'
import t, { type Test } from 'tap'
import { createApiKey } from '../../server/identity/api-key/api-key.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase, withClient } from '../support/database.ts'
import { loadFixture } from '../support/fixture.ts'
import { bearer } from '../support/token.ts'

type Record_ = Record<string, unknown>
type Table = { Row: Record_; Insert: Record_; Update: Record_; Relationships: [] }
type Schema = {
  Tables: Record<string, Table>
  Views: Record<string, never>
  Functions: Record<string, { Args: Record_; Returns: Record_[] }>
}
type Database = { __InternalSupabase: { PostgrestVersion: '14' }; public: Schema; shop: Schema }

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
await loadFixture(database, 'shop')
const { url } = await startApplication(t, database.authenticatorUri, {
  PGRST_DB_SCHEMAS: 'public, shop',
  PGRST_DB_EXTRA_SEARCH_PATH: 'public',
  PGRST_DB_PLAN_ENABLED: 'true',
  PGRST_DB_AGGREGATES_ENABLED: 'true',
  PGRST_DB_TX_END: 'commit-allow-override',
  SESSION_SECRETS: 's'.repeat(32),
})

const newKey = (role: string) =>
  withClient(database.adminUri, async (client) => (await createApiKey(client, { role, label: role })).key)
const publishable = await newKey('anon')
const secret = await newKey('service_role')
const subject = '11111111-1111-4111-8111-111111111111'
const jwt = (await bearer('authenticated', { sub: subject })).slice('Bearer '.length)

// The client requires a WebSocket, which Node 20 lacks. It is not used here.
const realtime = { transport: class {} as never }
const connect = (key: string, options: { readonly accessToken?: () => Promise<string> } = {}) =>
  createClient<Database, 'shop'>(url, key, {
    db: { schema: 'shop' },
    auth: { persistSession: false, autoRefreshToken: false },
    realtime,
    ...options,
  })
const db = connect(secret)

// Methods used ------------------------------------------------------------------------------------------------------

const used = new Set<string>()
const known = new Set<string>()

/** Records calls of every method of an object's class and its base classes. */
function watch(object: object): void {
  for (
    let proto = Object.getPrototypeOf(object) as object;
    proto !== Object.prototype;
    proto = Object.getPrototypeOf(proto) as object
  ) {
    for (const name of Object.getOwnPropertyNames(proto)) {
      const method: unknown = Reflect.get(proto, name)
      if (name === 'constructor' || typeof method !== 'function' || known.has(name)) continue
      known.add(name)
      Reflect.set(proto, name, function (this: unknown, ...args: unknown[]): unknown {
        used.add(name)
        return Reflect.apply(method, this, args) as unknown
      })
    }
  }
}
watch(db.schema('shop'))
watch(db.from('items'))
watch(db.from('items').select())

// Reads -------------------------------------------------------------------------------------------------------------

type Answer = {
  readonly data: unknown
  readonly error: unknown
  readonly count: number | null
  readonly status: number
}
const ids = (data: unknown): unknown => (Array.isArray(data) ? data.map((row: Record_) => row.id) : data)
const items = (columns = 'id') => db.from('items').select(columns)

const filters: Readonly<Record<string, readonly [() => PromiseLike<Answer>, readonly number[]]>> = {
  eq: [() => items().eq('name', 'Claw, hammer'), [3]],
  neq: [() => items().neq('id', 1), [2, 3]],
  gt: [() => items().gt('id', 1), [2, 3]],
  gte: [() => items().gte('id', 2), [2, 3]],
  lt: [() => items().lt('price', 1), [2]],
  lte: [() => items().lte('price', 1.5), [1, 2]],
  like: [() => items().like('name', 'A%'), [1]],
  likeAllOf: [() => items().likeAllOf('name', ['%a%', '%n%']), [2]],
  likeAnyOf: [() => items().likeAnyOf('name', ['A%', 'B%']), [1, 2]],
  ilike: [() => items().ilike('name', 'a%'), [1]],
  ilikeAllOf: [() => items().ilikeAllOf('name', ['%A%', '%E%']), [1, 3]],
  ilikeAnyOf: [() => items().ilikeAnyOf('name', ['a%', 'c%']), [1, 3]],
  regexMatch: [() => items().regexMatch('name', '^[AB]'), [1, 2]],
  regexIMatch: [() => items().regexIMatch('name', '^b'), [2]],
  is: [() => items().is('active', null), [3]],
  'is true': [() => items().is('active', true), [1]],
  isDistinct: [() => items().isDistinct('active', true), [2, 3]],
  in: [() => items().in('name', ['Apple', 'Claw, hammer']), [1, 3]],
  notIn: [() => items().notIn('name', ['Apple', 'Claw, hammer']), [2]],
  'contains array': [() => items().contains('tags', ['red']), [1, 3]],
  'contains json': [() => items().contains('spec', { b: { c: 2 } }), [1]],
  'contains range': [() => items().contains('span', '[6,7)'), [2]],
  containedBy: [() => items().containedBy('tags', ['red', 'sweet', 'yellow']), [1, 2]],
  rangeGt: [() => items().rangeGt('span', '[2,8)'), [3]],
  rangeGte: [() => items().rangeGte('span', '[5,8)'), [2, 3]],
  rangeLt: [() => items().rangeLt('span', '[5,8)'), [1]],
  rangeLte: [() => items().rangeLte('span', '[2,10)'), [1, 2]],
  rangeAdjacent: [() => items().rangeAdjacent('span', '[10,20)'), [2, 3]],
  overlaps: [() => items().overlaps('tags', ['yellow', 'steel']), [2, 3]],
  textSearch: [() => items().textSearch('words', 'apple'), [1]],
  'textSearch websearch': [
    () => items().textSearch('words', 'banana -apple', { type: 'websearch', config: 'english' }),
    [2],
  ],
  'textSearch plain': [() => items().textSearch('words', 'red fresh', { type: 'plain', config: 'english' }), [1]],
  'textSearch phrase': [() => items().textSearch('words', 'fresh red', { type: 'phrase', config: 'english' }), [1]],
  match: [() => items().match({ kind_id: 1, active: false }), [2]],
  not: [() => items().not('price', 'is', null), [1, 2]],
  or: [() => items().or('id.eq.3,price.lt.1'), [2, 3]],
  'or of an embed': [() => items('id,kinds!inner(id)').or('title.eq.tool,id.eq.7', { referencedTable: 'kinds' }), [3]],
  filter: [() => items().filter('spec->>a', 'eq', '2'), [2]],
}

t.test('filters', async (t) => {
  for (const [name, [run, expected]] of Object.entries(filters)) {
    const { data, error, status } = await run()
    t.strictSame({ ids: ids(data), error, status }, { ids: expected, error: null, status: 200 }, name)
  }
})

type Row = readonly [name: string, run: () => PromiseLike<Answer>, expected: Partial<Answer>]

async function check(t: Test, rows: readonly Row[]): Promise<void> {
  for (const [name, run, expected] of rows) {
    const answer = await run()
    const keys = Object.keys(expected) as (keyof Answer)[]
    const got = Object.fromEntries(keys.map((key) => [key, plain(answer[key])]))
    t.strictSame(got, expected, `${name}: ${JSON.stringify(answer.error)}`)
  }
}
/** An error as a plain object with the fields of the response. */
function plain(value: unknown): unknown {
  if (!(value instanceof Error)) return value
  const { code, message, details, hint } = value as Error & Record_
  return { code, message, details, hint }
}

const apple = { id: 1, name: 'Apple' }
const banana = { id: 2, name: 'Banana' }
const notOne = (rows: number) => ({
  code: 'PGRST116',
  message: 'Cannot coerce the result to a single JSON object',
  details: `The result contains ${rows} rows`,
  hint: null,
})
const pair = () => items('id,name').lt('id', 3)

t.test('modifiers', async (t) => {
  const explained = await pair().explain({ analyze: true, verbose: true, settings: true, buffers: true, wal: true })
  t.match(explained.data, /Aggregate.*actual time/)
  t.match((await pair().explain({ format: 'json' })).data, [{ Plan: {} }])
  await check(t, [
    ['order', () => pair().order('name', { ascending: false }), { data: [banana, apple], status: 200 }],
    [
      'order, nulls',
      () => items().order('price', { nullsFirst: true }).order('id'),
      { data: [{ id: 3 }, { id: 2 }, { id: 1 }] },
    ],
    [
      'order by an embed',
      () => items('id,kinds(title)').order('kinds(title)', { ascending: false }).order('id'),
      {
        data: [
          { id: 3, kinds: { title: 'tool' } },
          { id: 1, kinds: { title: 'fruit' } },
          { id: 2, kinds: { title: 'fruit' } },
        ],
      },
    ],
    [
      'order of an embed',
      () =>
        db.from('kinds').select('id,items(id)').order('id', { referencedTable: 'items', ascending: false }).eq('id', 1),
      { data: [{ id: 1, items: [{ id: 2 }, { id: 1 }] }] },
    ],
    ['limit', () => items().order('id').limit(1), { data: [{ id: 1 }] }],
    [
      'limit of an embed',
      () => db.from('kinds').select('id,items(id)').limit(1, { referencedTable: 'items' }).eq('id', 2),
      { data: [{ id: 2, items: [{ id: 3 }] }] },
    ],
    ['range', () => items().order('id').range(1, 2), { data: [{ id: 2 }, { id: 3 }], status: 200 }],
    ['single', () => pair().eq('id', 1).single(), { data: apple, status: 200 }],
    ['single of two', () => pair().single(), { data: null, error: notOne(2), status: 406 }],
    ['maybeSingle', () => pair().eq('id', 1).maybeSingle(), { data: apple, error: null }],
    ['maybeSingle of none', () => items().eq('id', 9).maybeSingle(), { data: null, error: null, status: 200 }],
    ['csv', () => pair().csv(), { data: 'id,name\n1,Apple\n2,Banana', status: 200 }],
    [
      'geojson',
      () => items('id').eq('id', 1).geojson(),
      { data: { type: 'FeatureCollection', features: [{ type: 'Feature', properties: { id: 1 } }] } },
    ],
    ['stripNulls', () => items('id,price').eq('id', 3).stripNulls(), { data: [{ id: 3 }] }],
    ['stripNulls and single', () => items('id,price').eq('id', 3).stripNulls().single(), { data: { id: 3 } }],
    ['returns', () => pair().eq('id', 1).returns<(typeof apple)[]>(), { data: [apple] }],
    ['overrideTypes', () => pair().eq('id', 1).overrideTypes<(typeof apple)[]>(), { data: [apple] }],
    ['setHeader', () => pair().setHeader('Range', '0-0'), { data: [apple] }],
    ['retry', () => pair().eq('id', 1).retry(false), { data: [apple] }],
    ['abortSignal', () => pair().abortSignal(new AbortController().signal), { data: [apple, banana], error: null }],
    [
      'count exact',
      () => db.from('items').select('id', { count: 'exact' }).limit(1),
      { data: [{ id: 1 }], count: 3, status: 206 },
    ],
    ['count estimated', () => db.from('items').select('id', { count: 'estimated' }), { error: null }],
    ['count planned', () => db.from('items').select('id', { count: 'planned' }), { error: null }],
    ['head', () => db.from('items').select('*', { count: 'exact', head: true }), { data: null, count: 3, status: 200 }],
    [
      'columns with spaces and an alias',
      () => items(' id , label:name , kind:kinds ( title ) ').eq('id', 1),
      { data: [{ id: 1, label: 'Apple', kind: { title: 'fruit' } }] },
    ],
    [
      'aggregates',
      () => items('kind_id,count()').order('kind_id'),
      {
        data: [
          { kind_id: 1, count: 2 },
          { kind_id: 2, count: 1 },
        ],
      },
    ],
    [
      'a wrong column',
      () => items('unheard_of'),
      {
        data: null,
        status: 400,
        error: { code: '42703', message: 'column items.unheard_of does not exist', details: null, hint: null },
      },
    ],
    [
      'a wrong table',
      () => db.from('item').select(),
      {
        data: null,
        status: 404,
        error: {
          code: 'PGRST205',
          message: "Could not find the table 'shop.item' in the schema cache",
          details: null,
          hint: "Perhaps you meant the table 'shop.items'",
        },
      },
    ],
  ])
})

t.test('errors and aborts', async (t) => {
  await t.rejects(async () => items('unheard_of').throwOnError(), { code: '42703', name: 'PostgrestError' })
  const { data } = await pair().throwOnError()
  t.strictSame(data, [apple, banana])
  const controller = new AbortController()
  const waiting = db.rpc('wait', { seconds: 5 }).abortSignal(controller.signal)
  setTimeout(() => controller.abort(), 50)
  const aborted = await waiting
  t.match(aborted, { data: null, error: { message: /AbortError/ } })
})

// Writes ------------------------------------------------------------------------------------------------------------

const cherry = { id: 4, name: 'Cherry' }
const added = { id: 4, name: 'Cherry', price: 1 }
const duplicate = {
  code: '23505',
  message: 'duplicate key value violates unique constraint "items_pkey"',
  details: 'Key (id)=(1) already exists.',
  hint: null,
}
const table = () => db.from('items')

t.test('writes, each rolled back', (t) =>
  check(t, [
    ['insert', () => table().insert(cherry).rollback(), { data: null, error: null, status: 201 }],
    [
      'insert and select',
      () => table().insert(cherry).select('id,name,price').rollback(),
      { data: [added], status: 201 },
    ],
    [
      'insert, single',
      () => table().insert(cherry).select('id,name,price').rollback().single(),
      { data: added, status: 201 },
    ],
    [
      'insert many, nulls for what is missing',
      () =>
        table()
          .insert([
            { ...cherry, price: 3 },
            { id: 5, name: 'Date' },
          ])
          .select('id,price')
          .rollback(),
      {
        data: [
          { id: 4, price: 3 },
          { id: 5, price: null },
        ],
      },
    ],
    [
      'insert many, defaults',
      () =>
        table()
          .insert(
            [
              { ...cherry, price: 3 },
              { id: 5, name: 'Date' },
            ],
            { defaultToNull: false, count: 'exact' },
          )
          .select('id,price')
          .rollback(),
      {
        data: [
          { id: 4, price: 3 },
          { id: 5, price: 1 },
        ],
        count: 2,
      },
    ],
    ['insert what is there', () => table().insert(apple), { data: null, error: duplicate, status: 409 }],
    [
      'upsert',
      () =>
        table()
          .upsert([{ id: 1, name: 'Apfel' }, cherry])
          .select('id,name')
          .rollback(),
      { data: [{ id: 1, name: 'Apfel' }, cherry], status: 201 },
    ],
    [
      'upsert of what is there',
      () => table().upsert({ id: 1, name: 'Apfel' }).rollback(),
      { data: null, error: null, status: 200 },
    ],
    [
      'upsert, ignoreDuplicates',
      () => table().upsert([apple, cherry], { ignoreDuplicates: true, count: 'exact' }).select('id,name').rollback(),
      { data: [cherry], count: 1, status: 201 },
    ],
    [
      'upsert, onConflict',
      () => table().upsert({ id: 2, name: 'Banana', price: 9 }, { onConflict: 'name' }).select('id,price').rollback(),
      { data: [{ id: 2, price: 9 }], status: 200 },
    ],
    [
      'upsert, defaultToNull',
      () =>
        table()
          .upsert([{ id: 1, name: 'Apple', price: 2 }, cherry], { defaultToNull: false })
          .select('id,price')
          .rollback(),
      {
        data: [
          { id: 1, price: 2 },
          { id: 4, price: 1 },
        ],
      },
    ],
    ['update', () => table().update({ price: 7 }).eq('id', 1).rollback(), { data: null, error: null, status: 204 }],
    [
      'update and select',
      () =>
        table()
          .update({ price: 7 }, { count: 'exact' })
          .lt('id', 3)
          .select('id,price,kinds(title)')
          .order('id')
          .rollback(),
      {
        data: [
          { id: 1, price: 7, kinds: { title: 'fruit' } },
          { id: 2, price: 7, kinds: { title: 'fruit' } },
        ],
        count: 2,
        status: 200,
      },
    ],
    [
      'update, too many',
      () => table().update({ price: 7 }).gt('id', 0).maxAffected(2),
      {
        data: null,
        status: 400,
        error: {
          code: 'PGRST124',
          message: 'Query result exceeds max-affected preference constraint',
          details: 'The query affects 3 rows',
          hint: null,
        },
      },
    ],
    [
      'update, not too many',
      () => table().update({ price: 7 }).eq('id', 1).maxAffected(1).rollback(),
      { error: null, status: 204 },
    ],
    [
      'update, single',
      () => table().update({ price: 7 }).gt('id', 0).select('id').single(),
      { data: null, error: notOne(3), status: 406 },
    ],
    [
      'update, maybeSingle of none',
      () => table().update({ price: 7 }).eq('id', 9).select('id').maybeSingle(),
      { data: null, error: null },
    ],
    ['delete', () => table().delete().eq('id', 1).rollback(), { data: null, error: null, status: 204 }],
    [
      'delete and select',
      () => table().delete({ count: 'exact' }).eq('id', 1).select('id,name').rollback(),
      { data: [apple], count: 1, status: 200 },
    ],
    [
      'nothing has changed',
      () => items('id,price').order('id'),
      {
        data: [
          { id: 1, price: 1.5 },
          { id: 2, price: 0.25 },
          { id: 3, price: null },
        ],
      },
    ],
  ]),
)

t.test('functions', (t) =>
  check(t, [
    ['rpc', () => db.rpc('add', { a: 1, b: 2 }), { data: 3, status: 200 }],
    ['rpc, get', () => db.rpc('add', { a: 1 }, { get: true }), { data: 11, status: 200 }],
    [
      'rpc, get with an array',
      () => db.rpc('cheaper_than', { most: 1 }, { get: true, count: 'exact' }).select('id'),
      { data: [{ id: 2 }], count: 1 },
    ],
    [
      'rpc, head',
      () => db.rpc('cheaper_than', { most: 9 }, { head: true, count: 'exact' }),
      { data: null, count: 2, status: 200 },
    ],
    [
      'rpc and filters',
      () => db.rpc('cheaper_than', { most: 9 }).select('id,kinds(title)').gt('id', 1).order('id').limit(1),
      { data: [{ id: 2, kinds: { title: 'fruit' } }] },
    ],
    ['rpc, single', () => db.rpc('cheaper_than', { most: 1 }).select('id,name').single(), { data: banana }],
    [
      'rpc, too many',
      () => db.rpc('drop_kind', { kind: 1 }).maxAffected(1),
      {
        data: null,
        status: 400,
        error: {
          code: 'PGRST124',
          message: 'Query result exceeds max-affected preference constraint',
          details: 'The query affects 2 rows',
          hint: null,
        },
      },
    ],
    ['rpc of a name that is not there', () => db.rpc('ad', { a: 1 }), { status: 404 }],
  ]),
)

t.test('keys and tokens', async (t) => {
  const anonymous = connect(publishable)
  const hint =
    'No user is signed in: the request acts as the anonymous role. Sign in, and send the token as Authorization: Bearer.'
  const denied = { code: '42501', message: 'permission denied for table items', details: null, hint }
  await check(t, [
    ['publishable key', () => anonymous.rpc('me'), { data: 'anon/-', error: null }],
    ['may read', () => anonymous.from('items').select('id').eq('id', 1), { data: [{ id: 1 }] }],
    ['may not write', () => anonymous.from('items').insert(cherry), { error: denied, status: 401 }],
    ['secret key', () => db.rpc('me'), { data: 'service_role/-', error: null }],
    ['a JWT as the key', () => connect(jwt).rpc('me'), { data: `authenticated/${subject}` }],
    [
      'a JWT as the access token',
      () => connect(publishable, { accessToken: () => Promise.resolve(jwt) }).rpc('me'),
      { data: `authenticated/${subject}` },
    ],
    ['a key that is none', () => connect(`${publishable}x`).rpc('me'), { status: 401 }],
    ['another schema', () => db.schema('public').from('profiles').select('id'), { data: [], error: null }],
    [
      'policies of the service',
      () =>
        connect(jwt).schema('public').from('profiles').insert({ full_name: 'Ann' }).select('id,full_name').rollback(),
      { data: [{ id: subject, full_name: 'Ann' }], status: 201 },
    ],
    [
      'its schemas of bodies',
      () => connect(jwt).schema('public').from('profiles').insert({ full_name: 7 }),
      { status: 400 },
    ],
    [
      'a schema that is not exposed',
      () =>
        db
          .schema('auth' as 'shop')
          .from('users')
          .select(),
      {
        status: 406,
        error: {
          code: 'PGRST106',
          message: 'Invalid schema: auth',
          details: null,
          hint: 'Only the following schemas are exposed: public, shop',
        },
      },
    ],
  ])
})

t.test('every method is covered', async (t) => {
  const unused = [...known].filter((name) => !used.has(name))
  t.strictSame(unused, [])
  t.ok(known.size > 50, `${known.size} methods`)
})
