// Generated nested writes: the rows in the database, errors and representations are those of writing the rows one by one
// as the same user, and the plan cache changes nothing. SEED and NESTED_WRITES choose other requests.
import pg from 'pg'
import t from 'tap'
import { errorPath } from '../../server/client/index.ts'
import { startApplication } from '../support/application.ts'
import { createFixtureDatabase } from '../support/fixture.ts'
import {
  faultyPath,
  NestedGenerator,
  objectOf,
  seed,
  selectOf,
  type RandomRow,
  type RandomWrite,
} from '../support/generated-nested.ts'
import { NestedOracle } from '../support/nested-oracle.ts'
import { seededRandom, testSeed } from '../support/seeded-random.ts'
import { bearer } from '../support/token.ts'

const database = await createFixtureDatabase('nested-random')
t.teardown(() => database.drop())
const uri = database.uri('made_server', 'made')
const settings = { PGRST_DB_SCHEMAS: 'made', PGRST_DB_TX_END: 'commit-allow-override', REST_BASE_PATH: '/' }
const { call } = await startApplication(t, uri, settings)
const uncached = await startApplication(t, uri, {
  ...settings,
  PLAN_CACHE_MAX_ENTRIES: '0',
  PGRST_DB_PREPARED_STATEMENTS: 'false',
  DB_POOL_SHARING: 'none',
})

/** All rows, without the keys that come from sequences. */
const state = `
  select 'firm' as kind, concat_ws('|', f.label, f.rank, f.owner, p.label) as row
    from made.firms f left join made.firms p on p.id = f.parent_id
  union all select 'badge', concat_ws('|', b.label, b.rank, b.owner, f.label) from made.badges b join made.firms f on f.id = firm_id
  union all select 'project', concat_ws('|', p.label, p.rank, p.owner, f.label)
    from made.projects p left join made.firms f on f.id = firm_id
  union all select 'task', concat_ws('|', t.label, t.number, t.rank, t.owner, p.label)
    from made.tasks t join made.projects p on p.id = project_id
  union all select 'note', concat_ws('|', n.label, n.rank, n.owner, t.label)
    from made.notes n left join made.tasks t using (project_id, number)
  union all select 'skill', concat_ws('|', code, case when label not like 'skill%' then label end, rank, owner) from made.skills
  union all select 'needs', concat_ws('|', p.label, code, s.owner) from made.project_skills s join made.projects p on p.id = project_id
  order by 1, 2`

type Row = Readonly<Record<string, unknown>>
type Outcome = { readonly code: string | undefined; readonly rows: readonly Row[] }

const client = new pg.Client({ connectionString: database.adminUri })
await client.connect()
t.teardown(() => client.end())

/** Writes the rows one by one, and undoes that. */
async function oracle(write: RandomWrite, role: string): Promise<Outcome> {
  await client.query(`begin; select set_config('request.jwt.claims', '{"sub": "alice"}', true); set local role ${role}`)
  try {
    await new NestedOracle(client, write).run()
    await client.query('reset role')
    return { code: undefined, rows: (await client.query<Row>(state)).rows }
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === undefined) throw error
    return { code, rows: [] }
  } finally {
    await client.query('rollback')
  }
}

const hasManyRows = (rows: readonly RandomRow[]): boolean =>
  rows.length > 20 || rows.some(({ related }) => related.some(({ rows }) => hasManyRows(rows ?? [])))

function requestOf({ table, roots, isArray, resolution, onConflict, columns, isMissingDefault }: RandomWrite) {
  const parameters = new URLSearchParams({ select: selectOf(roots) })
  if (onConflict !== undefined) parameters.set('on_conflict', onConflict)
  if (columns) parameters.set('columns', columns.map((name) => JSON.stringify(name)).join(','))
  const prefer = ['return=representation']
  if (resolution) prefer.push(`resolution=${resolution}`)
  if (isMissingDefault) prefer.push('missing=default')
  const objects = roots.map(objectOf)
  return { path: `/${table}?${parameters.toString()}`, prefer, body: isArray ? objects : objects[0] }
}

const generated = Number(process.env.NESTED_WRITES ?? 20)
const firstSeed = testSeed(20_261_123)

for (const [role, canFail] of [
  ['made_user', true],
  ['made_limited', false],
] as const) {
  t.test(`${generated} writes of ${role}, SEED=${firstSeed}`, async (t) => {
    const generator = new NestedGenerator(seededRandom(firstSeed))
    const Authorization = await bearer(role, { sub: 'alice' })
    const codes = new Map<string | undefined, number>()
    await database.query(seed)
    const { rows: initial } = await database.query(state)
    for (let number = 0; number < generated; number++) {
      const write = generator.next(canFail)
      const { path, prefer, body } = requestOf(write)
      const send = (server: typeof call, preferences: readonly string[]) =>
        server('POST', path, { body, headers: { Authorization, Prefer: preferences.join(', ') } })
      const undone = await send(uncached.call, [...prefer, 'tx=rollback'])
      const expected = await oracle(write, role)
      const answer = await send(call, prefer)
      const name = `${number}: ${path} ${prefer.join()} ${JSON.stringify(body)}`
      const error = answer.body as { code: string; message: string; details: string | null }
      const found = answer.status < 300 ? undefined : error.code
      codes.set(found, (codes.get(found) ?? 0) + 1)
      t.equal(found, write.refusal ?? expected.code, `${name} ${answer.text}`)
      t.equal(undone.status, answer.status, name)
      const { rows } = await database.query(state)
      if (found === undefined) {
        t.strictSame(rows, expected.rows, name)
        if (write.resolution === undefined) t.strictSame(undone.body, answer.body, name)
        const filter = (answer.body as { label: string }[]).map(({ label }) => JSON.stringify(label)).join(',')
        const read = await call('GET', `${path.replace(/&.*/, '')}&label=in.(${encodeURIComponent(filter)})`, {
          headers: { Authorization },
        })
        const sorted = (list: unknown) => (list as { label: string }[]).toSorted((a, b) => (a.label < b.label ? -1 : 1))
        t.strictSame(sorted(answer.body), sorted(read.body), name)
        await database.query(seed)
      } else {
        t.strictSame(rows, initial, `${name}: nothing remains`)
        const path = faultyPath(write.roots, (index) => (write.isArray ? `/${index}` : ''))
        // Without related rows, it is a plain write. Of many rows, the pointer may be that of their relationship.
        if (path !== undefined && write.roots.some(({ related }) => related.length > 0)) {
          const pointer = errorPath(error as never) ?? ''
          const isFound = pointer.startsWith(path) || (hasManyRows(write.roots) && path.startsWith(pointer))
          t.ok(isFound, `${name} ${answer.text}: ${path}`)
        }
      }
    }
    t.comment(JSON.stringify([...codes]))
    t.ok((codes.get(undefined) ?? 0) >= generated / 10, 'many writes succeed')
  })
}
