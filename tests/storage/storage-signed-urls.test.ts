// Signed URLs of `/storage/v1`: creating them, using them, and every token that must not be accepted.
import { createHmac, generateKeyPairSync, randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import t, { type Test } from 'tap'
import { jwtSecret } from '../support/application.ts'
import { startStorageService, storageFault, storageFaults as faults, type TestStorage } from '../support/storage.ts'
import { exchangeRows, type StorageRow } from '../support/storage-rows.ts'
import { signToken } from '../support/token.ts'
import { until } from '../support/until.ts'

const [ann, bob] = ['aaaaaaaa-0000-4000-8000-000000000001', 'bbbbbbbb-0000-4000-8000-000000000002'] as const

const badToken = (message: string) => storageFault(400, 'InvalidJWT', message, 'InvalidJWT')
const badSignature = (message: string) => storageFault(400, 'InvalidSignature', message, 'InvalidSignature')
const outOfRange = storageFault(400, 'InvalidParameter', 'Invalid Parameter expiresIn', 'InvalidParameter')
const duplicate = faults.exists

async function prepared(t: Test, env = {}): Promise<TestStorage> {
  const storage = await startStorageService(t, env)
  for (const name of ['files', 'other']) await storage.ask('POST', '/bucket', { as: 'service_role', body: { name } })
  await storage.ask('PUT', '/object/files/a/b c.txt', {
    as: 'service_role',
    body: 'the content',
    headers: { 'Content-Type': 'text/plain' },
  })
  await storage.ask('PUT', '/object/other/a/b c.txt', { as: 'service_role', body: 'of the other' })
  return storage
}

type Signed = { readonly signedURL: string; readonly url: string; readonly token: string }

const sign = async ({ ask }: TestStorage, path: string, body?: unknown, headers = {}): Promise<Signed> =>
  (await ask('POST', path, { as: 'service_role', ...(body === undefined ? {} : { body }), headers })).json as Signed

const tokenOf = (url: string): string => new URL(url, 'http://host').searchParams.get('token') ?? ''

t.test('POST /object/sign', async (t) => {
  const storage = await prepared(t)
  const { signedURL } = await sign(storage, '/object/sign/files/a/b%20c.txt', { expiresIn: 100 })
  t.match(signedURL, /^\/object\/sign\/files\/a\/b%20c\.txt\?token=[\w-]+\.[\w-]+\.[\w-]+$/)
  const { iat = 0, exp = 0, ...claims } = decodeJwt(tokenOf(signedURL))
  t.strictSame(claims, { url: 'files/a/b c.txt', scope: 'download' })
  t.equal(exp - iat, 100)
  t.match(decodeProtectedHeader(tokenOf(signedURL)), { alg: 'HS256', kid: /^[\w-]{16}$/ })
  const expiring = (body: unknown, path = '/object/sign/files/a/b%20c.txt'): StorageRow[1] => ['POST', path, body]
  await exchangeRows(t, storage.ask, [
    ['no object', expiring({ expiresIn: 1 }, '/object/sign/files/nothing'), faults.noObject],
    ['no bucket', expiring({ expiresIn: 1 }, '/object/sign/nothing/a'), faults.noObject],
    ['invalid name', expiring({ expiresIn: 1 }, '/object/sign/files/%25'), faults.key('%')],
    ['no time', expiring({}), faults.validation("body must have required property 'expiresIn'")],
    ['no number', expiring({ expiresIn: 'soon' }), faults.validation('body/expiresIn must be integer')],
    ['a fraction', expiring({ expiresIn: 1.5 }), faults.validation('body/expiresIn must be integer')],
    ['none', expiring({ expiresIn: 0 }), faults.validation('body/expiresIn must be >= 1')],
    ['too long', expiring({ expiresIn: 2 ** 53 }), outOfRange],
    [
      'width',
      expiring({ expiresIn: 1, transform: { width: 'wide' } }),
      faults.validation('body/transform/width must be integer'),
    ],
    [
      'quality',
      expiring({ expiresIn: 1, transform: { quality: 10 } }),
      faults.validation('body/transform/quality must be >= 20'),
    ],
    ['caller without policies', ['POST', '/object/sign/files/a/b%20c.txt', { expiresIn: 1 }, ann], faults.noObject],
    ['without credentials', ['POST', '/object/sign/files/a/b%20c.txt', { expiresIn: 1 }, null], faults.noToken],
  ])
})

t.test('POST /object/sign for many', async (t) => {
  const storage = await prepared(t)
  const many = (body: unknown, ...as: [as?: 'anon' | null]): StorageRow[1] => [
    'POST',
    '/object/sign/files',
    body,
    ...as,
  ]
  const answer = (
    await storage.ask('POST', '/object/sign/files', {
      as: 'service_role',
      body: { expiresIn: 60, paths: ['a/b c.txt', 'nothing', 'a/b c.txt', 'ü'] },
    })
  ).json as { readonly signedURL: string }[]
  const hidden = 'Either the object does not exist or you do not have access to it'
  t.match(answer, [
    { error: null, path: 'a/b c.txt', signedURL: /^\/object\/sign\/files\/a\/b%20c\.txt\?token=/ },
    { error: hidden, path: 'nothing', signedURL: null },
    { error: null, path: 'a/b c.txt', signedURL: /token=/ },
    { error: hidden, path: 'ü', signedURL: null },
  ])
  const response = await fetch(`${storage.url}/storage/v1${answer[0]?.signedURL ?? ''}`)
  t.equal(await response.text(), 'the content')
  const paths = (count: number): string[] => Array.from({ length: count }, () => 'a')
  const thousand = await storage.ask('POST', '/object/sign/files', {
    as: 'service_role',
    body: { expiresIn: 60, paths: [...paths(999), 'a/b c.txt'] },
  })
  t.equal((thousand.json as unknown[]).length, 1000)
  await exchangeRows(t, storage.ask, [
    [
      'more than 1000',
      many({ expiresIn: 1, paths: paths(1001) }),
      faults.validation('body/paths must NOT have more than 1000 items'),
    ],
    ['none', many({ expiresIn: 1, paths: [] }), faults.validation('body/paths must NOT have fewer than 1 items')],
    ['no time', many({ paths: ['a'] }), faults.validation("body must have required property 'expiresIn'")],
    ['no list', many({ expiresIn: 1, paths: {} }), faults.validation('body/paths must be array')],
    ['a text is a list of one', many({ expiresIn: '1', paths: 'a' }), [{ path: 'a', signedURL: null, error: hidden }]],
    ['too long', many({ expiresIn: 2 ** 53, paths: ['a/b c.txt'] }), outOfRange],
    [
      'caller without policies',
      many({ expiresIn: 1, paths: ['a/b c.txt'] }, 'anon'),
      [{ error: hidden, path: 'a/b c.txt', signedURL: null }],
    ],
    ['without credentials', many({ expiresIn: 1, paths: ['a'] }, null), faults.noToken],
  ])
})

t.test('downloads', async (t) => {
  const storage = await prepared(t)
  const { signedURL } = await sign(storage, '/object/sign/files/a/b%20c.txt', { expiresIn: 100 })
  const { exp = 0 } = decodeJwt(tokenOf(signedURL))
  const get = (more = '', headers = {}, method = 'GET') =>
    fetch(`${storage.url}/storage/v1${signedURL}${more}`, { method, headers })
  const whole = await get()
  t.equal(await whole.text(), 'the content')
  t.equal(whole.headers.get('expires'), new Date(exp * 1000).toUTCString())
  t.equal(whole.headers.get('cache-control'), null)
  t.equal(whole.headers.get('content-type'), 'text/plain')
  t.equal(whole.headers.get('x-content-type-options'), 'nosniff')
  const part = await get('', { Range: 'bytes=4-' })
  t.strictSame([part.status, part.headers.get('content-range'), await part.text()], [206, 'bytes 4-10/11', 'content'])
  t.equal((await get('', { Range: 'bytes=90-' })).status, 416)
  t.equal((await get('', { 'If-None-Match': whole.headers.get('etag') ?? '' })).status, 304)
  t.equal((await get('&download=')).headers.get('content-disposition'), 'attachment;')
  t.equal(
    (await get('&download=ä.txt')).headers.get('content-disposition'),
    "attachment; filename=%C3%A4.txt; filename*=UTF-8''%C3%A4.txt",
  )
  const head = await get('', {}, 'HEAD')
  t.strictSame([head.status, head.headers.get('content-length'), await head.text()], [200, '11', ''])

  await storage.ask('DELETE', '/object/files', { as: 'service_role', body: { prefixes: ['a/b c.txt'] } })
  t.strictSame(await (await get()).json(), faults.noObject)
  await storage.ask('PUT', '/object/files/q?.txt'.replace('?', '%3F'), { as: 'service_role', body: 'question' })
  const question = await sign(storage, '/object/sign/files/q%3F.txt', { expiresIn: 600 })
  t.equal(await (await fetch(`${storage.url}/storage/v1${question.signedURL}`)).text(), 'question')
})

t.test('uploads', async (t) => {
  const storage = await prepared(t)
  const { ask, url } = storage
  await ask('PUT', '/bucket/files', {
    as: 'service_role',
    body: { file_size_limit: 100, allowed_mime_types: ['text/*'] },
  })
  const path = '/object/upload/sign/files/new.txt'
  const signed = await sign(storage, path)
  t.equal(signed.url, `${path}?token=${signed.token}`)
  const { iat = 0, exp = 0, ...claims } = decodeJwt(signed.token)
  t.strictSame(claims, { url: 'files/new.txt', upsert: false, scope: 'upload' })
  t.equal(exp - iat, 60, 'as the setting says')
  const text = { 'Content-Type': 'text/plain' }
  const upload = async (token: string, body: string, headers: object = text, to = path) => {
    const response = await fetch(`${url}/storage/v1${to}?token=${token}`, {
      method: 'PUT',
      body,
      headers: { ...headers },
    })
    return { status: response.status, body: await response.json() }
  }
  const refused = (body: object) => ({ status: 400, body })
  t.strictSame(await upload(signed.token, 'x'.repeat(101)), refused(faults.tooLarge))
  t.strictSame(await upload(signed.token, 'x', { 'Content-Type': 'image/png' }), refused(faults.mimeType('image/png')))
  t.strictSame(await upload(signed.token, 'new'), { status: 200, body: { Key: 'files/new.txt' } })
  t.strictSame(await upload(signed.token, 'again'), refused(duplicate), 'once')
  t.equal((await ask('GET', '/object/files/new.txt', { as: 'service_role' })).text, 'new')
  const again = await sign(storage, path, undefined, { 'X-Upsert': 'true' })
  t.match(decodeJwt(again.token), { upsert: true })
  for (const content of ['second', 'third']) t.equal((await upload(again.token, content)).status, 200, content)
  t.equal((await ask('GET', '/object/files/new.txt', { as: 'service_role' })).text, 'third')

  await storage.database.query(
    `create policy own on storage.objects for all to authenticated using (owner_id = (select auth.uid()::text))`,
  )
  const mine = (await ask('POST', '/object/upload/sign/files/mine.txt', { as: ann })).json as Signed
  t.match(decodeJwt(mine.token), { owner: ann })
  t.equal((await upload(mine.token, 'mine', text, '/object/upload/sign/files/mine.txt')).status, 200)
  t.equal((await ask('GET', '/object/files/mine.txt', { as: ann })).text, 'mine')
  t.equal((await ask('GET', '/object/files/mine.txt', { as: bob })).status, 400)

  const at = (name: string, as: 'service_role' | 'anon' | null = 'service_role', headers = {}): StorageRow[1] => [
    ...(['POST', `/object/upload/sign/${name}`, undefined, as, headers] as const),
  ]
  await exchangeRows(t, ask, [
    ['what exists', at('files/new.txt'), duplicate],
    [
      'no bucket',
      at('nothing/x'),
      storageFault(404, 'InvalidRequest', 'The related resource does not exist', 'InvalidRequest'),
    ],
    ['invalid name', at('files/%25'), faults.key('%')],
    ['the parent folder', at('files/a%2F..%2Fx'), faults.key('a/../x')],
    ['caller without policies', at('files/x', 'anon'), faults.rowSecurity],
    ['replacing without policies', at('files/new.txt', 'anon', { 'X-Upsert': 'true' }), faults.rowSecurity],
    ['without credentials', at('files/x', null), faults.noToken],
    ['no token', ['PUT', path, 'x', null], faults.validation("querystring must have required property 'token'")],
  ])
})

t.test('tokens that are not accepted', async (t) => {
  const storage = await prepared(t)
  const { ask } = storage
  const download = tokenOf((await sign(storage, '/object/sign/files/a/b%20c.txt', { expiresIn: 100 })).signedURL)
  const { token: upload } = await sign(storage, '/object/upload/sign/files/x')
  const [header = '', payload = '', signature = ''] = download.split('.')
  const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = decodeJwt(download)
  const other = `${header}.${encoded({ ...claims, url: 'other/a/b c.txt' })}.${signature}`
  const unsigned = `${encoded({ alg: 'none' })}.${payload}.`
  const content = `${encoded({ alg: 'HS256', typ: 'JWT' })}.${payload}`
  const bySecret = `${content}.${createHmac('sha256', jwtSecret).update(content).digest('base64url')}`
  const access = await signToken({ role: 'service_role', url: 'files/a/b c.txt', scope: 'download', exp: 2 ** 32 })
  const accessUpload = await signToken({
    role: 'service_role',
    url: 'files/x',
    scope: 'upload',
    upsert: true,
    exp: 2 ** 32,
  })
  const get = (token: string, path = 'files/a/b%20c.txt'): StorageRow[1] => [
    ...(['GET', `/object/sign/${path}?token=${token}`, undefined, null] as const),
  ]
  const put = (token: string, path = 'files/x'): StorageRow[1] => [
    ...(['PUT', `/object/upload/sign/${path}?token=${token}`, 'content', null] as const),
  ]
  const notVerified = badToken('signature verification failed')
  await exchangeRows(t, ask, [
    [
      'no token',
      ['GET', '/object/sign/files/a/b%20c.txt', undefined, null],
      faults.validation("querystring must have required property 'token'"),
    ],
    ['empty token', get(''), badToken('Invalid Compact JWS')],
    ['text', get('nonsense'), badToken('Invalid Compact JWS')],
    ['altered claims', get(other, 'other/a/b%20c.txt'), notVerified],
    [
      'altered signature',
      get(`${header}.${payload}.${signature.replace(/^./, (first) => (first === 'A' ? 'B' : 'A'))}`),
      notVerified,
    ],
    ['another object', get(download, 'files/a/c.txt'), badSignature('Invalid signature')],
    ['another bucket', get(download, 'other/a/b%20c.txt'), badSignature('Invalid signature')],
    ['a path with dots', get(download, 'files/a%2F..%2Fa%2Fb%20c.txt'), badSignature('Invalid signature')],
    ['a download to upload', put(download, 'files/a/b%20c.txt'), badSignature('Token is not scoped for upload')],
    ['an upload to download', get(upload, 'files/x'), badSignature('Token is not scoped for download')],
    ['an upload of another object', put(upload, 'files/y'), badSignature('Invalid signature')],
    ['not signed', get(unsigned), badToken('"alg" (Algorithm) Header Parameter value not allowed')],
    ['signed by the secret of access tokens', get(bySecret), notVerified],
    ['an access token', get(access), notVerified],
    ['an access token to upload', put(accessUpload), notVerified],
    ['an API key', get('sb_secret_abcdefghijklmnopqrstuvwx_abcdefgh'), badToken('Invalid Compact JWS')],
  ])
  t.equal((await ask('GET', '/object/sign/files/a/b%20c.txt?token=a.b.c')).status, 400)
  t.equal((await ask('GET', '/object/files/x', { as: 'service_role' })).status, 400, 'nothing was uploaded')

  for (const token of [download, upload]) {
    const headers = { Authorization: `Bearer ${token}` }
    const refused = faults.token('signature verification failed')
    t.strictSame((await ask('GET', '/object/authenticated/files/a/b%20c.txt', { headers })).json, refused)
    t.strictSame((await ask('POST', '/object/list/files', { headers, body: { prefix: '' } })).json, refused)
    t.strictSame((await ask('GET', '/bucket', { headers: { apikey: token } })).json, refused)
    const rest = await fetch(`${storage.url}/rest/v1/profiles`, { headers })
    t.equal(rest.status, 401)
    const user = await fetch(`${storage.url}/auth/v1/user`, { headers })
    t.equal(user.status, 403)
  }

  const { signedURL } = await sign(storage, '/object/sign/files/a/b%20c.txt', { expiresIn: 1 })
  const expired = badToken('"exp" claim timestamp check failed')
  await until(async () => (await ask('GET', signedURL)).status === 400)
  t.strictSame((await ask('GET', signedURL)).json, expired)
})

t.test('keys rotate', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'rowhouse-storage-keys-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const newKey = (...operations: string[]) => ({
    kid: randomUUID(),
    alg: 'ES256',
    key_ops: operations,
    ...generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' }),
  })
  const file = join(folder, 'keys.json')
  const first = newKey('sign', 'verify')
  await writeFile(file, JSON.stringify([first]))
  const storage = await prepared(t, { GOTRUE_JWT_KEYS: `@${file}` })
  const get = async (url: string): Promise<number> => (await fetch(`${storage.url}/storage/v1${url}`)).status
  const before = (await sign(storage, '/object/sign/files/a/b%20c.txt', { expiresIn: 600 })).signedURL
  t.equal(await get(before), 200)

  const second = newKey('sign', 'verify')
  await writeFile(file, JSON.stringify([second, { ...first, key_ops: ['verify'] }]))
  await storage.application.reload({})
  let after = ''
  t.ok(
    await until(async () => {
      after = (await sign(storage, '/object/sign/files/a/b%20c.txt', { expiresIn: 600 })).signedURL
      return decodeProtectedHeader(tokenOf(after)).kid !== decodeProtectedHeader(tokenOf(before)).kid
    }),
    'a reload changes the key',
  )
  t.strictSame([await get(before), await get(after)], [200, 200], 'URLs of the older key stay valid')

  await writeFile(file, JSON.stringify([second]))
  await storage.application.reload({})
  t.ok(await until(async () => (await get(before)) === 400), 'URLs of a removed key are refused')
  t.equal(await get(after), 200)
})

t.test('without a key that is secret, nothing is signed', async (t) => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = { kid: 'public', alg: 'ES256', ...publicKey.export({ format: 'jwk' }) }
  const storage = await startStorageService(t, { PGRST_JWT_SECRET: JSON.stringify(key) })
  const answer = await storage.ask('GET', '/object/sign/files/a?token=a.b.c')
  t.equal(answer.status, 500)
  t.match(answer.json, { code: 'InternalError' })
})
