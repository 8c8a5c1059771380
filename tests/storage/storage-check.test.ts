// `rowhouse check` for storage: public buckets that can be listed, and policies without a bucket.
import t from 'tap'
import { BucketConditions, type Verdict } from '../../server/tools/check/bucket-conditions.ts'
import type { CheckCatalogue } from '../../server/tools/check/catalogue.ts'
import { PolicyExpressions } from '../../server/tools/check/policy-expression.ts'
import { readCatalogue } from '../../server/tools/check/run-check.ts'
import { SchemaView } from '../../server/tools/check/schema-view.ts'
import { checkStorage, describeStorageFinding, type StorageFinding } from '../../server/tools/check/storage-findings.ts'
import { createDatabase, createMigratedDatabase, withClient, type TestDatabase } from '../support/database.ts'

const read = (uri: string): Promise<CheckCatalogue> =>
  withClient(uri, async (client) => {
    const scope = { schemas: ['public'], anonymousRole: null, confirmsAddresses: false }
    const catalogue = await readCatalogue((text, values) => client.query(text, values), scope)
    const { rows } = await client.query(`select current_user::text as role, current_setting('search_path') as path`)
    t.match(rows, [{ role: /^(?:authenticator|postgres)$/, path: '"$user", public' }], 'nothing has changed')
    return catalogue
  })

const check = async (uri: string): Promise<StorageFinding[]> => checkStorage(await read(uri))

const withBuckets = async (database: TestDatabase, sql: string): Promise<void> => {
  await database.query(
    `insert into storage.buckets (id, name, public) values
       ('open', 'open', true), ('private', 'private', false), ('mine', 'mine', true), ('sane', 'sane', true);
     ${sql}`,
  )
}

t.test('findings', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  t.strictSame(await check(database.authenticatorUri), [], 'nothing without buckets')
  await withBuckets(
    database,
    `create policy "everyone reads" on storage.objects for select using (bucket_id = 'open');
     create policy members on storage.objects to authenticated using (bucket_id in ('open', 'mine', 'private'));
     create policy own on storage.objects for select to authenticated
       using (bucket_id = 'sane' and owner_id = (select auth.uid()::text));
     create policy uploads on storage.objects for insert to authenticated with check (bucket_id = 'sane');
     create policy misspelt on storage.objects for insert with check (bucket_id = 'opne' and name like '%.png');
     create policy gone on storage.objects for select to anon using (bucket_id = any (array['gone', 'open']) and name = 'x');`,
  )
  const findings = await check(database.authenticatorUri)
  t.strictSame(findings, [
    { kind: 'listable-bucket', bucket: 'mine', roles: ['authenticated'], policies: ['members'] },
    {
      kind: 'listable-bucket',
      bucket: 'open',
      roles: ['anon', 'authenticated'],
      policies: ['everyone reads', 'members'],
    },
    { kind: 'policy-without-bucket', policy: 'gone', bucket: 'gone' },
    { kind: 'policy-without-bucket', policy: 'misspelt', bucket: 'opne' },
  ])
  t.strictSame(findings.map(describeStorageFinding), [
    'storage bucket mine is public, and authenticated can list all its objects by the policy members; public addresses need no policy',
    'storage bucket open is public, and anon, authenticated can list all its objects by the policies everyone reads, members; public addresses need no policy',
    'policy gone on storage.objects: there is no bucket gone',
    'policy misspelt on storage.objects: there is no bucket opne',
  ])
  await database.query(
    `create policy narrow on storage.objects as restrictive for select using (owner_id = (select auth.uid()::text))`,
  )
  t.strictSame(
    (await check(database.authenticatorUri)).map(({ kind }) => kind),
    ['policy-without-bucket', 'policy-without-bucket'],
    'restrictive policies narrow the others',
  )
})

t.test('row-level security that is off', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  await withBuckets(database, 'alter table storage.objects disable row level security')
  const findings = await check(database.authenticatorUri)
  t.strictSame(findings, [{ kind: 'storage-rls-off' }])
  t.strictSame(findings.map(describeStorageFinding), ['storage.objects: row-level security is off'])
})

t.test('a database without storage', async (t) => {
  const database = await createDatabase()
  t.teardown(database.drop)
  t.strictSame(await check(database.adminUri), [])
})

const verdicts: readonly (readonly [condition: string, verdict: Verdict, buckets?: readonly string[]])[] = [
  ['true', 'always'],
  ['false', 'never'],
  ["bucket_id = 'a'", 'always', ['a']],
  ["'a' = bucket_id", 'always', ['a']],
  ["bucket_id = 'b'", 'never', ['b']],
  ["bucket_id in ('b', 'a')", 'always', ['b', 'a']],
  ["bucket_id = any (array['b', 'it''s'])", 'never', ['b', "it's"]],
  ["bucket_id = 'a' or bucket_id = 'b'", 'always', ['a', 'b']],
  ["bucket_id = 'b' or name = 'x'", 'perhaps', ['b']],
  ["bucket_id = 'a' and owner_id = auth.uid()::text", 'perhaps', ['a']],
  ["bucket_id = 'b' and owner_id = auth.uid()::text", 'never', ['b']],
  ["bucket_id = 'a' and auth.role() = 'anon'", 'always', ['a']],
  ["bucket_id = 'a' and (select auth.role()) = 'anon'", 'always', ['a']],
  ["bucket_id = 'a' and auth.role() = 'authenticated'", 'never', ['a']],
  ["bucket_id = 'a' and (storage.foldername(name))[1] = 'x OR y'", 'perhaps', ['a']],
  ["not (bucket_id = 'a')", 'never', ['a']],
  ["not (bucket_id = 'b')", 'always', ['b']],
  ["not (name = 'b')", 'perhaps'],
  ["bucket_id = 'it''s) OR true'", 'never', ["it's) OR true"]],
  ["name like 'a' or true", 'always'],
  ["name = 'bucket'", 'perhaps'],
  ["exists (select from storage.buckets b where b.id = name and objects.bucket_id = 'a')", 'perhaps', ['a']],
]

t.test('what conditions say about a bucket', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  await database.query(
    verdicts
      .map(([condition], index) => `create policy "${index}" on storage.objects for select using (${condition});`)
      .join(''),
  )
  const catalogue = await read(database.authenticatorUri)
  const view = new SchemaView(catalogue)
  const objects = catalogue.relations.find(({ quoted }) => quoted === 'storage.objects')
  if (!objects) throw new Error('there is no table storage.objects')
  const conditions = new BucketConditions(view, new PolicyExpressions(view), objects)
  const trees = new Map(view.policiesOf(objects).map(({ name, usingTree }) => [name, usingTree]))
  for (const [index, [condition, verdict, buckets = []]] of verdicts.entries()) {
    const tree = trees.get(String(index)) ?? ''
    t.equal(conditions.verdict(tree, 'a', 'anon'), verdict, condition)
    const older = tree.replaceAll('{ARRAYEXPR ', '{ARRAY ')
    t.equal(conditions.verdict(older, 'a', 'anon'), verdict, `${condition}, as PostgreSQL 15 stores it`)
    t.strictSame(conditions.bucketsIn(tree), buckets, condition)
  }
  t.equal(conditions.verdict(null, 'a', 'anon'), 'always')
  t.strictSame(conditions.bucketsIn(null), [])
})
