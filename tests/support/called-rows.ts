// Generated calls of functions that may have effects, over `fixtures/called-rows.sql`.
import type { Random } from './seeded-random.ts'
import type { SentRequest } from './sent-request.ts'

type Value = string | number | null
type Choices = readonly [Value, ...Value[]]

const texts: Choices = ['plain', '', null, 'é 日本 😀', '"q" , ; \\', 'a\nb\t\u0001\u2028', 'NULL', '[{"X-One": "1"}]', 'x'.repeat(3000)] // prettier-ignore
const numbers: Choices = [1, 2, 3, 0, -1, null, '5', 'x']
const headers: Choices = [
  '[{"X-One": "1"}, {"X-Two": "a, b"}]',
  '[]',
  '{"X": 1}',
  'no JSON',
  '',
  '[{"Content-Type": "text/x"}]',
  null,
]
const statuses: Choices = ['201', '', '418', 'x', '99', null]
const styles: Choices = ['German', 'SQL, DMY', 'Postgres', 'ISO, MDY', 'nonsense']
const zones: Choices = ['Asia/Kolkata', 'America/St_Johns', 'UTC', 'nowhere']
const times: Choices = [0, 1, 2, 30, 600]
const states: Choices = ['PT402', 'PGRST', 'P0001', '42501', '23505', '40001', 'PTxyz']

type Parameter = readonly [name: string, values: Choices, isOptional?: true]
type Called = {
  readonly name: string
  readonly parameters: readonly Parameter[]
  /** Columns of the result, the first of which identifies a row. */
  readonly columns?: readonly [string, ...string[]]
}

const things = [
  'id',
  'note',
  'moment',
  'doc',
  'docb',
  'tags',
  'grid',
  'day',
  'mood',
  'words',
  'label',
  'ratio',
] as const

const functions: readonly [Called, ...Called[]] = [
  { name: 'noted', parameters: [['what', texts]] },
  { name: 'add_note', parameters: [['n', numbers], ['note', texts, true]] }, // prettier-ignore
  { name: 'all_things', parameters: [['more', texts, true]], columns: things },
  { name: 'all_things', parameters: [['more', texts, true]], columns: things },
  { name: 'one_thing', parameters: [['which', numbers]], columns: things },
  { name: 'first_thing', parameters: [], columns: things },
  {
    name: 'listed',
    parameters: [['lowest', numbers]],
    columns: ['id', 'moment', 'day', 'doc', 'size', '"odd \\"name, (\\\\)"'],
  },
  { name: 'outs', parameters: [['a', numbers], ['c', texts]], columns: ['b', 'c', 'moments'] }, // prettier-ignore
  { name: 'sizes', parameters: [], columns: ['width', 'height'] },
  { name: 'records', parameters: [] },
  { name: 'written', parameters: [['lowest', numbers]], columns: ['id', 'parent_id', 'note'] },
  { name: 'added', parameters: [['first', [20, 25, 30, null, 'x']], ['times', [0, 1, 3, 20]]], columns: ['id', 'parent_id', 'note'] }, // prettier-ignore
  { name: 'children_of', parameters: [['which', numbers]], columns: ['id', 'parent_id', 'note'] },
  { name: 'aliased_rows', parameters: [], columns: ['id', '_postgrest_t'] },
  {
    name: 'headed',
    parameters: [
      ['headers', headers],
      ['status', statuses],
      ['times', times],
    ],
    columns: ['n', 'note'],
  },
  { name: 'headed_one', parameters: [['headers', headers], ['status', statuses]] }, // prettier-ignore
  { name: 'counted_rows', parameters: [['times', times]], columns: ['n', 'text'] },
  { name: 'counting', parameters: [['n', numbers]] },
  { name: 'counted_stable', parameters: [['times', times]], columns: ['n'] },
  {
    name: 'styled',
    parameters: [
      ['style', styles],
      ['zone', zones],
    ],
    columns: ['id', 'day', 'moment', 'local', 'moments', 'span'],
  },
  ...['styled_moment', 'styled_days'].map((name): Called => ({ name, parameters: [['style', styles]] })),
  { name: 'digits', parameters: [['digits', ['0', '3', '-15', 'x']]] },
  ...['german', 'brief', 'a_json', 'some_json', 'a_size', 'an_array', 'some_arrays', 'some_words'].map(
    (name): Called => ({ name, parameters: [] }),
  ),
  { name: 'a_mood', parameters: [['n', [1, 2, 3]]] },
  { name: 'a_share', parameters: [['n', ['0.50', '-1', null, 'NaN']]] },
  { name: 'a_text', parameters: [['given', texts]] },
  { name: 'any_of', parameters: [['given', texts]] },
  { name: 'joined', parameters: [['words', ['a', '{b,c}', null]]] },
  { name: 'body', parameters: [['a', texts]] },
  {
    name: 'quotients',
    parameters: [
      ['at', [0, 1, 500, 600]],
      ['times', [1, 600]],
    ],
    columns: ['n', 'quotient'],
  },
  {
    name: 'lazy_quotients',
    parameters: [
      ['at', [0, 1, 500, 600]],
      ['times', [1, 600]],
    ],
    columns: ['n', 'quotient'],
  },
  {
    name: 'raising',
    parameters: [
      ['state', states],
      ['message', ['{"code": "X1", "message": "m"}', 'plain']],
      ['at', [0, 1, 500, 600]],
      ['times', [0, 1, 600]],
    ],
  },
  { name: 'reading', parameters: [['at', [0, 1, 30]]] },
  { name: 'defaulted', parameters: [['n', [1, 3, null], true]] },
]

const accepts = [
  'application/vnd.pgrst.object+json',
  'application/vnd.pgrst.object+json',
  'application/vnd.pgrst.array+json',
  'application/vnd.pgrst.array+json;nulls=stripped',
  'text/csv',
  'application/x-ndjson',
  '*/*',
] as const

const preferences = [
  ...(['count=exact', 'count=exact', 'count=planned', 'count=estimated', 'tx=rollback', 'handling=strict'] as const),
  ...([
    'handling=strict, max-affected=1',
    'timezone=Asia/Kolkata',
    'params=single-object',
    'pagination=keyset',
  ] as const),
] as const

function selectionOf(columns: readonly [string, ...string[]], random: Random): string[] {
  const [key] = columns
  const some = columns.filter(() => random.chance(0.4))
  const parameters: string[] = []
  if (random.chance(0.6))
    parameters.push(
      `select=${random.pick([
        '*',
        some.join(','),
        [key, ...some.map((name, n) => (n % 2 ? `x${n}:${name}` : name))].join(','),
        `*,again:${key}`,
        `${key},${key}`,
        `${key}::text,y:${columns.at(-1) ?? key}::text`,
        columns.includes('doc') ? `${key},doc->a,docb->>a,d:docb->a->0` : 'count()',
        columns.includes('parent_id') ? '*,parents(*)' : columns.includes('docb') ? 'id,shouted,note' : '*',
        columns.includes('parent_id') ? 'id,parents!inner(id),other:parents(size)' : `_postgrest_t:${key}`,
        columns.includes('parent_id') ? 'id,...parents(size)' : 'nope',
      ])}`,
    )
  if (random.chance(0.3)) parameters.push(`order=${key}.desc`)
  if (random.chance(0.2)) parameters.push(`${key}=${random.pick(['gt.1', 'lt.3', 'in.(1,2,3)', 'is.null', 'eq.x'])}`)
  return parameters
}

/** @param shape determines all but the arguments */
export function generatedCall(shape: Random, value: Random): SentRequest {
  const { name, parameters, columns } = shape.pick(functions)
  const given = parameters.filter(([, , isOptional]) => isOptional !== true || shape.chance(0.5))
  const values = Object.fromEntries(given.map(([parameter, choices]) => [parameter, value.pick(choices)]))
  const query = columns ? selectionOf(columns, shape) : []
  if (shape.chance(0.25)) query.push(shape.pick(['limit=1', 'limit=2', 'limit=0', 'offset=1', 'limit=2&offset=1']))
  const prefer = shape.some(0, 2, () => shape.pick(preferences))
  const headers = {
    ...(shape.chance(0.4) ? { Accept: shape.pick(accepts) } : {}),
    ...(prefer.length > 0 && shape.chance(0.5) ? { Prefer: prefer.join(', ') } : {}),
    ...(shape.chance(0.1) ? { Range: shape.pick(['0-0', '1-', '5-9']) } : {}),
  }
  const path = (all: readonly string[]): string => `/rpc/${name}${all.length === 0 ? '' : `?${all.join('&')}`}`
  if (shape.chance(0.25)) {
    const pairs = Object.entries(values).flatMap(([key, text]) =>
      text === null ? [] : [`${key}=${encodeURIComponent(String(text))}`],
    )
    return { method: shape.pick(['GET', 'GET', 'HEAD']), path: path([...pairs, ...query]), headers, body: '' }
  }
  const json = { ...headers, 'Content-Type': 'application/json' }
  return { method: 'POST', path: path(query), headers: json, body: JSON.stringify(values) }
}
