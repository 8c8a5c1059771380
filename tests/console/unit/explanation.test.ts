// What the pages of policies and explanations work out by themselves: pasted requests, plans, what lets roles through.
import t from 'tap'
import { parseCurl } from '../../../server/console/explanation/curl.ts'
import { planTree } from '../../../server/console/explanation/plan.ts'
import { conditionsOf, passageOf } from '../../../server/console/pages/policies/matrix.ts'
import type { MatrixPolicy, MatrixRelation } from '../../../server/services/console/policy-protocol.ts'

t.test('commands of curl', (t) => {
  const cases: readonly (readonly [string, object | undefined])[] = [
    ['GET /rest/v1/notes', undefined],
    [
      "curl 'https://x.example.org/rest/v1/notes?select=*' -H 'apikey: secret' -H \"Prefer: count=exact\"",
      { request: 'GET /rest/v1/notes?select=*', headers: ['Prefer: count=exact'], body: undefined },
    ],
    [
      `curl -X PATCH http://127.0.0.1:3000/rest/v1/notes?id=eq.1 \\
        --header 'Authorization: Bearer x' -d '{"text":"it'\\''s"}'`,
      { request: 'PATCH /rest/v1/notes?id=eq.1', headers: [], body: `{"text":"it's"}` },
    ],
    [
      'curl --url http://h/rest/v1/notes --data-raw $\'{"a":"b\\\\nc"}\' -o out.json --request=PUT -s',
      { request: 'PUT /rest/v1/notes', headers: [], body: '{"a":"b\\nc"}' },
    ],
    ['curl -I http://h/rest/v1/notes', { request: 'HEAD /rest/v1/notes', headers: [], body: undefined }],
    ['curl http://h/rest/v1/rpc/f -d a=1 -d b=2', { request: 'POST /rest/v1/rpc/f', headers: [], body: 'a=1&b=2' }],
    ['curl', { request: 'GET /', headers: [], body: undefined }],
    ["curl 'unfinished", { request: 'GET unfinished', headers: [], body: undefined }],
  ]
  for (const [text, expected] of cases) t.same(parseCurl(text), expected, text)
  t.end()
})

t.test('plans', (t) => {
  const tree = planTree([
    {
      'Planning Time': 0.5,
      'Execution Time': 10,
      Plan: {
        'Node Type': 'Nested Loop',
        'Join Type': 'Left',
        'Plan Rows': 5,
        'Actual Rows': 5,
        'Actual Loops': 1,
        'Actual Total Time': 10,
        Plans: [
          {
            'Node Type': 'Seq Scan',
            'Relation Name': 'a',
            Alias: 'x',
            'Plan Rows': 1,
            'Actual Rows': 100,
            'Actual Loops': 1,
            'Actual Total Time': 4,
          },
          {
            'Node Type': 'Index Scan',
            'Index Name': 'b_pkey',
            'Plan Rows': 1,
            'Actual Rows': 1,
            'Actual Loops': 5,
            'Actual Total Time': 1,
            Filter: '(a = 1)',
          },
          { 'Node Type': 'Result', 'Plan Rows': 1000, 'Actual Rows': 0, 'Actual Loops': 0, 'Actual Total Time': 0 },
        ],
      },
    },
  ])
  const [scan, index, never] = tree?.root.children ?? []
  t.match(tree, { planning: 0.5, execution: 10, root: { title: 'Left Nested Loop', time: 1, share: 0.1, offBy: null } })
  t.match(scan, { on: 'a x', offBy: 100, time: 4 })
  t.match(index, { title: 'Index Scan using b_pkey', rows: 5, time: 5, details: [['Filter', '(a = 1)']] })
  t.match(never, { loops: 0, offBy: null })
  const estimated = planTree([
    {
      Plan: {
        'Node Type': 'Sort',
        'Total Cost': 10,
        'Plan Rows': 3,
        Plans: [{ 'Node Type': 'Seq Scan', 'Total Cost': 4 }],
      },
    },
  ])
  t.match(estimated, { execution: null, root: { rows: null, time: null, share: 0.6 } })
  for (const other of [null, undefined, [], {}, 'x', [{ Plan: 1 }]]) t.equal(planTree(other), undefined)
  t.end()
})

const policy = (name: string, more: Partial<MatrixPolicy> = {}): MatrixPolicy => ({
  name,
  command: 'all',
  permissive: true,
  roles: ['user'],
  using: 'true',
  check: null,
  ...more,
})

const relation = (more: Partial<MatrixRelation> = {}): MatrixRelation => ({
  kind: 'table',
  schema: 'public',
  name: 'notes',
  owner: 'postgres',
  rls: true,
  securityInvoker: false,
  roles: [],
  policies: [],
  risks: [],
  ...more,
})

t.test('what lets a role through', (t) => {
  const grants = { select: 'all', insert: 'columns', update: null, delete: 'all' } as const
  const user = { name: 'user', bypassesRls: false, grants }
  const kind = (of: MatrixRelation, command: 'select' | 'insert' | 'update' | 'delete', role = user): string =>
    passageOf(of, role, command).kind
  t.equal(kind(relation(), 'update'), 'none', 'without the privilege')
  t.equal(kind(relation(), 'select'), 'refused', 'without a policy')
  t.equal(
    kind(relation({ policies: [policy('p', { permissive: false })] }), 'select'),
    'refused',
    'only restrictive ones',
  )
  t.equal(kind(relation({ policies: [policy('p', { command: 'delete' })] }), 'select'), 'refused', 'of another command')
  t.equal(kind(relation({ policies: [policy('p', { roles: ['other'] })] }), 'select'), 'refused', 'of another role')
  t.equal(kind(relation({ rls: false }), 'select'), 'all')
  t.equal(kind(relation(), 'select', { ...user, bypassesRls: true }), 'all')
  t.equal(kind(relation({ kind: 'view' }), 'select'), 'owner')
  t.equal(kind(relation({ kind: 'view', securityInvoker: true }), 'select'), 'some')
  t.equal(kind(relation({ kind: 'materialized view' }), 'select'), 'all')
  const both = passageOf(relation({ policies: [policy('r', { permissive: false }), policy('p')] }), user, 'insert')
  t.match(both, { kind: 'some', isOfColumns: true, policies: [{ name: 'p' }, { name: 'r' }] })
  t.end()
})

t.test('conditions of a command', (t) => {
  const both = policy('p', { using: 'a', check: 'b' })
  t.strictSame(conditionsOf(both, 'select'), [['using', 'a']])
  t.strictSame(conditionsOf(both, 'insert'), [['with check', 'b']])
  t.strictSame(conditionsOf(both, 'update'), [
    ['using', 'a'],
    ['with check', 'b'],
  ])
  t.strictSame(conditionsOf(policy('p', { using: 'a' }), 'insert'), [['with check', 'a']], 'using checks new rows, too')
  t.end()
})
