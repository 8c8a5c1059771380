// `rowhouse explain` as a program: its guide's example.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'
import { createMigratedDatabase } from '../../support/database.ts'
import { command } from '../../support/program.ts'
import { readmeSection, withProgram } from '../../support/readme-section.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())

t.test('the commands of the guide', async (t) => {
  await database.query("select auth.create_user('anna@example.org', 'hash', 'Anna', null)")
  await database.query(`
    insert into public.classification_runs (user_id, image_uri, image_source, result_label, confidence, is_positive)
    select id, 'https://example.org/lake.jpg', 'camera', 'water hyacinth', confidence, true
    from public.profiles, unnest(array[5, 97]) as confidence`)
  const script = withProgram(readmeSection('explain'), command())
  const { stdout, stderr } = await promisify(execFile)('/bin/sh', ['-e', '-c', script], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.authenticatorUri, PGRST_DB_ANON_ROLE: 'anon' },
  })
  t.equal(stderr, '')
  const [read, refused, denied, ...more] = stdout.split(/^(?=request {5})/m)
  t.strictSame(more, [])
  t.match(
    read,
    /^request +GET \/classification_runs\?select=\*&confidence=gt\.50\n[^]*\nrows +1 before the policies, 1 visible\n/,
  )
  t.match(read, /^ {2}policy +owner_select \(permissive, select to authenticated\); passed by 1 of 1 rows$/m)
  t.match(read, /^plan +planned in [^]*^policies +(?:cost|save) /m)
  t.match(refused, /^response +401 42501 permission denied for table profiles The request has no key and no token\. /m)
  t.match(refused, /^ +grant select on public\.profiles to anon;$/m)
  t.match(denied, /^response +403 42501 new row violates row-level security policy for table "classification_runs"$/m)
  t.match(
    denied,
    /^denied +new row of public\.classification_runs \(id: [^]*not allowed by owner_update \(with check\):/m,
  )
  t.match(denied, /^ +where user_id: 00000000-0000-4000-8000-000000000000$/m)
  const { rows } = await database.query(
    "select count(*)::int as n from public.classification_runs where user_id::text like '0000%'",
  )
  t.strictSame(rows, [{ n: 0 }])
})
