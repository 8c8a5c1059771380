// keep_image: the analysed image becomes an object of the caller, together with the run.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { form, patient, upload } from '../support/image-upload.ts'
import { startStorageService, storageBearer } from '../support/storage.ts'
import { greenLake, lake, picture, water } from '../support/test-image.ts'
import { until } from '../support/until.ts'

const [ada, ben] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'] as const
const { ask, url, database, folder } = await startStorageService(t, { ...patient })
for (const [index, id] of [ada, ben].entries()) {
  await database.query(`insert into auth.users (id, email, encrypted_password) values ($1, $2, 'x')`, [
    id,
    `user${index}@example.org`,
  ])
  await database.query('insert into public.profiles (id) values ($1) on conflict do nothing', [id])
}
const predict = async (as: string, query: string, image: Buffer, route = '/predict', field = 'file') =>
  upload(url, `${route}?${query}`, form([field, { bytes: image }]), {
    Authorization: await storageBearer(as as 'anon'),
  })
const files = async () =>
  (await readdir(join(folder, 'objects'), { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
const runs = async () => (await database.query('select id, user_id, image_uri from public.classification_runs')).rows
const objects = async () => (await database.query('select name, owner_id, metadata from storage.objects')).rows

t.test('without policies, users may not keep images, and no bytes are left', async (t) => {
  const answer = await predict(ada, 'store=true&keep_image=true', await lake())
  t.equal(answer.status, 403)
  const { detail } = answer.body as { readonly detail: string }
  t.match(
    detail,
    /^The image was not kept: no policy of storage\.objects lets you add a file to your folder of the bucket analysis-images\. One that does: /,
  )
  t.strictSame([await runs(), await objects(), (await files()).length], [[], [], 0])
  // The policy that the error names is enough for everything below.
  const [, policy = ''] = /One that does: (create policy .*)\.$/.exec(detail) ?? []
  await database.query(
    `${policy};
     create function storage.refuse() returns trigger language plpgsql as $$
       begin raise 'the bucket exists already'; end $$;
     create trigger refuse before insert on storage.buckets for each statement execute function storage.refuse()`,
  )
})

t.test('invalid combinations', async (t) => {
  const rows = [
    ['keep_image=true', 422, 'An image is kept with its run: set store, too'],
    [
      'store=true&keep_image=true&image_uri=http://a/b',
      422,
      'A kept image has an address of its own: leave out image_uri',
    ],
  ] as const
  for (const [query, status, msg] of rows) {
    t.match(
      await predict(ada, query, await lake()),
      { status, body: { detail: [{ loc: ['query', 'keep_image'], msg }] } },
      query,
    )
  }
  t.equal((await predict('service_role', 'store=true&keep_image=true', await lake())).status, 403, 'not a user')
})

t.test('the image is an object of the caller, which others do not see', async (t) => {
  const image = await greenLake()
  const answer = await predict(ada, 'store=true&keep_image=true', image)
  t.equal(answer.status, 200)
  const [run] = await runs()
  t.match(run, { id: (answer.body as { run_id: string }).run_id, user_id: ada })
  const uri = String(run?.image_uri)
  t.match(
    uri,
    new RegExp(`^${url}/storage/v1/object/authenticated/analysis-images/${ada}/[0-9a-f-]{36}\\.(?:jpg|png)$`),
  )
  const path = uri.slice(`${url}/storage/v1`.length)
  const own = await ask('GET', path, { as: ada })
  t.ok(own.bytes.equals(image))
  t.match(own.headers.get('content-type'), /^image\//)
  t.match((await ask('GET', path, { as: ben })).json, { code: 'NoSuchKey' })
  t.match(await objects(), [{ owner_id: ada, metadata: { size: image.length, contentLength: image.length } }])
  t.match((await ask('GET', '/bucket/analysis-images', { as: 'service_role' })).json, { public: false })
})

t.test('a batch', async (t) => {
  const [one, two] = [await lake(), await picture(40, 40, water).webp().toBuffer()]
  const before = (await runs()).length
  const body = form(['files', { bytes: one }], ['files', { bytes: two }])
  const answer = await upload(url, '/predict/batch?store=true&keep_image=true', body, {
    Authorization: await storageBearer(ben),
  })
  t.equal(answer.status, 200)
  const stored = (await runs()).slice(before)
  t.equal(stored.length, 2)
  for (const [index, { image_uri: uri }] of stored.entries()) {
    const object = await ask('GET', String(uri).slice(`${url}/storage/v1`.length), { as: ben })
    t.ok(object.bytes.equals(index === 0 ? one : two))
  }
})

t.test('row and object agree when either fails', async (t) => {
  const [count, rows, kept] = [(await runs()).length, (await objects()).length, (await files()).length]
  const unchanged = async (name: string) => {
    t.strictSame([(await runs()).length, (await objects()).length], [count, rows], name)
    t.ok(await until(async () => (await files()).length === kept), `${name}: bytes`)
  }
  await database.query('alter table public.classification_runs add constraint never check (false) not valid')
  t.ok((await predict(ada, 'store=true&keep_image=true', await lake())).status >= 400)
  await unchanged('the run fails')
  await database.query('alter table public.classification_runs drop constraint never')
  await database.query(
    `create function public.refuse() returns trigger language plpgsql as $$
       begin if new.version <> '1' then raise exception 'no'; end if; return new; end $$;
     create trigger refuse before insert on storage.objects for each row execute function public.refuse();`,
  )
  t.ok((await predict(ada, 'store=true&keep_image=true', await lake())).status >= 400)
  await unchanged('the object fails')
  await database.query('drop trigger refuse on storage.objects')
  await database.query(`update storage.buckets set file_size_limit = 10 where id = 'analysis-images'`)
  t.equal((await predict(ada, 'store=true&keep_image=true', await lake())).status, 413)
  await unchanged('the limit of the bucket')
})
