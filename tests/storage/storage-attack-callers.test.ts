// Callers who may no longer use `/storage/v1`, and forged requests for resumable uploads.
import t, { type Test } from 'tap'
import { decodeJwt } from 'jose'
import { storageRoutes } from '../../server/services/storage/storage-table.ts'
import { storagePath } from '../../server/services/storage/dialect.ts'
import { detailsOf, signUp, type SignedIn } from '../support/account.ts'
import { startStorageService, storageFaults as faults, type StorageAnswer } from '../support/storage.ts'
import { filesOf, requireAgreement } from '../support/storage-files.ts'
import { picture } from '../support/test-image.ts'
import { signToken } from '../support/token.ts'

const storage = await startStorageService(t, { SESSION_SECRETS: 's'.repeat(32) })
const { ask, database, folder, application } = storage
const service = { as: 'service_role' } as const
const ben = 'bbbbbbbb-0000-4000-8000-000000000002'
await database.query(`
  insert into storage.buckets (id, name, public) values ('b', 'b', false), ('open', 'open', true);
  create policy everything on storage.objects for all to authenticated using (true) with check (true);
  create policy everything on storage.buckets for all to authenticated using (true) with check (true)`)
const image = await picture(4, 4, 'red').png().toBuffer()

const base64 = (text: string): string => Buffer.from(text).toString('base64')
const tus = { 'Tus-Resumable': '1.0.0' }
type Headers = Readonly<Record<string, string>>
const announced = (name: string, length = 4): Headers => ({
  ...tus,
  'Upload-Length': String(length),
  'Upload-Metadata': `bucketName ${base64('b')},objectName ${base64(name)}`,
})
const patchHeaders = (offset: number): Headers => ({
  ...tus,
  'Content-Type': 'application/offset+octet-stream',
  'Upload-Offset': String(offset),
})
const addressOf = ({ headers }: StorageAnswer): string =>
  new URL(headers.get('location') ?? '').pathname.replace('/storage/v1', '')

/** The route, the target, and the rest of a request that succeeds. */
type Request = readonly [route: string, target: string, body?: unknown, headers?: Headers]

/** A request for each route that requires a token, in an order in which all of them succeed. */
const requests = (address: string, id: string): readonly Request[] => [
  ['post /bucket', '/bucket', { name: `c-${id}` }],
  ['get /bucket', '/bucket'],
  ['get /bucket/{bucket}', '/bucket/b'],
  ['put /bucket/{bucket}', '/bucket/b', { public: false }],
  ['delete /bucket/{bucket}', `/bucket/c-${id}`],
  ['post /object/{bucket}/{*name}', `/object/b/new-${id}`, 'new'],
  ['put /object/{bucket}/{*name}', `/object/b/new-${id}`, 'newer'],
  ['get /object/{bucket}/{*name}', '/object/b/image'],
  ['head /object/{bucket}/{*name}', '/object/b/image'],
  ['get /object/authenticated/{bucket}/{*name}', '/object/authenticated/b/image'],
  ['get /object/authenticated/{bucket}/{*name}', '/object/authenticated/open/image'],
  ['head /object/authenticated/{bucket}/{*name}', '/object/authenticated/b/image'],
  ['head /object/authenticated/{bucket}/{*name}', '/object/authenticated/open/image'],
  ['get /object/info/{bucket}/{*name}', '/object/info/b/image'],
  ['get /object/info/authenticated/{bucket}/{*name}', '/object/info/authenticated/open/image'],
  ['post /object/list/{bucket}', '/object/list/b', { prefix: '' }],
  ['post /object/list-v2/{bucket}', '/object/list-v2/b', {}],
  ['post /object/copy', '/object/copy', { bucketId: 'b', sourceKey: 'image', destinationKey: `copy-${id}` }],
  ['post /object/move', '/object/move', { bucketId: 'b', sourceKey: `copy-${id}`, destinationKey: `moved-${id}` }],
  ['delete /object/{bucket}', '/object/b', { prefixes: [`moved-${id}`] }],
  ['delete /object/{bucket}/{*name}', `/object/b/new-${id}`],
  ['post /object/sign/{bucket}/{*name}', '/object/sign/b/image', { expiresIn: 60 }],
  ['post /object/sign/{bucket}', '/object/sign/b', { expiresIn: 60, paths: ['image'] }],
  ['post /object/upload/sign/{bucket}/{*name}', `/object/upload/sign/b/signed-${id}`],
  ['get /render/image/authenticated/{bucket}/{*name}', '/render/image/authenticated/b/image?width=2'],
  ['post /upload/resumable', '/upload/resumable', undefined, announced(`r-${id}`)],
  ['post /upload/resumable/{*id}', '/upload/resumable/', undefined, announced(`s-${id}`)],
  ['head /upload/resumable/{*id}', address, undefined, tus],
  ['patch /upload/resumable/{*id}', address, 'ab', patchHeaders(0)],
  ['delete /upload/resumable/{*id}', address, undefined, tus],
]
/** Only `service_role` may use it. */
const emptying: Request = ['post /bucket/{bucket}/empty', '/bucket/none/empty']

t.test('every route that requires a token is tried', (t) => {
  const tried = new Set([...requests('', ''), emptying].map(([route]) => route))
  const others = storageRoutes
    .map(({ method, path }) => `${method} ${path.slice(storagePath.length)}`)
    .filter(
      (route) =>
        !tried.has(route) &&
        !/\/(?:public|sign|status|version|health)\//.test(`${route}/`) &&
        !route.startsWith('options'),
    )
  t.strictSame(others, [])
  t.end()
})

t.test('an ended session', async (t) => {
  const tokenOf = async (user: SignedIn): Promise<string> =>
    detailsOf<{ access_token: string }>(await user.call('POST', '/auth/token')).access_token
  const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
  for (const bucket of ['b', 'open']) {
    await ask('PUT', `/object/${bucket}/image`, { ...service, body: image, headers: { 'Content-Type': 'image/png' } })
  }
  const send = (token: string, [route, target, body, headers]: Request): Promise<StorageAnswer> =>
    ask((route.split(' ')[0] ?? '').toUpperCase(), target, { body, headers: { ...headers, ...bearer(token) } })
  const upload = async (token: string, name: string): Promise<string> =>
    addressOf(await send(token, ['post', '/upload/resumable', undefined, announced(name)]))

  const ended = faults.token('The session of this token has ended')
  const ends = {
    'signed out': (user: SignedIn) => user.call('POST', '/auth/signout'),
    banned: ({ id }: SignedIn) =>
      database.query("update auth.users set banned_until = now() + interval '1 hour' where id = $1", [id]),
    deleted: ({ id }: SignedIn) => database.query('delete from auth.users where id = $1', [id]),
  }
  for (const [index, [label, end]] of Object.entries(ends).entries()) {
    const user = await signUp(application.call, `storage${index}@example.org`)
    const token = await tokenOf(user)
    for (const request of requests(await upload(token, `first-${index}`), `alive-${index}`)) {
      const { status, text } = await send(token, request)
      t.ok(status >= 200 && status < 300, `${label}, before: ${request[0]}: ${status} ${text.slice(0, 100)}`)
    }
    const claims = { ...decodeJwt(token), role: 'service_role' }
    const elevated = await signToken(claims)
    t.strictSame((await send(elevated, emptying)).json, faults.noBucket)
    const address = await upload(token, `second-${index}`)
    const state = async (): Promise<unknown> => [
      (await database.query('select * from storage.objects order by id')).rows,
      (await database.query('select * from storage.buckets order by id')).rows,
      (await database.query('select * from rowhouse.resumable_uploads order by id')).rows,
    ]
    await end(user)
    const before = await state()
    for (const request of requests(address, `ended-${index}`)) {
      const { status, json, text } = await send(token, request)
      const name = `${label}: ${request[0]} ${request[1]}`
      if (request[0].startsWith('head')) t.ok(status === 400 || status === 403, `${name}: ${status}`)
      else if (request[0].includes('/upload/resumable')) t.strictSame([status, text], [403, ended.message], name)
      else t.strictSame([status, json], [400, ended], name)
    }
    t.strictSame((await send(elevated, emptying)).json, ended)
    t.strictSame(await state(), before, 'nothing has changed')
  }
  await database.query('delete from rowhouse.resumable_uploads')
  await requireAgreement(t, storage)
})

const create = (as: typeof ben | 'service_role', name: string, headers: Headers = {}) =>
  ask('POST', '/upload/resumable', { as, headers: { ...announced(name, 10), ...headers } })

/** Requires that a refused request has stored nothing. */
async function requireRefusal(
  t: Test,
  name: string,
  answer: StorageAnswer,
  status: number,
  message: string,
): Promise<void> {
  t.strictSame([answer.status, answer.text.trim()], [status, message], name)
  t.equal(answer.headers.get('location'), null)
  t.equal(await filesOf(folder).incoming(), 0)
}

t.test('forged lengths and offsets', async (t) => {
  const noLength = 'Upload-Length or Upload-Defer-Length header required'
  const lengths = [
    ...(['-1', '1.5', '0x10', 'NaN', 'Infinity', '1e3', '+1', '01', '', '9007199254740993', '1,2'] as const).map(
      (length) => [length, 400, 'Invalid upload-length'] as const,
    ),
    ['1e+21', 400, noLength],
    ['9007199254740992', 413, 'Maximum size exceeded'],
  ] as const
  for (const [length, status, message] of lengths) {
    await requireRefusal(
      t,
      `length ${length}`,
      await create(ben, 'forged', { 'Upload-Length': length }),
      status,
      message,
    )
  }
  const address = addressOf(await create(ben, 'forged'))
  const patch = (headers: Headers, body: string) =>
    ask('PATCH', address, { as: ben, body, headers: { ...patchHeaders(0), ...headers } })
  t.equal((await patch({}, 'ab')).status, 204)
  const offsets = [
    ...['0', '1', '3', '10', '11', '9007199254740991'].map(
      (offset) => [offset, 409, 'Upload-Offset conflict'] as const,
    ),
    ...['-1', '2.0', '0x2', '2e0', ' 2 , 2', '02', '9007199254740993', 'null'].map(
      (offset) => [offset, 400, 'Invalid upload-offset'] as const,
    ),
    ['2e+21', 409, 'Upload-Offset conflict'],
  ] as const
  for (const [offset, status, message] of offsets) {
    await requireRefusal(t, `offset ${offset}`, await patch({ 'Upload-Offset': offset }, 'cd'), status, message)
  }
  const redeclared = await patch({ 'Upload-Offset': '2', 'Upload-Length': '3' }, 'c')
  await requireRefusal(t, 'another length', redeclared, 400, noLength)
  const found = await ask('HEAD', address, {
    as: ben,
    headers: { ...tus, 'Upload-Offset': '9', 'Upload-Length': '2' },
  })
  t.strictSame([found.headers.get('upload-offset'), found.headers.get('upload-length')], ['2', '10'])

  const deferred = addressOf(
    await ask('POST', '/upload/resumable', {
      as: ben,
      headers: {
        ...tus,
        'Upload-Defer-Length': '1',
        'Upload-Metadata': announced('deferred')['Upload-Metadata'] ?? '',
      },
    }),
  )
  const declare = (length: string, body: string, offset: number) =>
    ask('PATCH', deferred, { as: ben, body, headers: { ...patchHeaders(offset), 'Upload-Length': length } })
  await requireRefusal(t, 'length 4e+21', await declare('4e+21', 'abcd', 0), 400, noLength)
  await requireRefusal(t, 'above all limits', await declare('9007199254740992', '', 0), 413, 'Maximum size exceeded')
  await requireRefusal(t, 'fewer bytes than sent', await declare('2', 'abcd', 0), 413, "upload's size exceeded")
})

t.test('forged metadata', async (t) => {
  const names = `bucketName ${base64('b')},objectName ${base64('forged metadata')}`
  const invalid = 'Invalid upload-metadata'
  const cases: readonly (readonly [metadata: string, status: number, message: string])[] = [
    ['bucketName %%%', 400, invalid],
    [`${names},x a===`, 400, invalid],
    [`${names},x a b`, 400, invalid],
    [`${names},${names}`, 400, invalid],
    [`${names},,`, 400, invalid],
    [`${names},__proto__ ${base64('x')}`, 400, invalid],
    [`${names},constructor`, 400, invalid],
    ['bucketName,objectName', 400, 'Bucket name invalid'],
    [`bucketName ${base64('b')},objectName`, 400, 'Invalid key:'],
    [`bucketName ${base64('b')},objectName ${base64('../x\u0000')}`, 400, 'Invalid key: ../x\u0000'],
    [`bucketName ${base64('b/../open')},objectName ${base64('x')}`, 400, 'Bucket name invalid'],
    [`${names},note ${base64('a\u0000b')}`, 400, 'Text must not contain the character NUL'],
    [`${names},contentType ${base64('text/html\r\nX-Injected: 1')}`, 415, 'Invalid Content-Type header'],
  ]
  const before = (await database.query('select from rowhouse.resumable_uploads')).rowCount
  for (const [metadata, status, message] of cases) {
    const answer = await create(ben, 'x', { 'Upload-Metadata': metadata })
    await requireRefusal(t, metadata, answer, status, message)
  }
  t.equal((await database.query('select from rowhouse.resumable_uploads')).rowCount, before)
})

t.test("another user's upload", async (t) => {
  const address = addressOf(await create(ben, 'of ben'))
  const [other, gone] = ['aaaaaaaa-0000-4000-8000-000000000001', 'The file for this url was not found\n'] as const
  const before = (await database.query('select * from rowhouse.resumable_uploads order by id')).rows
  // The name of the upload in the metadata, and methods in headers, do not matter.
  const forged = { ...announced('of ben', 10), 'X-HTTP-Method-Override': 'DELETE', 'X-Upsert': 'true' }
  for (const [method, headers, body] of [
    ['HEAD', forged, undefined],
    ['PATCH', { ...forged, ...patchHeaders(0), 'Upload-Length': '2' }, 'ab'],
    ['PATCH', patchHeaders(0), '0123456789'],
    ['DELETE', forged, undefined],
  ] as const) {
    const answer = await ask(method, address, { as: other, headers, body })
    t.equal(answer.status, 404, method)
    if (method !== 'HEAD') t.equal(answer.text, gone)
  }
  const head = await ask('HEAD', address, { as: ben, headers: { ...tus, 'X-HTTP-Method-Override': 'DELETE' } })
  t.equal(head.status, 200)
  for (const method of ['DELETE', 'PATCH', 'POST']) {
    const headers = { ...announced('by override', 0), 'X-HTTP-Method-Override': method, 'Upload-Offset': '0' }
    t.equal((await ask('OPTIONS', address, { headers })).status, 204, `OPTIONS does not become ${method}`)
  }
  t.strictSame((await database.query('select * from rowhouse.resumable_uploads order by id')).rows, before)
})

t.test('checksums, which are no extension of this server', async (t) => {
  const { headers } = await ask('OPTIONS', '/upload/resumable')
  t.notMatch(headers.get('tus-extension'), /checksum/)
  t.equal(headers.get('tus-checksum-algorithm'), null)
  const address = addressOf(await create(ben, 'checksum'))
  const checksum = { ...patchHeaders(0), 'Upload-Checksum': `sha1 ${base64('wrong')}` }
  t.equal((await ask('PATCH', address, { as: ben, body: '0123456789', headers: checksum })).status, 204, 'is ignored')
  t.equal((await ask('GET', '/object/b/checksum', service)).text, '0123456789')
})

t.test('the log has no errors of the server', (t) => {
  t.strictSame(
    application.logged().filter(({ level }) => Number(level) >= 50),
    [],
  )
  t.end()
})
