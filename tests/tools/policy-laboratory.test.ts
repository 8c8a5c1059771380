// Policy tests of the product's own schema, with every mutant, and of the tenants, on the shared cluster.
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { loadConfig } from '../../server/config/load.ts'
import type { ServiceName } from '../../server/config/config.ts'
import { withLaboratory, type Fixture, type Laboratory } from '../../server/tools/policy-tests/laboratory.ts'
import { recordedCallers, recordMatrix, writeMatrix } from '../../server/tools/policy-tests/record.ts'
import { coverageMutants, readAccessRules, weakeningMutants } from '../../server/tools/policy-tests/mutants.ts'
import { prepareCases, runMutants, runTests } from '../../server/tools/policy-tests/run.ts'
import { compileSchema, parseTestFile, readTestFiles } from '../../server/tools/policy-tests/test-file.ts'
import { readCluster, uriOf } from '../support/cluster.ts'
import { tenantsFolder } from '../support/tenants.ts'

const { port } = await readCluster()
const { config: loaded } = loadConfig({ env: {}, file: undefined })

/** The end of a role that the test of another file, on the same cluster, has created for itself. */
const ofTest = /_test_[0-9a-f]{12}$/

const inLaboratory = <T>(
  fixture: Fixture,
  services: readonly ServiceName[],
  use: (laboratory: Laboratory) => Promise<T>,
): Promise<T> =>
  withLaboratory(
    {
      uri: uriOf(port, 'postgres'),
      env: {},
      config: { ...loaded, services },
      fixture,
      jobs: 2,
      onRemoved: () => undefined,
    },
    (laboratory) => {
      const { roles } = laboratory
      return use({ ...laboratory, roles: { ...roles, api: roles.api.filter((name) => !ofTest.test(name)) } })
    },
  )

const ignore = (): void => undefined

const own = fileURLToPath(new URL('../policies', import.meta.url))

t.test("the product's own schema", async (t) => {
  const files = await readTestFiles(own)
  const accepted = files.flatMap((file) => file.accepted)
  await inLaboratory(
    { migrations: undefined, seeds: [join(own, 'fixture.sql')] },
    loaded.services,
    async (laboratory) => {
      const cases = await prepareCases(laboratory, files, loaded)
      const results = await runTests(laboratory, cases, ignore)
      t.strictSame(
        results.filter(({ problem }) => problem !== null).map(({ test, problem }) => ({ test: test.name, problem })),
        [],
        'every test passes',
      )
      for (const kind of ['weaken', 'coverage'] as const) {
        const mutants = await runMutants(laboratory, cases, { kind, only: undefined, accepted, onResult: ignore })
        t.ok(mutants.length > 50)
        const year = mutants.find(({ mutant }) => mutant.id.includes('"reports_year_check"'))
        t.strictSame(year?.mutant.tables, kind === 'weaken' ? undefined : ['public.reports'], 'the check of a domain')
        t.strictSame(
          mutants
            .filter((it) => !it.noticedBy && !it.accepted && !ofTest.test(it.mutant.id))
            .map(({ mutant, error }) => [mutant.id, error]),
          [],
          kind === 'weaken' ? 'every mutant is noticed' : 'every policy, grant and check is exercised',
        )
        t.strictSame(
          mutants.filter((it) => it.noticedBy && it.accepted).map(({ mutant }) => mutant.id),
          [],
          'no accepted mutant is noticed',
        )
      }
      const unknown = { file: 'f.yaml', line: 3, mutant: 'public.reports: nothing', reason: 'r' }
      await t.rejects(
        runMutants(laboratory, cases, { kind: 'weaken', only: undefined, accepted: [unknown], onResult: ignore }),
        { message: 'f.yaml:3: there is no mutant "public.reports: nothing"; remove the entry.' },
      )
      await t.rejects(
        runMutants(laboratory, cases, { kind: 'weaken', only: 'nothing like it', accepted: [], onResult: ignore }),
        { message: 'No mutant has "nothing like it" in its name.' },
      )
    },
  )
})

t.test('callers of every kind, and tests that cannot run', async (t) => {
  const key = 'sb_publishable_policy_tests_0123456789'
  const yaml = `
callers:
  ann: { email: ann@example.org, claims: { aal: aal2 } }
tests:
  - as: ann
    given: >-
      create function claims() returns json stable language sql as $$ select current_setting('request.jwt.claims')::json $$
    request: GET /profiles?select=full_name
    rows: [{ full_name: Ann }]
  - name: key
    as: policy tests
    given: >-
      insert into auth.api_keys (key_hash, hint, label, role) values (sha256('${key}'), 'sb_', 'policy tests', 'service_role')
    request: GET /profiles?select=id
    rows: 2
  - { name: no account, as: eve@example.org, request: GET /profiles, status: 200 }
  - { name: no caller, as: nobody_at_all, request: GET /profiles, status: 200 }
  - { name: no key, as: sb_secret_0000000000000000000000000000000000000000000, request: GET /profiles, status: 200 }
  - { name: no SQL, as: anon, given: selec 1, request: GET /profiles, status: 401 }
  - { name: no table, as: anon, request: GET /nothing, status: 404 }
matrix:
  public.nothing:
    select: { anon: [] }
`
  const file = parseTestFile('c.yaml', yaml, await compileSchema())
  await inLaboratory(
    { migrations: undefined, seeds: [join(own, 'fixture.sql')] },
    loaded.services,
    async (laboratory) => {
      const cases = await prepareCases(laboratory, [file], { ...loaded, restBasePath: '/rest/v1' })
      const results = await runTests(laboratory, cases, ignore)
      t.strictSame(
        results.map(({ test, problem }) => [test.name, problem?.message.split('\n')[0] ?? null]),
        [
          ['ann: GET /profiles?select=full_name', null],
          ['key', null],
          ['no account', 'There is no account with the address eve@example.org. Add it to seed.sql.'],
          [
            'no caller',
            'There is no caller "nobody_at_all": it is not a name under `callers`, the e-mail address of an account, an API key or the label of one, or a role.',
          ],
          ['no key', 'The API key is unknown, expired or revoked'],
          ['no SQL', 'the SQL of "given" failed: syntax error at or near "selec"'],
          ['no table', null],
          ['anon: select public.nothing', 'there is no table or view public.nothing in the exposed schemas'],
        ],
      )

      // Nobody reaches a partition by the API, and nobody writes to a view that cannot be written.
      const [session] = laboratory.sessions
      const found = await session?.isolated(async () => {
        await session.client.query(`
          create domain auth.positive as int constraint positive check (value > 0);
          create domain auth.small as auth.positive constraint small check (value < 9);
          create table parts (id int, many auth.small[], kind text constraint kinds check (kind <> '')) partition by range (id);
          create table part partition of parts for values from (0) to (9);
          alter table part enable row level security;
          create policy own on part using (true);
          create view total as select count(*) from parts;
          grant all on parts, part, total to anon;
        `)
        const rules = await readAccessRules(session.query, ['public'], ['anon'])
        return [...coverageMutants(rules), ...weakeningMutants(rules)].map(({ id }) => id)
      })
      t.strictSame(
        found
          ?.filter((id) => /^(?:auth|public\.(?:parts?|total))[.:]/.test(id))
          .filter((id) => !id.includes('parts: revoke')),
        [
          'auth.positive: constraint "positive": drop',
          'auth.small: constraint "small": drop',
          'public.parts: constraint "kinds": drop',
          'public.total: revoke select from anon',
        ],
      )
    },
  )
})

t.test('a recorded matrix of the tenants is the same as before, and passes', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-matrix-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const tenants = fileURLToPath(tenantsFolder)
  const fixture = { migrations: join(tenants, 'migrations'), seeds: [join(tenants, 'seed.sql')] }
  await inLaboratory(fixture, ['rest', 'auth'], async (laboratory) => {
    const { sessions, ownRelations } = laboratory
    t.equal(ownRelations.length, 22, 'twenty tables and two views')
    const path = join(folder, 'matrix.yaml')
    // A few tables, because all of them take a while.
    const some = {
      ...laboratory,
      ownRelations: ownRelations.filter(({ name }) => /^(?:memberships|projects|labels)$/.test(name)),
    }
    const [session] = sessions
    const callers = session ? await recordedCallers(laboratory, {}, session.query) : []
    t.strictSame(callers.slice(0, 4), ['anon', 'authenticated', 'service_role', 'anna@example.org'])
    t.match(await writeMatrix(path, await recordMatrix(some, callers, {})), { isNew: true })
    const text = await readFile(path, 'utf8')
    t.match(await writeMatrix(path, await recordMatrix(some, callers, {})), { isNew: false, changes: [] })
    t.equal(await readFile(path, 'utf8'), text)
    const recorded = parseTestFile(path, text, await compileSchema())
    const whole = (await readTestFiles(join(tenants, 'policy-tests'))).flatMap((file) => file.matrix)
    t.strictSame(
      whole
        .filter(({ table }) => /\.(?:memberships|projects|labels)$/.test(table))
        .map(({ as, expected }) => [as, expected]),
      recorded.matrix.map(({ as, expected }) => [as, expected]),
      'as in tests/tenants/policy-tests',
    )
    const cases = await prepareCases(laboratory, [recorded], loaded)
    const results = await runTests(laboratory, cases, ignore)
    t.strictSame(
      results.filter(({ problem }) => problem !== null),
      [],
    )
    const accepted = (await readTestFiles(join(tenants, 'policy-tests'))).flatMap((file) => file.accepted)
    const options = { kind: 'weaken', only: 'public.labels: policy', accepted, onResult: ignore } as const
    const mutants = await runMutants(laboratory, cases, options)
    t.ok(mutants.length > 3)
    t.strictSame(
      mutants
        .filter((it) => !it.noticedBy && !it.accepted && !ofTest.test(it.mutant.id))
        .map(({ mutant }) => mutant.id),
      [],
    )
  })
})
