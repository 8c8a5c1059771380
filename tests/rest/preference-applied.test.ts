// `Prefer` and `Preference-Applied` for every preference and kind of request.
// https://docs.postgrest.org/en/stable/references/api/preferences.html
import t from 'tap'
import { exchangeAll, fault, type Exchange } from '../support/request-table.ts'
import { startWrites } from '../support/writes-service.ts'

const { url } = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })

const kinds = {
  read: { send: ['GET', '/tags?select=name&order=name'], status: 200, body: [{ name: 'clean' }, { name: 'fast' }] },
  insert: { send: ['POST', '/tags', { name: 'x' }], status: 201 },
  update: { send: ['PATCH', '/tags?name=eq.fast', { name: 'x' }], status: 204 },
  upsert: { send: ['PUT', '/tags?name=eq.x', { name: 'x' }], status: 204 },
  delete: { send: ['DELETE', '/tags?name=eq.fast'], status: 204 },
  call: { send: ['POST', '/rpc/gives_numbers', { n: 1 }], status: 200, body: [1] },
} as const satisfies Record<string, Exchange>

type Kind = keyof typeof kinds

/** Content-Range without a count, and with one. */
const ranges: Record<Kind, readonly [string | undefined, string | undefined]> = {
  read: ['0-1/*', '0-1/2'],
  insert: ['*/*', '*/1'],
  update: ['0-0/*', '0-0/1'],
  upsert: [undefined, undefined],
  delete: ['*/*', '*/1'],
  call: ['0-0/*', '0-0/1'],
}

const all = Object.keys(kinds) as readonly Kind[]
const writes: readonly Kind[] = ['insert', 'update', 'upsert', 'delete']

/** The kinds of request that a preference is applied to. */
const preferences: readonly (readonly [preference: string, applied: readonly Kind[]])[] = [
  ['resolution=merge-duplicates', ['insert']],
  ['resolution=ignore-duplicates', ['insert']],
  ['missing=default', ['insert', 'update']],
  ['missing=null', ['insert', 'update']],
  ['return=minimal', writes],
  ['return=headers-only', writes],
  ['count=exact', all],
  ['count=planned', all],
  ['count=estimated', all],
  ['tx=commit', all],
  ['tx=rollback', all],
  ['handling=strict', all],
  ['handling=lenient', all],
  ['timezone=Europe/Stockholm', all],
  ['max-affected=5', []],
  ['unknown', []],
  ['return=everything', []],
  ['count', []],
  ['Count=exact', []],
  ['', []],
]

t.test('single preferences', async (t) => {
  for (const [preference, applied] of preferences) {
    const rows = all.map((kind): Exchange => {
      const counts = /^count=(exact|estimated)$/.test(preference)
      const [plain, counted] = ranges[kind]
      const range = counts ? counted : plain
      return {
        ...kinds[kind],
        ...(range === undefined ? {} : { range }),
        prefer: preference,
        ...(applied.includes(kind) ? { applied: preference } : {}),
        ...(kind === 'insert' && preference === 'return=headers-only' ? { location: '/rest/v1/tags?name=eq.x' } : {}),
      }
    })
    const sent = rows.filter(({ send: [method] }) => {
      if (method === 'GET') return !/^count=(planned|estimated)$/.test(preference) // estimates of the planner
      return preference !== 'tx=commit' // later rows would see the written rows
    })
    await exchangeAll(t, url, sent)
  }
})

t.test('return=', (t) =>
  exchangeAll(
    t,
    url,
    writes.map((kind): Exchange => {
      const [range] = ranges[kind]
      return {
        ...kinds[kind],
        prefer: 'return=representation',
        status: kind === 'insert' || kind === 'upsert' ? 201 : 200,
        body: [{ name: kind === 'delete' ? 'fast' : 'x' }],
        ...(range === undefined ? {} : { range }),
        applied: 'return=representation',
      }
    }),
  ),
)

const every =
  'timezone=UTC, tx=rollback, count=exact, missing=null, handling=strict, return=minimal, max-affected=7, resolution=merge-duplicates'

const together: readonly Exchange[] = [
  {
    name: 'in a fixed order, each if it applies',
    ...kinds.insert,
    prefer: every,
    range: '*/1',
    applied:
      'resolution=merge-duplicates, missing=null, return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC',
  },
  {
    ...kinds.update,
    prefer: every,
    range: '0-0/1',
    applied: 'missing=null, return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC, max-affected=7',
  },
  {
    ...kinds.delete,
    prefer: every,
    range: '*/1',
    applied: 'return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC, max-affected=7',
  },
  {
    ...kinds.upsert,
    prefer: every,
    applied: 'return=minimal, count=exact, tx=rollback, handling=strict, timezone=UTC',
  },
  {
    ...kinds.call,
    prefer: every,
    range: '0-0/1',
    applied: 'count=exact, tx=rollback, handling=strict, timezone=UTC, max-affected=7',
  },
  {
    ...kinds.read,
    prefer: every,
    range: '0-1/2',
    applied: 'count=exact, tx=rollback, handling=strict, timezone=UTC',
  },
  {
    name: 'spaces',
    ...kinds.delete,
    prefer: '  count=exact ,return=minimal,',
    range: '*/1',
    applied: 'return=minimal, count=exact',
  },
  {
    name: 'the first one is used',
    ...kinds.delete,
    prefer: 'count=planned, count=exact',
    range: '*/*',
    applied: 'count=planned',
  },
  {
    name: 'max-affected that is not a number',
    ...kinds.delete,
    prefer: 'handling=strict, max-affected=x',
    range: '*/*',
    applied: 'handling=strict',
  },
  {
    name: 'negative max-affected',
    ...kinds.delete,
    prefer: 'handling=strict, max-affected=-1',
    status: 400,
    body: fault('PGRST124', 'Query result exceeds max-affected preference constraint', 'The query affects 1 rows'),
  },
  {
    name: 'unknown preferences',
    ...kinds.read,
    prefer: 'handling=strict, foo, count=exact, bar=1',
    status: 400,
    body: fault('PGRST122', 'Invalid preferences given with handling=strict', 'Invalid preferences: foo, bar=1'),
  },
  {
    ...kinds.insert,
    prefer: 'return=all, handling=strict',
    status: 400,
    body: fault('PGRST122', 'Invalid preferences given with handling=strict', 'Invalid preferences: return=all'),
  },
  {
    ...kinds.call,
    prefer: 'handling=strict, respond-async',
    status: 400,
    body: fault('PGRST122', 'Invalid preferences given with handling=strict', 'Invalid preferences: respond-async'),
  },
  { ...kinds.delete, prefer: 'handling=lenient, foo', range: '*/*', applied: 'handling=lenient' },
  {
    name: 'no key to resolve conflicts by',
    send: ['POST', '/notes', {}],
    prefer: 'resolution=merge-duplicates',
    status: 201,
  },
  {
    name: 'unless one is given',
    send: ['POST', '/fittings?on_conflict=vehicle_id,part', { vehicle_id: 1, part: 'radio' }],
    prefer: 'resolution=ignore-duplicates',
    status: 201,
    applied: 'resolution=ignore-duplicates',
  },
]

t.test('combined preferences', (t) => exchangeAll(t, url, together))

t.test('time zones', async (t) => {
  const fresh = await startWrites(t, { PGRST_DB_SCHEMAS: 'garage' })
  await fresh.database.query("create table garage.times as select '2020-06-01 12:00:00+00'::timestamptz as at")
  await fresh.database.query('grant all on garage.times to garage_anon')
  await fresh.service.engine.reload()
  const at = (zone: string, text: string): Exchange => ({
    send: ['GET', '/times'],
    prefer: `timezone=${zone}`,
    status: 200,
    range: '0-0/*',
    body: [{ at: text }],
    applied: `timezone=${zone}`,
  })
  const wrong = (zone: string): Exchange => ({
    send: ['GET', '/times'],
    prefer: `handling=lenient, timezone=${zone}`,
    status: 400,
    body: fault('22023', `invalid value for parameter "TimeZone": "${zone}"`),
  })
  await exchangeAll(t, fresh.url, [
    at('America/Los_Angeles', '2020-06-01T05:00:00-07:00'),
    at('UTC', '2020-06-01T12:00:00+00:00'),
    at('-03:30', '2020-06-01T15:30:00+03:30'),
    wrong('Jupiter/Red_Spot'),
    wrong("'; drop table garage.times --"),
    at('Asia/Tokyo', '2020-06-01T21:00:00+09:00'),
    {
      name: 'writes, too',
      send: ['POST', '/times', { at: '2020-06-01T00:00:00' }],
      prefer: 'timezone=Asia/Tokyo, return=representation',
      status: 201,
      body: [{ at: '2020-06-01T00:00:00+09:00' }],
      applied: 'return=representation, timezone=Asia/Tokyo',
    },
    {
      name: 'it does not persist',
      send: ['GET', '/times'],
      status: 200,
      range: '0-0/*',
      body: [{ at: '2020-06-01T12:00:00+00:00' }],
    },
  ])
})
