// Findings that need statistics, or come from the list of exposed objects, storage and services: from plain data.
import t from 'tap'
import type { FunctionRow, Index, PolicyRow, Relation } from '../../../server/catalogue/description.ts'
import type { CheckCatalogue } from '../../../server/tools/check/catalogue.ts'
import {
  exposedFindings,
  joinFindings,
  missingFindings,
  storageFindings,
} from '../../../server/tools/check/exposed-findings.ts'
import { factsOf } from '../../../server/tools/check/lint-facts.ts'
import { findingsText } from '../../../server/tools/command-line/findings-text.ts'
import { finding, type LintFinding } from '../../../server/tools/check/finding.ts'
import { fixMigration } from '../../../server/tools/check/fix-migration.ts'
import { runLints } from '../../../server/tools/check/lints.ts'
import type { Checked, Finding } from '../../../server/tools/check/exposure-findings.ts'

const relation: Relation = {
  ...{
    oid: 1,
    schema: 'public',
    quotedSchema: 'public',
    name: 't',
    quoted: 'public.t',
    kind: 'r',
    owner: 10,
    rls: false,
  },
  ...{ forcesRls: false, rows: 20_000, isOfExtension: false, isPartition: false, options: [], tree: null },
  ...{ columns: [], granted: [] },
}
const index: Index = {
  ...{
    oid: 2,
    relation: 1,
    name: 'i',
    quoted: 'public.i',
    keys: [1],
    isValid: true,
    isUnique: false,
    isPrimary: false,
  },
  ...{ isPartial: false, isOfConstraint: false, isOfPartition: false, scans: 0, definition: 'a' },
}
const key: Index = { ...index, oid: 3, name: 'pk', isPrimary: true, isUnique: true, definition: 'b' }
const empty: CheckCatalogue = {
  ...{
    version: 18,
    equalities: [],
    extensions: [],
    schemas: [],
    functionDefaults: [],
    creators: [],
    published: [],
    storage: null,
    unproven: null,
  },
  ...{
    exposedSchemas: ['public'],
    extraSearchPath: [],
    anonymous: 'anon',
    roles: [],
    relations: [relation],
    indexes: [index, key],
    foreignKeys: [],
  },
  ...{
    policies: [],
    functions: [],
    dependencies: [],
    settingFunctions: [],
    ownFunctions: [],
    triggers: [],
    bloated: [],
    buckets: [],
  },
  ...{ login: 'me', hidden: [] },
}

const listed = (catalogue: Partial<CheckCatalogue>): string[] =>
  runLints({ ...empty, ...catalogue }).findings.map(
    ({ code, dismissed }) => `${code}${dismissed === null ? '' : `: ${dismissed}`}`,
  )

t.test('unused indexes', (t) => {
  const foreignKey = {
    name: 'fk',
    relation: 1,
    columns: [1],
    isOfPartition: false,
    referencedSchema: 'public',
    referenced: 'public.u',
    primaryKey: null,
    refersToUnique: false,
  }
  const policy: PolicyRow = {
    ...{ relation: 1, name: 'p', quoted: 'p', command: 'SELECT', isPermissive: true, roles: [0], using: 'a = 1' },
    ...{ check: null, checkTree: null },
    usingTree: '{OPEXPR :opno 7 :args ({VAR :varattno 1 :varlevelsup 0} {CONST :constvalue 1})}',
  }
  const table: [Partial<CheckCatalogue>, string[]][] = [
    [{}, ['unused_index']],
    [{ indexes: [{ ...index, scans: 1 }, key] }, []],
    [{ indexes: [{ ...index, scans: null }, key] }, []],
    [{ indexes: [{ ...index, isUnique: true }, key] }, []],
    [{ relations: [{ ...relation, isOfExtension: true }] }, []],
    [{ relations: [{ ...relation, schema: 'auth', quotedSchema: 'auth' }] }, []],
    [
      { relations: [{ ...relation, rows: 9999 }] },
      ['unused_index: The table has fewer than 10000 rows, for which PostgreSQL rarely uses an index.'],
    ],
    [{ foreignKeys: [foreignKey] }, ['unused_index: The index covers the foreign key fk.']],
    [
      { policies: [policy], equalities: [7] },
      ['unused_index: The policy p looks for rows by its column.', 'policy_exists_rls_disabled'],
    ],
    [{ indexes: [{ ...index, isOfConstraint: true }, key] }, ['unused_index: A constraint needs the index.']],
  ]
  for (const [catalogue, expected] of table) t.strictSame(listed(catalogue), expected, JSON.stringify(catalogue))
  t.match(runLints(empty).findings, [{ key: 'unused_index_public_t_i', fix: 'drop index public.i;' }])
  t.end()
})

t.test('bloated tables', (t) => {
  const [found] = runLints({ ...empty, indexes: [key], bloated: [{ schema: 'a', name: 'B' }] }).findings
  t.match(found, { code: 'table_bloat', key: 'table_bloat_a_B', fix: null, advice: /^VACUUM FULL "a"\."B" / })
  t.end()
})

const table = (...findings: Finding[]): Checked => ({
  ...{
    kind: 'table',
    schema: 'a',
    name: 'B "c"',
    owner: 'me',
    ownerBypassesRls: false,
    rls: true,
    securityInvoker: false,
  },
  ...{ roles: [], policies: [], findings },
})
const routine: Checked = {
  ...{
    kind: 'function',
    schema: 'a',
    name: 'f',
    arguments: 'b integer',
    owner: 'me',
    extension: null,
    securityDefiner: true,
    roles: [],
  },
  findings: [{ kind: 'security-definer', owner: 'me', callers: ['web'] }],
}

t.test('row-level security that is off for roles with privileges', (t) => {
  const grants = { select: null, insert: 'all', update: null, delete: null } as const
  const [found] = exposedFindings([
    { ...table({ kind: 'rls-off' }), roles: [{ name: 'web', bypassesRls: false, grants }] } as Checked,
  ])
  t.match(found, { level: 'ERROR', reason: /^Row-level security is off, so web can use every row/ })
  t.end()
})

t.test('findings on exposed objects', (t) => {
  const found = exposedFindings([
    table(
      { kind: 'rls-off' },
      { kind: 'no-rls-possible', relation: 'materialized view' },
      { kind: 'no-rls-possible', relation: 'foreign table' },
      { kind: 'policy-missing', role: 'web', commands: ['insert', 'delete'] },
      { kind: 'user-metadata', policies: ['p', 'q'] },
      { kind: 'no-security-invoker', owner: 'me', ownerBypassesRls: false },
    ),
    routine,
  ])
  t.strictSame(
    found.map(({ code, level, fix }) => [code, level, fix]),
    [
      ['exposed_table_without_rls', 'INFO', 'alter table "a"."B ""c""" enable row level security;'],
      ['exposed_relation_without_policies', 'INFO', null],
      ['exposed_relation_without_policies', 'INFO', null],
      ['grant_without_policy', 'WARN', 'revoke insert, delete on "a"."B ""c""" from public, "web";'],
      ['rls_references_user_metadata', 'ERROR', null],
      ['rls_references_user_metadata', 'ERROR', null],
      ['exposed_view_of_owner', 'INFO', 'alter view "a"."B ""c""" set (security_invoker = true);'],
      ['definer_function_exposed', 'WARN', null],
    ],
  )
  for (const { code } of found) t.ok(factsOf(code).title)
  t.throws(() => factsOf('nothing'), { message: 'There is no lint nothing' })
  t.end()
})

t.test('several findings about one function are one', (t) => {
  const closing: FunctionRow = {
    ...{ oid: 1, schema: 'a', name: 'f', quoted: 'a.f', arguments: '', kind: 'f', language: 'sql', owner: 10 },
    ...{ isSecurityDefiner: true, volatility: 's', cost: 1, returns: 'int', setsSearchPath: true, source: '' },
    ...{ sourceHash: '', tree: null, extension: null, hasOwnPrivileges: false, grantees: [0] },
  }
  const of = (code: string, reason: string, role: string, keeps: readonly string[]): LintFinding =>
    finding({
      ...{ code, reason, level: 'WARN', object: { type: 'function', schema: 'a', name: 'f()' }, key: code },
      ...{ advice: 'Move it.', closes: { routine: closing, roles: [role], keeps } },
    })
  const found = [
    of('anon_security_definer_function_executable', 'One.', 'anon', ['authenticated', 'service_role']),
    of('authenticated_security_definer_function_executable', 'Two.', 'authenticated', ['service_role']),
    of('definer_function_reads_claims', 'Three.', 'anon', ['authenticated', 'service_role']),
  ]
  t.equal(
    findingsText({ reported: found, ignored: [], unused: [] }, []).join('\n'),
    `
WARN anon_security_definer_function_executable  a.f()
    One.
    authenticated_security_definer_function_executable: Two.
    definer_function_reads_claims: Three.
    > revoke execute on function a.f() from public, "anon", "authenticated";
    > grant execute on function a.f() to "service_role";
    Move it.
    https://supabase.com/docs/guides/database/database-linter?lint=0028_anon_security_definer_function_executable
    https://supabase.com/docs/guides/database/database-linter?lint=0029_authenticated_security_definer_function_executable

Found 1 warning.`,
  )
  t.equal(
    fixMigration(found)?.replaceAll(/^(--.*)?\n/gm, ''),
    'revoke execute on function a.f() from public, "anon", "authenticated";\ngrant execute on function a.f() to "service_role";\n',
    'one pair of statements mends all of them',
  )
  t.end()
})

t.test('storage and missing tables', (t) => {
  const found = [
    ...storageFindings([
      { kind: 'storage-rls-off' },
      { kind: 'listable-bucket', bucket: 'b', roles: ['anon'], policies: ['p'] },
      { kind: 'policy-without-bucket', policy: 'p', bucket: 'c' },
    ]),
    ...missingFindings([{ table: 'public.reports', services: ['reports'] }]),
  ]
  t.match(found, [
    { code: 'storage_rls_disabled', level: 'ERROR', fix: 'alter table storage.objects enable row level security;' },
    { code: 'storage_bucket_listable', level: 'WARN', key: 'storage_bucket_listable_b' },
    {
      code: 'storage_policy_without_bucket',
      level: 'WARN',
      reason: 'policy p on storage.objects: there is no bucket c.',
    },
    {
      code: 'missing_table',
      level: 'ERROR',
      reason: /^missing table public\.reports of reports: run rowhouse migrate/,
    },
  ])
  t.end()
})

t.test('a finding that a lint has as well appears once', (t) => {
  const lint = (code: string, key: string, name: string, dismissed: string | null = null): LintFinding =>
    finding({ code, key, level: 'WARN', object: { type: 'function', schema: 'a', name }, reason: '', dismissed })
  const others = exposedFindings([table({ kind: 'rls-off' }), routine])
  t.equal(joinFindings([], others).length, 2)
  t.equal(joinFindings([lint('rls_disabled_in_public', 'rls_disabled_in_public_a_B "c"', '')], others).length, 2)
  const view = exposedFindings([table({ kind: 'no-security-invoker', owner: 'me', ownerBypassesRls: false })])
  t.match(view, [{ fix: /set \(security_invoker = true\);$/, advice: null }])
  t.match(exposedFindings([table({ kind: 'no-security-invoker', owner: 'me', ownerBypassesRls: false })], 14), [
    { fix: null, advice: /^PostgreSQL 14 has no security_invoker\. / },
  ])
  t.equal(joinFindings([lint('security_definer_view', 'security_definer_view_a_B "c"', '')], view).length, 1)
  t.equal(joinFindings([lint('security_definer_view', 'security_definer_view_a_other', '')], view).length, 2)
  t.equal(
    joinFindings([lint('anon_security_definer_function_executable', '', 'f(b integer)', 'A reason.')], others).length,
    2,
  )
  t.end()
})

t.test('changes to one policy', (t) => {
  const policy: PolicyRow = {
    ...{
      relation: 1,
      name: 'p',
      quoted: 'p',
      command: 'ALL',
      isPermissive: true,
      roles: [0],
      using: 'a',
      check: 'true',
    },
    usingTree: null,
    checkTree: null,
  }
  const given = {
    code: 'no_primary_key',
    level: 'INFO',
    object: { type: 'table', schema: null, name: 't' },
    key: '',
    reason: 'r',
  } as const
  const narrowed = finding({ ...given, edit: { relation, policy, check: 'a' } })
  const looser = finding({ ...given, edit: { relation, policy, using: 'b', check: 'a' } })
  const dropped = finding({ ...given, fix: 'drop policy p on public.t;', drops: ['public.t p'] })
  const joined = finding({ ...given, fix: 'join;', drops: ['public.t p', 'public.t q'] })
  const statements = (...found: LintFinding[]): string | undefined =>
    fixMigration(found)?.replaceAll(/^(--.*)?\n/gm, '')
  t.equal(narrowed.fix, 'alter policy p on public.t\n  with check (a);')
  t.equal(statements(narrowed, looser), 'alter policy p on public.t\n  using ((a) and (b))\n  with check (a);\n')
  t.equal(statements(narrowed, dropped, looser), 'drop policy p on public.t;\n')
  t.equal(statements(joined, narrowed), 'alter policy p on public.t\n  with check (a);\n')
  t.equal(statements(joined), 'join;\n')
  // Names may contain semicolons and line breaks, which end no statement.
  const odd = ['revoke all on "a;\nb" from c;', 'revoke insert on "a;\nb" from c;'] as const
  t.equal(statements(...odd.map((fix) => finding({ ...given, fix }))), odd.map((fix) => `${fix}\n`).join(''))
  t.end()
})

t.test('a long chain of functions', (t) => {
  const routine = (oid: number): CheckCatalogue['functions'][number] => ({
    ...{ oid, schema: 'public', name: `f${oid}`, quoted: `public.f${oid}`, arguments: '', kind: 'f', language: 'sql' },
    ...{ owner: 10, isSecurityDefiner: true, volatility: 's', cost: 100, returns: 'int', setsSearchPath: true },
    ...{ source: oid === 2000 ? `select current_setting('a')` : `select public.f${oid + 1}()`, sourceHash: '' },
    ...{ tree: null, extension: null, hasOwnPrivileges: false, grantees: oid === 1 ? [0] : [10] },
  })
  const anon: CheckCatalogue['roles'][number] = {
    ...{ oid: 11, name: 'anon', isSuperuser: false, bypassesRls: false, bypassAttribute: false, memberOf: [] },
    ...{ isReachable: true, isApi: true },
  }
  const open = { name: 'public', quoted: 'public', users: [0] }
  const functions = Array.from({ length: 2000 }, (_, index) => routine(index + 1))
  t.strictSame(
    runLints({ ...empty, relations: [], indexes: [], functions, roles: [anon], schemas: [open] }).findings.map(
      ({ code }) => code,
    ),
    ['anon_security_definer_function_executable', 'definer_function_reads_claims'],
  )
  t.end()
})
