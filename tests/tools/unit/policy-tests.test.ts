// Policy tests without a database: files, expectations, weakened expressions, TAP.
import t from 'tap'
import { compare, sentBy } from '../../../server/tools/policy-tests/expectation.ts'
import { withoutConjuncts } from '../../../server/catalogue/printed-condition.ts'
import { compareCell } from '../../../server/tools/policy-tests/matrix.ts'
import { dependenciesOf } from '../../../server/tools/policy-tests/dependencies.ts'
import { byRelevance } from '../../../server/tools/policy-tests/mutation.ts'
import type { Case } from '../../../server/tools/policy-tests/cases.ts'
import {
  coverageMutants,
  weakeningMutants,
  type AccessRules,
  type Mutant,
} from '../../../server/tools/policy-tests/mutants.ts'
import { concerns, type Roles } from '../../../server/tools/policy-tests/roles.ts'
import { TestReport } from '../../../server/tools/policy-tests/report.ts'
import type { TestResult } from '../../../server/tools/policy-tests/run.ts'
import { tapComment, tapPlan, tapPoint } from '../../../server/tools/policy-tests/tap.ts'
import { compileSchema, parseTestFile, type PolicyTest } from '../../../server/tools/policy-tests/test-file.ts'

const validate = await compileSchema()
const parse = (text: string) => parseTestFile('p.yaml', text, validate)

t.test('a file of tests', (t) => {
  const { tests, matrix, accepted, callers } = parse(`
callers:
  ann: { role: authenticated, claims: { sub: a } }
tests:
  - as: ann
    request: GET /rest/v1/tasks?select=id
    rows: [{ id: 1 }]
  - name: no access
    as: [anon, { role: authenticated }]
    given: select 1
    request: POST /tasks
    body: { title: x }
    status: 401
    error: { code: 01000, message: denied }
matrix:
  public.tasks:
    select: { anon: "42501", ann: [1, 2] }
accepted:
  - { mutant: m, reason: r }
`)
  t.strictSame(callers, { ann: { role: 'authenticated', claims: { sub: 'a' } } })
  t.strictSame(
    tests.map(({ name, line, method, target, error }) => [name, line, method, target, error]),
    [
      ['ann: GET /rest/v1/tasks?select=id', 5, 'GET', '/rest/v1/tasks?select=id', undefined],
      ['no access (anon)', 8, 'POST', '/tasks', { code: '01000', message: 'denied' }],
      ['no access (authenticated)', 8, 'POST', '/tasks', { code: '01000', message: 'denied' }],
    ],
  )
  t.strictSame(matrix, [
    { file: 'p.yaml', line: 17, table: 'public.tasks', command: 'select', as: 'anon', expected: '42501' },
    { file: 'p.yaml', line: 17, table: 'public.tasks', command: 'select', as: 'ann', expected: [1, 2] },
  ])
  t.strictSame(accepted, [{ file: 'p.yaml', line: 19, mutant: 'm', reason: 'r' }])
  t.strictSame(parse('{"tests":[{"as":"anon","request":"GET /a","status":200}]}').tests.length, 1, 'JSON')
  t.strictSame(parse('').tests, [], 'an empty file')
  t.end()
})

t.test('faults of a file name file, line, and what is allowed', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['tests: [', 'p.yaml:1: Flow sequence in block collection must be sufficiently indented and end with a ]'],
    [
      'test: []',
      'p.yaml:1: the file has no property "test". Did you mean "tests"? Allowed are callers, tests, matrix, accepted.',
    ],
    ['tests:\n  - as: anon\n    status: 200', 'p.yaml:2: tests.0 needs the property "request".'],
    [
      'tests:\n  - as: anon\n    request: GET /a',
      'p.yaml:2: tests.0 expects nothing. It needs at least one of status, rows, error.',
    ],
    [
      'tests:\n  - as: anon\n    request: FETCH /a\n    status: 200',
      'p.yaml:3: tests.0.request must be a method and a path, such as: GET /rest/v1/tasks?select=id',
    ],
    ['tests:\n  - as: anon\n    request: GET /a\n    status: ok', 'p.yaml:4: tests.0.status must be integer.'],
    [
      'tests:\n  - as: anon\n    request: GET /a\n    state: 200\n    rows: 1',
      'p.yaml:4: tests.0 has no property "state". Did you mean "status"? Allowed are name, as, given, request, headers, body, status, rows, error.',
    ],
    [
      'matrix:\n  a:\n    drop: {}',
      'p.yaml:3: matrix.a has no property "drop". Allowed are select, insert, update, delete, update all, delete all, move.',
    ],
    ['accepted:\n  - mutant: m', 'p.yaml:2: accepted.0 needs the property "reason".'],
  ]
  for (const [text, message] of rows) t.throws(() => parse(text), { message }, text)
  t.end()
})

const test = (given: Partial<PolicyTest>): PolicyTest => ({
  file: 'p.yaml',
  line: 1,
  name: 'n',
  as: 'anon',
  given: undefined,
  method: 'GET',
  target: '/a',
  headers: {},
  body: undefined,
  status: undefined,
  rows: undefined,
  error: undefined,
  ...given,
})

t.test('what a test sends', (t) => {
  t.match(sentBy(test({ target: '/rest/v1/a?b=eq.ü x' }), '/rest/v1'), { method: 'GET', target: '/a?b=eq.%C3%BC%20x' })
  t.equal(sentBy(test({ target: '/api/a' }), '/api').target, '/a')
  t.equal(sentBy(test({ target: '/a' }), '/').target, '/a')
  const headersOf = (given: Partial<PolicyTest>) => sentBy(test({ method: 'POST', ...given }), '/').headers
  t.strictSame(headersOf({ rows: [] }), { prefer: 'return=representation' })
  t.strictSame(headersOf({ rows: 1, headers: { Prefer: 'tx=commit' } }), { prefer: 'tx=commit, count=exact' })
  t.strictSame(headersOf({ body: 'a,b', headers: { 'Content-Type': 'text/csv' } }), { 'content-type': 'text/csv' })
  t.strictSame(headersOf({ target: '/rpc/f', rows: [] }), {})
  t.end()
})

t.test('responses and expectations', (t) => {
  type Row = readonly [Partial<PolicyTest>, number, unknown, string | null, string?]
  const error = { code: '42501', message: 'permission denied for table a' }
  const rows: readonly Row[] = [
    [{ status: 200 }, 200, [], null],
    [{ status: 200 }, 401, error, 'the status differs'],
    [{ rows: [{ a: 1, b: 2 }] }, 200, [{ b: 2, a: 1 }], null],
    [{ rows: [{ a: 1 }, { a: 2 }] }, 200, [{ a: 2 }, { a: 1 }], null],
    [{ rows: [{ a: 1 }, { a: 2 }], target: '/a?order=a' }, 200, [{ a: 2 }, { a: 1 }], 'the order of the rows differs'],
    [{ rows: [{ a: 1 }] }, 200, [{ a: 1 }, { a: 2 }], 'the rows differ'],
    [{ rows: [{ a: 1 }] }, 403, error, 'the response is an error'],
    [{ rows: 2 }, 200, [1, 2], null],
    [{ rows: 2 }, 200, [1], 'the number of rows differs'],
    [{ rows: 3 }, 204, undefined, null, '*/3'],
    [{ error: { code: '42501', message: undefined } }, 401, error, null],
    [{ error: { code: '42501', message: 'denied for table a' } }, 401, error, null],
    [{ error: { code: '42501', message: 'row-level' } }, 401, error, 'the error differs'],
    [{ error: { code: '23505', message: undefined } }, 401, error, 'the error differs'],
    [{ error: { code: '42501', message: undefined } }, 200, [], 'the request succeeded instead of failing'],
  ]
  for (const [given, status, body, message, range] of rows) {
    const found = compare(test(given), { status, body, header: () => range })
    t.equal(found?.message ?? null, message, JSON.stringify(given))
  }
  t.strictSame(
    compare(test({ rows: [{ a: 1 }, { a: 2 }] }), { status: 200, body: [{ a: 2 }, { a: 3 }], header: () => undefined })
      ?.difference,
    ['- {"a":1}', '  {"a":2}', '+ {"a":3}'],
  )
  t.end()
})

t.test('cells of a matrix', (t) => {
  t.equal(compareCell([1, 2], ['2', '1']), null)
  t.equal(compareCell(2, ['2', '1']), null)
  t.equal(compareCell('42501', '42501'), null)
  t.equal(compareCell({ allowed: [1], P0001: [2] }, { P0001: ['2'], allowed: ['1'] }), null)
  t.match(compareCell([1, 2], ['2', '3']), { difference: ['- 1', '+ 3'] })
  t.match(compareCell([1], '42501'), { expected: [1], actual: '42501' })
  t.end()
})

t.test('expressions without one of their conditions', (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    ['true', []],
    ['((a = 1) AND (b = 2))', ['((b = 2))', '((a = 1))']],
    ['((a = 1) OR ((b = 2) AND c))', ['((a = 1) OR (c))', '((a = 1) OR ((b = 2)))']],
    ["(a = ' AND '::text)", []],
    ['((" AND " = 1) AND (b = 2) AND c)', ['((b = 2) AND c)', '((" AND " = 1) AND c)', '((" AND " = 1) AND (b = 2))']],
    [
      '(EXISTS ( SELECT 1\n   FROM m\n  WHERE ((m.o = t.o) AND (m.u = auth.uid()))))',
      [
        '(EXISTS ( SELECT 1\n   FROM m\n  WHERE ((m.u = auth.uid()))))',
        '(EXISTS ( SELECT 1\n   FROM m\n  WHERE ((m.o = t.o))))',
      ],
    ],
    ['(a BETWEEN SYMMETRIC 1 AND 2)', []],
    ['CASE WHEN (a AND b) THEN c ELSE d END', ['CASE WHEN (b) THEN c ELSE d END', 'CASE WHEN (a) THEN c ELSE d END']],
  ]
  for (const [expression, wanted] of rows) {
    t.strictSame(
      withoutConjuncts(expression).map((it) => it.expression),
      wanted,
      expression,
    )
  }
  t.end()
})

const place = { schema: 'public', relation: 'tasks' }
const rules = (policy: object, held: readonly object[] = []): AccessRules =>
  [
    {
      ...place,
      kind: 'policy',
      name: 'p',
      fields: {
        command: 'all',
        isPermissive: true,
        roles: ['authenticated'],
        isPublic: false,
        using: null,
        check: null,
        ...policy,
      },
    },
    {
      ...place,
      kind: 'table',
      name: '',
      fields: { isTable: true, isSecured: true, lacking: [], held, granted: [], grantedColumns: [] },
    },
    { ...place, kind: 'constraint', name: 'c', fields: { definition: 'CHECK (true)' } },
  ] as unknown as AccessRules

t.test('mutants', (t) => {
  const ids = (found: AccessRules) =>
    weakeningMutants(found).map(({ id }) => id.replace('public.tasks: policy "p": ', ''))
  const security = 'public.tasks: row level security: disable'
  t.strictSame(ids(rules({ using: '((a) AND (b))' })), [
    'drop',
    'using true',
    'check true',
    'using without (a)',
    'using without (b)',
    'check without (a)',
    'check without (b)',
    security,
  ])
  t.ok(
    ids(rules({ using: '((a) AND (b IN ( SELECT 1\n   FROM c)))' })).includes(
      'using without (b IN ( SELECT 1 FROM c))',
    ),
    'on one line',
  )
  t.strictSame(ids(rules({ using: 'true' })), ['drop', security], 'nothing is weaker than true')
  const held = [{ role: 'anon', privilege: 'select' }]
  t.strictSame(ids(rules({ using: 'true', command: 'select' }, held)), ['drop', 'to public', security])
  t.strictSame(ids(rules({ using: 'true', command: 'delete' }, held)), ['drop', security], 'anon may not delete')
  t.strictSame(ids(rules({ using: 'true', isPermissive: false }, held)), ['drop', security], 'restrictive')
  t.strictSame(ids(rules({ using: 'a', roles: [] }, held)), ['to public', security], 'roles that bypass policies')
  t.strictSame(
    coverageMutants(rules({ using: 'a', check: 'b' })).map(({ sql }) => sql),
    [
      ['alter policy "p" on "public"."tasks" using (false) with check (false)'],
      ['alter policy "p" on "public"."tasks" using (true) with check (true)'],
      ['alter table "public"."tasks" drop constraint "c"'],
    ],
  )
  t.end()
})

t.test('the check of a domain belongs to the tables that use it', (t) => {
  const tables = ['public.reports']
  const domain = { kind: 'domain', schema: 'app', relation: 'year', name: 'c', fields: { tables } } as const
  t.match(coverageMutants([domain]), [
    { id: 'app.year: constraint "c": drop', tables, sql: ['alter domain "app"."year" drop constraint "c"'] },
  ])
  t.strictSame(weakeningMutants([domain]), [])
  t.end()
})

t.test('which tests run against a mutant', (t) => {
  const names = [
    'tasks',
    'projects',
    'members',
    'Log',
    'odd "name',
    'other',
    'composed',
    'mine',
    'unlimited',
    'log',
    'compose',
  ]
  const oid = (name: string) => names.indexOf(name)
  const relation = (name: string) => ({ oid: oid(name), schema: 'public', name })
  const body = (name: string, source: string, more: object = {}) => ({
    ...{ oid: oid(name), schema: 'app', name, language: 'sql', source, isSecurityDefiner: false, owner: 10 },
    ...more,
  })
  const uses = (name: string, other: { usesRelation?: number; usesFunction?: number }) => ({
    ...({ kind: 'policy', relation: oid(name), function: null, usesRelation: null, usesFunction: null } as const),
    ...other,
  })
  const affected = dependenciesOf({
    roles: [{ oid: 10, isSuperuser: true }],
    relations: names.slice(0, 7).map(relation),
    functions: [
      body('mine', 'select id from Members where x'),
      body('unlimited', 'select id from members', { isSecurityDefiner: true }),
      body('log', 'insert into "Log" select * from "odd ""name" -- members', { language: 'plpgsql' }),
      body('compose', "begin execute 'select'; end", { language: 'plpgsql' }),
    ],
    dependencies: [
      uses('tasks', { usesRelation: oid('projects') }),
      uses('projects', { usesFunction: oid('mine') }),
      uses('other', { usesFunction: oid('unlimited') }),
      uses('other', { usesFunction: oid('log') }),
      uses('composed', { usesFunction: oid('compose') }),
    ],
  })
  const of = (object: string, command?: 'select') => [
    ...affected({ kind: 'relation', schema: 'public', object, tables: [`public.${object}`], command }),
  ]
  t.strictSame(of('members', 'select').sort(), ['public.composed', 'public.members', 'public.projects', 'public.tasks'])
  t.ok(of('members').includes('public.other'), 'constraints apply to superusers')
  t.strictSame(of('tasks', 'select').sort(), ['public.composed', 'public.tasks'])
  t.ok(of('Log', 'select').includes('public.other'))
  t.ok(of('odd "name', 'select').includes('public.other'))
  const mine = { kind: 'function', schema: 'app', object: 'mine', tables: [], command: undefined } as const
  t.strictSame([...affected(mine)].sort(), ['public.composed', 'public.projects', 'public.tasks'])

  const one = (name: string, table: string | undefined, mentions = ''): Case =>
    ({ name, table, command: 'select', mentions, role: 'anon' }) as Case
  const cases = [
    one('c', 'public.tasks'),
    one('d', 'public.other'),
    one('b', undefined, '/x'),
    one('a', 'public.projects'),
  ]
  const mutant: Mutant = {
    id: 'm',
    kind: 'relation',
    schema: 'public',
    object: 'projects',
    tables: ['public.projects'],
    command: 'select',
    roles: null,
    isOfRows: false,
    sql: [],
  }
  const roles: Roles = { api: [], byName: new Map(), definers: [] }
  t.strictSame(
    byRelevance(mutant, cases, roles, affected(mutant)).map(({ name }) => name),
    ['a', 'b', 'c'],
  )
  t.end()
})

t.test('which callers a mutant concerns', (t) => {
  const role = (name: string, bypassesRls = false, inherits = [name]) =>
    [name, { name, inherits, bypassesRls }] as const
  const roles: Roles = {
    api: [],
    byName: new Map([role('anon'), role('service_role', true), role('editor', false, ['editor', 'authenticated'])]),
    definers: [],
  }
  t.equal(concerns(roles, 'anon', ['authenticated'], true), false)
  t.equal(concerns(roles, 'anon', ['public'], true), true)
  t.equal(concerns(roles, 'editor', ['authenticated'], true), true)
  t.equal(concerns(roles, 'service_role', null, true), false)
  t.equal(concerns(roles, 'service_role', null, false), true)
  t.equal(concerns(roles, undefined, ['authenticated'], true), true)
  t.equal(concerns({ ...roles, definers: ['editor'] }, 'anon', ['authenticated'], true), true)
  t.end()
})

t.test('TAP', (t) => {
  t.equal(tapPoint(1, { ok: true, name: 'a # b\nc' }), 'ok 1 - a \\# b c\n')
  t.equal(tapPoint(2, { ok: false, name: 'a', todo: 'known' }), 'not ok 2 - a # TODO known\n')
  t.equal(
    tapPoint(3, { ok: false, name: 'a', diagnostics: { message: 'm', expected: [{ a: 1 }] } }),
    'not ok 3 - a\n  ---\n  message: m\n  expected:\n    - a: 1\n  ...\n',
  )
  t.equal(tapComment('a\u001b[1m\nb'), '# a [1m b\n')
  t.equal(tapPlan(3), '1..3\n')
  t.end()
})

t.test('the report begins with the plan, the summary and what failed', (t) => {
  let out = ''
  const report = new TestReport((text) => void (out += text))
  const result = (name: string, message: string | null): TestResult => ({
    test: {
      ...{ name, file: 'f.yaml', line: 1, table: undefined, command: undefined, mentions: '', role: undefined },
      run: () => Promise.resolve(null),
    },
    problem: message === null ? null : { message },
  })
  report.test(result('a', null))
  report.test(result('b', 'the rows differ'))
  report.comment('a remark')
  t.equal(out, '', 'nothing is printed before the end')
  report.end()
  t.equal(
    out,
    `TAP version 14
1..2
# 2 tests: 1 failed
# a remark
not ok 1 - b
  ---
  message: the rows differ
  at: f.yaml:1
  ...
ok 2 - a
`,
  )
  t.notOk(report.passes)
  t.end()
})
