// Deleting an account deletes its files: rows, addresses and signed URLs at once, bytes with the sweep.
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { sweep } from '../../server/services/storage/sweep.ts'
import { storageDatabase } from '../../server/services/storage/storage-database.ts'
import { password, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { holdRequest } from '../support/held-request.ts'
import { startStorageService, storageBearer, storageFaults as faults, type TestStorage } from '../support/storage.ts'
import { until } from '../support/until.ts'

/** The cookie service needs it. */
const sessions = { SESSION_SECRETS: 'a secret for the cookies of sessions in tests' }

const signedUp = async ({ application }: TestStorage, address: string) => {
  const { id, call } = await signUp(application.call, address)
  return { call, id: id as `${string}-${string}` }
}

async function started(t: Test): Promise<TestStorage> {
  const storage = await startStorageService(t, sessions)
  await storage.database.query(
    `insert into storage.buckets (id, name, public) values ('open', 'open', true), ('closed', 'closed', false);
     create policy own on storage.objects for all to authenticated using (owner_id = (select auth.uid()::text))`,
  )
  return storage
}

const versionOf = { 'Tus-Resumable': '1.0.0' }
const base64 = (text: string): string => Buffer.from(text).toString('base64')

t.test('files go with the account of their owner', async (t) => {
  const storage = await started(t)
  const { ask, url, database, application, kept } = storage
  const ann = await signedUp(storage, 'ann@example.org')
  const bob = await signedUp(storage, 'bob@example.org')
  for (const user of [ann, bob]) {
    for (const bucket of ['open', 'closed'])
      await ask('POST', `/object/${bucket}/${user.id}`, { as: user.id, body: 'x' })
  }
  // As older versions of Supabase have written it; the owner of the second one is somebody else now.
  await database.query(
    `insert into storage.objects (bucket_id, name, owner, owner_id)
     values ('open', 'old', $1, null), ('open', 'given', $1, $2)`,
    [ann.id, bob.id],
  )
  await database.query(`update storage.buckets set owner = $1, owner_id = $2 where id = 'open'`, [ann.id, ann.id])
  const metadata = `bucketName ${base64('open')},objectName ${base64('film')}`
  const headers = { ...versionOf, 'Upload-Length': '4', 'Upload-Metadata': metadata }
  const begun = await ask('POST', '/upload/resumable', { as: ann.id, headers })
  const address = new URL(begun.headers.get('location') ?? '').pathname.replace('/storage/v1', '')
  const part = { ...versionOf, 'Content-Type': 'application/offset+octet-stream' }
  const send = (offset: string) =>
    ask('PATCH', address, { as: ann.id, body: 'xx', headers: { ...part, 'Upload-Offset': offset } })
  t.equal((await send('0')).status, 204)
  const sign = async (path: string, body?: object) =>
    (await ask('POST', path, { as: ann.id, ...(body ? { body } : {}) })).json as {
      readonly signedURL: string
      readonly url: string
    }
  const { signedURL } = await sign(`/object/sign/closed/${ann.id}`, { expiresIn: 600 })
  const upload = await sign('/object/upload/sign/open/later')
  t.equal((await ask('GET', signedURL)).text, 'x')

  t.equal((await ann.call('DELETE', '/auth/me', { body: { password: 'wrong' } })).status, 403)
  t.equal((await ask('GET', signedURL)).text, 'x', 'nothing without the password')
  const token = await storageBearer('service_role')
  const remove = (as: string) =>
    fetch(`${url}/auth/v1/admin/users/${ann.id}`, { method: 'DELETE', headers: { Authorization: as } })
  t.equal((await remove(await storageBearer(bob.id))).status, 403)

  // An upload is in progress.
  const own = await storageBearer(ann.id)
  const held = holdRequest('POST', `${url}/storage/v1/object/open/held`, 4, { Authorization: own })
  await held.send('xx')
  await until(async () => (await storage.unfinished()) > 0)

  t.equal((await ann.call('DELETE', '/auth/me', { body: { password } })).status, 200)
  const left = await database.query('select name from storage.objects order by bucket_id, name')
  t.strictSame(left.rows.map(({ name }) => String(name)).sort(), [bob.id, bob.id, 'given'].sort())
  t.strictSame(
    (await database.query('select owner, owner_id from storage.buckets where owner_id is not null')).rows,
    [],
  )
  t.strictSame((await database.query('select from rowhouse.resumable_uploads')).rowCount, 0)
  t.strictSame((await ask('GET', `/object/public/open/${ann.id}`)).json, faults.noObject)
  t.strictSame((await ask('GET', signedURL)).json, faults.noObject)
  t.equal((await send('2')).status, 404, 'the unfinished upload')
  t.equal((await ask('GET', `/object/public/open/${bob.id}`)).text, 'x', 'others keep theirs')

  const gone = { statusCode: '403', message: 'The account of the owner was deleted' }
  t.match(JSON.parse((await held.finish('xx')).text), gone, 'an upload that began before')
  t.match((await ask('PUT', upload.url, { body: 'x' })).json, gone, 'a signed URL')
  t.match((await ask('POST', '/object/open/new', { as: ann.id, body: 'x' })).json, gone, 'a token without a session')
  const onto = { bucketId: 'open', sourceKey: 'given', destinationKey: 'mine' }
  await database.query(`create policy seen on storage.objects for select to authenticated using (name = 'given')`)
  t.match((await ask('POST', '/object/copy', { as: ann.id, body: onto })).json, gone, 'a copy')

  const admin = storageDatabase(application.service.database, () => false)
  const context = { store: storage.store, database: admin, warn: (text: string) => t.fail(text) }
  await until(async () => {
    await sweep(context, new Date(Date.now() + 1000))
    return (await kept()).filter((path) => !path.endsWith('database')).length === 2
  })
  t.strictSame((await storage.versions()).length, 2, 'the sweep has removed the bytes')

  // An administrator creates the account again.
  const again = await fetch(`${url}/auth/v1/admin/users`, {
    method: 'POST',
    headers: { Authorization: token, 'Content-Type': 'application/json' },
    body: JSON.stringify({ id: ann.id, email: 'ann@example.org', password: 'correct horse', email_confirm: true }),
  })
  t.equal(again.status, 200, await again.text())
  t.equal((await ask('POST', '/object/open/new', { as: ann.id, body: 'x' })).status, 200)
})

t.test('account and files are deleted together or not at all', async (t) => {
  const storage = await started(t)
  const { ask, database } = storage
  const ann = await signedUp(storage, 'ann@example.org')
  await ask('POST', '/object/open/a', { as: ann.id, body: 'x' })
  await database.query(
    `create function public.keep() returns trigger language plpgsql as $$ begin raise 'kept'; end $$;
     create trigger keep before delete on storage.objects for each row execute function public.keep()`,
  )
  t.equal((await ann.call('DELETE', '/auth/me', { body: { password } })).status, 500)
  t.equal((await ann.call('GET', '/auth/me')).status, 200)
  t.equal((await ask('GET', '/object/public/open/a')).text, 'x')
  await database.query('drop trigger keep on storage.objects')
  t.equal((await ann.call('DELETE', '/auth/me', { body: { password } })).status, 200)
  t.equal((await ask('GET', '/object/public/open/a')).status, 400)
})

t.test('a server without storage deletes the files, too', async (t) => {
  const storage = await started(t)
  const other = await startApplication(t, storage.database.authenticatorUri, {
    ...sessions,
    SERVICES: 'rest,auth,profiles',
  })
  const ann = await signUp(other.call, 'ann@example.org')
  await storage.ask('POST', '/object/open/a', { as: ann.id as `${string}-${string}`, body: 'x' })
  t.equal((await ann.call('DELETE', '/auth/me', { body: { password } })).status, 200)
  t.strictSame((await storage.ask('GET', '/object/public/open/a')).json, faults.noObject)
})

t.test('of uploads while the account is deleted, none stays', async (t) => {
  const storage = await started(t)
  const { ask, database } = storage
  for (let round = 0; round < 4; round++) {
    const user = await signedUp(storage, `user${round}@example.org`)
    const uploads = Array.from({ length: 12 }, async (_, n) => {
      await pause(n * 3)
      return ask('POST', `/object/open/${round}-${n}`, { as: user.id, body: 'x' })
    })
    await pause(round * 10)
    t.equal((await user.call('DELETE', '/auth/me', { body: { password } })).status, 200)
    await Promise.all(uploads)
    const { rowCount } = await database.query('select from storage.objects where owner_id = $1', [user.id])
    t.equal(rowCount, 0)
  }
})

t.test('an administrator deletes the account only', async (t) => {
  const storage = await started(t)
  const { ask, url } = storage
  const headers = { Authorization: await storageBearer('service_role'), 'Content-Type': 'application/json' }
  for (const isSoft of [true, false]) {
    const user = await signedUp(storage, `${String(isSoft)}@example.org`)
    await ask('POST', `/object/open/${user.id}`, { as: user.id, body: 'x' })
    const body = JSON.stringify({ should_soft_delete: isSoft })
    const answer = await fetch(`${url}/auth/v1/admin/users/${user.id}`, { method: 'DELETE', headers, body })
    t.equal(answer.status, 200)
    t.equal((await ask('GET', `/object/public/open/${user.id}`)).text, 'x', 'as in Supabase')
  }
})
