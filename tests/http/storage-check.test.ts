// `rowhouse check` for storage: public buckets that can be listed, and policies without a bucket.
import t from 'tap'
import {
  checkStorage,
  describeStorageFinding,
  readStorageExposure,
  type StorageFinding,
} from '../../server/tools/check/storage-findings.ts'
import { createDatabase, createMigratedDatabase, withClient, type TestDatabase } from '../support/database.ts'

const check = (uri: string): Promise<StorageFinding[] | undefined> =>
  withClient(uri, async (client) => {
    const exposure = await readStorageExposure((text, values) => client.query(text, values))
    const { rows } = await client.query(`select current_user::text as role, current_setting('search_path') as path`)
    t.match(rows, [{ role: /^(?:authenticator|postgres)$/, path: '"$user", public' }], 'nothing has changed')
    return exposure && checkStorage(exposure)
  })

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
  const findings = (await check(database.authenticatorUri)) ?? []
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
    (await check(database.authenticatorUri))?.map(({ kind }) => kind),
    ['policy-without-bucket', 'policy-without-bucket'],
    'restrictive policies narrow the others',
  )
})

t.test('row-level security that is off', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  await withBuckets(database, 'alter table storage.objects disable row level security')
  const findings = (await check(database.authenticatorUri)) ?? []
  t.strictSame(findings, [{ kind: 'storage-rls-off' }])
  t.strictSame(findings.map(describeStorageFinding), ['storage.objects: row-level security is off'])
})

t.test('a database without storage', async (t) => {
  const database = await createDatabase()
  t.teardown(database.drop)
  t.equal(await check(database.adminUri), undefined)
})
