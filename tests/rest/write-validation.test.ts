// Bodies for tables with a JSON Schema: PATCH, PUT, bulk inserts, CSV and forms. Errors are reported before the
// database is queried, as shown by a proxy that counts round trips.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { requestOf, titleOf, type TableRequest } from '../support/request-table.ts'
import { countRoundTrips } from '../support/round-trips.ts'
import { send } from '../support/sent-request.ts'
import { bearer } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const counter = await countRoundTrips(t, database.authenticatorUri)
const { url } = await startApplication(t, counter.uri, {
  SERVICES: 'rest,profiles,analysis,reports',
  SESSION_SECRETS: 's'.repeat(32),
  PGRST_DB_CHANNEL_ENABLED: 'false',
  PGRST_DB_POOL: '1',
  PGRST_DB_TX_END: 'rollback',
})

const ann = '11111111-1111-4111-8111-111111111111'
const other = '22222222-2222-4222-8222-222222222222'
const authorization = await bearer('authenticated', { sub: ann })
await database.query('insert into public.profiles (id, full_name) values ($1, $2)', [ann, 'Ann'])
// Privileges are not under test here.
await database.query('grant all on public.profiles, public.classification_runs to authenticated')

const run = {
  image_uri: 'https://images.test/1.jpg',
  image_source: 'phone',
  result_label: 'water hyacinth',
  confidence: 97.5,
  is_positive: true,
}
const header = 'image_uri,image_source,result_label,confidence,is_positive'
const line = 'https://images.test/1.jpg,phone,x,50,true'
const csv = 'text/csv'
const form = 'application/x-www-form-urlencoded'
const runs = '/classification_runs'
const own = `/profiles?id=eq.${ann}`
const stranger = `/profiles?id=eq.${other}`

type Row = TableRequest & {
  readonly status: number
  /** JSON pointers of the errors, in order; the database is not queried. */
  readonly faults?: readonly string[]
}

const rows: readonly Row[] = [
  // PATCH: nothing is required, all given properties are checked.
  { send: ['PATCH', own, { full_name: 'Anna' }], status: 204 },
  { send: ['PATCH', own, { avatar_url: null }], status: 204 },
  { send: ['PATCH', own, {}], status: 204 },
  { send: ['PATCH', own, [{ full_name: 'Anna' }]], status: 204 },
  { send: ['PATCH', own, { full_name: '' }], status: 400, faults: ['/full_name'] },
  { send: ['PATCH', own, { full_name: 7 }], status: 400, faults: ['/full_name'] },
  { send: ['PATCH', own, { full_name: 'x'.repeat(512) }], status: 400, faults: ['/full_name'] },
  {
    send: ['PATCH', own, { avatar_url: 'no url', full_name: 1 }],
    status: 400,
    faults: ['/avatar_url', '/full_name'],
  },
  { send: ['PATCH', own, [{ full_name: 1 }]], status: 400, faults: ['/0/full_name'] },
  { send: ['PATCH', own, { created_at: '2020-01-01' }], status: 400, faults: ['/created_at'] },
  { send: ['PATCH', own, '{"__proto__": {"full_name": "x"}}'], status: 400, faults: ['/__proto__'] },
  { send: ['PATCH', own, '{"full_name": "ok", "full_name": 1}'], status: 400, faults: ['/full_name'] },
  { send: ['PATCH', `${own}&columns=full_name`, { full_name: 'x', created_at: 1 }], status: 204 },
  {
    send: ['PATCH', `${own}&columns=full_name`, { full_name: 1, created_at: 1 }],
    status: 400,
    faults: ['/full_name'],
  },
  { send: ['PATCH', own, 'full_name=Anna'], type: form, status: 204 },
  { send: ['PATCH', own, 'full_name='], type: form, status: 400, faults: ['/full_name'] },
  { send: ['PATCH', own, 'full_name\nAnna'], type: csv, status: 204 },
  { send: ['PATCH', own, 'full_name,avatar_url\nNULL,no url'], type: csv, status: 400, faults: ['/0/avatar_url'] },
  { send: ['PATCH', `/profiles/${ann}`, { full_name: 'Anna' }], status: 200 },
  { send: ['PATCH', `/profiles/${ann}`, { full_name: '' }], status: 400, faults: ['/full_name'] },
  // PUT writes whole rows.
  { send: ['PUT', own, { id: ann, full_name: 'Anna' }], status: 204 },
  { send: ['PUT', own, { id: ann }], status: 400, faults: ['/full_name'] },
  { send: ['PUT', own, { id: ann, full_name: 'Anna', extra: 1 }], status: 400, faults: ['/extra'] },
  { send: ['PUT', own, [{ id: 'no id', full_name: 'Anna' }]], status: 400, faults: ['/0/id'] },
  { send: ['PUT', stranger, { id: other, full_name: '' }], status: 400, faults: ['/full_name'] },
  // Bulk inserts.
  { send: ['POST', runs, [run, run]], status: 201 },
  { send: ['POST', runs, []], status: 201 },
  {
    send: ['POST', runs, [run, { ...run, confidence: 101 }, { ...run, image_uri: 1 }]],
    status: 400,
    faults: ['/1/confidence', '/2/image_uri'],
  },
  {
    send: ['POST', runs, [{}, {}]],
    status: 400,
    faults: [
      '/0/image_uri',
      '/0/image_source',
      '/0/result_label',
      '/0/confidence',
      '/0/is_positive',
      '/1/image_uri',
      '/1/image_source',
      '/1/result_label',
      '/1/confidence',
      '/1/is_positive',
    ],
  },
  { send: ['POST', runs, [{ ...run, confidence: '50' }]], status: 400, faults: ['/0/confidence'] },
  { send: ['POST', `${runs}?columns=${header}`, [run, { ...run, more: 1 }]], status: 201 },
  {
    send: ['POST', `${runs}?columns=${header}`, [run, { ...run, confidence: -1 }]],
    status: 400,
    faults: ['/1/confidence'],
  },
  { send: ['POST', runs, run], prefer: 'resolution=merge-duplicates', status: 201 },
  { send: ['POST', runs, { ...run, id: 'x' }], prefer: 'resolution=merge-duplicates', status: 400, faults: ['/id'] },
  // Text is parsed as the type in the schema.
  { send: ['POST', runs, `${header}\n${line}\n${line}`], type: csv, status: 201 },
  {
    send: ['POST', runs, `${header}\n${line}\nhttps://images.test/1.jpg,phone,x,many,maybe`],
    type: csv,
    status: 400,
    faults: ['/1/confidence', '/1/is_positive'],
  },
  { send: ['POST', runs, `${header},recommendation\n${line},NULL`], type: csv, status: 201 },
  { send: ['POST', runs, `${header},extra\n${line},1`], type: csv, status: 400, faults: ['/0/extra'] },
  {
    send: [
      'POST',
      runs,
      'image_uri=https%3A%2F%2Fimages.test%2F1.jpg&image_source=a&result_label=b&confidence=1.5&is_positive=true',
    ],
    type: form,
    status: 201,
  },
  {
    send: ['POST', runs, 'image_uri=x&image_source=a&result_label=b&confidence=1e9&is_positive=true'],
    type: form,
    status: 400,
    faults: ['/image_uri', '/confidence'],
  },
]

for (const row of rows) {
  const { status, faults } = row
  t.test(titleOf(row), async (t) => {
    const { headers, ...request } = await requestOf(row)
    const exchange = async () => {
      counter.take()
      const answer = await send(`${url}/rest/v1`, { ...request, headers: { ...headers, Authorization: authorization } })
      return { answer, trips: counter.take() }
    }
    let { answer, trips } = await exchange()
    // On a busy machine, connections are still opened for earlier requests, and count, too.
    for (let time = 0; faults && trips > 0 && time < 10; time++) ({ answer, trips } = await exchange())
    const text = answer.body.toString()
    t.equal(answer.status, status, text)
    if (!faults) {
      t.ok(trips > 0, 'the database is queried')
      return
    }
    const { code, details } = JSON.parse(text) as { code: string; details: string }
    const pointers = details.split('; ').map((fault) => fault.split(' ')[0])
    t.strictSame(
      { code, pointers: pointers.sort(), trips },
      { code: 'PGRST102', pointers: [...faults].sort(), trips: 0 },
    )
  })
}
