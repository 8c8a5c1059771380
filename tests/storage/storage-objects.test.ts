// Objects: upload, download, description, existence and removal, with their headers and errors.
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import {
  startStorageService,
  storageFault,
  storageFaults as faults,
  type AskStorage,
  type StorageCallerName,
  type TestStorage,
} from '../support/storage.ts'
import { testWithFolder } from '../support/storage-backends.ts'
import { until } from '../support/until.ts'

const alice = 'aaaaaaaa-0000-4000-8000-000000000001'
const bob = 'bbbbbbbb-0000-4000-8000-000000000002'
const service = { as: 'service_role' } as const

async function startWithBuckets(t: Test, env: Record<string, string> = {}): Promise<TestStorage> {
  const storage = await startStorageService(t, env)
  await storage.database.query(
    `insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values
       ('open', 'open', true, null, null), ('closed', 'closed', false, null, null),
       ('small', 'small', false, 10, null), ('images', 'images', false, null, '{image/png,text/*}')`,
  )
  return storage
}

const md5 = (text: string | Buffer): string => `"${createHash('md5').update(text).digest('hex')}"`

const form = (file: Blob | string, fields: Readonly<Record<string, string>> = {}, fileField = ''): FormData => {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.append(name, value)
  data.append(fileField, typeof file === 'string' ? new Blob([file], { type: 'text/plain' }) : file, 'file')
  return data
}

t.test('an upload and everything that is known of it', async (t) => {
  const { ask, database } = await startWithBuckets(t)
  const sent = await ask('POST', '/object/closed/folder/a%20b.txt', {
    ...service,
    body: 'hello',
    headers: {
      'Content-Type': 'text/x-notes',
      'Cache-Control': 'max-age=60',
      'X-Metadata': Buffer.from('{"by":"me"}').toString('base64'),
    },
  })
  t.equal(sent.status, 200, sent.text)
  const { rows } = await database.query(
    "select id, owner, owner_id, metadata, user_metadata, path_tokens, metadata ->> 'lastModified' as time from storage.objects",
  )
  const [row] = rows
  t.strictSame(sent.json, { Id: row?.id, Key: 'closed/folder/a b.txt' })
  const time = String(row?.time)
  t.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.strictSame(row?.metadata, {
    ...{ eTag: md5('hello'), size: 5, mimetype: 'text/x-notes', cacheControl: 'max-age=60' },
    ...{ lastModified: time, contentLength: 5, httpStatusCode: 200 },
  })
  t.strictSame(
    [row?.user_metadata, row?.path_tokens, row?.owner, row?.owner_id],
    [{ by: 'me' }, ['folder', 'a b.txt'], null, null],
  )

  const read = await ask('GET', '/object/closed/folder/a%20b.txt', service)
  t.equal(read.text, 'hello')
  const headers = Object.fromEntries(read.headers)
  t.match(headers, {
    'accept-ranges': 'bytes',
    'content-type': 'text/x-notes',
    'content-length': '5',
    etag: md5('hello'),
    'last-modified': new Date(time).toUTCString(),
    'cache-control': 'max-age=60',
    'x-robots-tag': 'none',
    'x-content-type-options': 'nosniff',
  })
  t.notOk(headers['content-disposition'])
  const head = await ask('HEAD', '/object/closed/folder/a%20b.txt', service)
  t.strictSame([head.status, head.text], [200, ''])
  for (const name of ['content-type', 'content-length', 'etag', 'last-modified', 'cache-control']) {
    t.equal(head.headers.get(name), headers[name], name)
  }

  const info = await ask('GET', '/object/info/closed/folder/a%20b.txt', service)
  const { id, version, last_modified: modified, created_at: created, ...others } = info.json as Record<string, unknown>
  t.strictSame(others, {
    ...{ name: 'folder/a b.txt', bucket_id: 'closed', size: 5, content_type: 'text/x-notes' },
    ...{ cache_control: 'max-age=60', etag: md5('hello'), metadata: { by: 'me' } },
  })
  t.equal(id, row?.id)
  t.match(version, /^[0-9a-f-]{36}$/)
  t.match(String(modified), /^\d{4}-.*\.\d{3}Z$/)
  t.match(String(created), /^\d{4}-.*\.\d{3}Z$/)
  for (const name of ['etag', 'last-modified', 'cache-control']) t.equal(info.headers.get(name), headers[name], name)
})

testWithFolder(t, 'forms', async (t) => {
  const { ask, database } = await startWithBuckets(t)
  const upload = async (body: FormData): Promise<unknown> =>
    (await ask('PUT', '/object/closed/f', { ...service, body })).json
  const stored = async (): Promise<unknown> => {
    const { rows } = await database.query(
      "select metadata ->> 'mimetype' as type, metadata ->> 'cacheControl' as cache, user_metadata as user from storage.objects where name = 'f'",
    )
    return rows[0]
  }
  t.match(await upload(form(new Blob(['x'], { type: 'image/png' }))), { Key: 'closed/f' })
  t.strictSame(await stored(), { type: 'image/png', cache: 'no-cache', user: {} })
  await upload(form('y', { cacheControl: '3600', metadata: '{"a":[1]}' }))
  t.strictSame(await stored(), { type: 'text/plain', cache: 'max-age=3600', user: { a: [1] } })
  await upload(form('y', { contentType: 'image/gif', metadata: 'no json', cacheControl: '' }, 'other-name'))
  t.strictSame(await stored(), { type: 'image/gif', cache: 'no-cache', user: {} })
  t.equal((await ask('GET', '/object/closed/f', service)).text, 'y')

  const nothing = new FormData()
  nothing.append('cacheControl', '1')
  t.strictSame(await upload(nothing), storageFault(400, 'InvalidRequest', 'No content provided', 'InvalidRequest'))
  const raw = async (body: string, type: string): Promise<unknown> =>
    (await ask('POST', '/object/closed/raw', { ...service, body, headers: { 'Content-Type': type } })).json
  const noContent = storageFault(400, 'InvalidRequest', 'No content provided', 'InvalidRequest')
  t.strictSame(await raw('--x', 'multipart/form-data'), noContent, 'no boundary')
  t.strictSame(await raw('--x\r\nContent-Disp', 'multipart/form-data; boundary=x'), noContent, 'broken head')
  const beginning =
    '--x\r\nContent-Disposition: form-data; name=""; filename="f"\r\nContent-Type: text/plain\r\n\r\nhalf of'
  t.match(await raw(beginning, 'multipart/form-data; boundary=x'), { code: 'InvalidRequest' }, 'no end')
  const { rows } = await database.query("select from storage.objects where name = 'raw'")
  t.equal(rows.length, 0, 'nothing of the broken forms is visible')
})

t.test('the same name again', async (t) => {
  const { ask, database, kept } = await startWithBuckets(t)
  const upload = (method: string, body: string, headers: Record<string, string> = {}) =>
    ask(method, '/object/closed/a', { ...service, body, headers })
  const idOf = ({ json }: { readonly json: unknown }): unknown => (json as { Id?: unknown }).Id
  const id = idOf(await upload('POST', 'one'))
  t.strictSame((await upload('POST', 'two')).json, faults.exists)
  t.strictSame((await upload('POST', 'two', { 'X-Upsert': 'false' })).json, faults.exists)
  t.equal((await ask('GET', '/object/closed/a', service)).text, 'one')
  t.equal(idOf(await upload('POST', 'two', { 'X-Upsert': 'true' })), id, 'the id stays')
  t.equal((await ask('GET', '/object/closed/a', service)).text, 'two')
  t.equal(idOf(await upload('PUT', 'three')), id)
  t.equal((await ask('GET', '/object/closed/a', service)).text, 'three')
  t.match((await ask('PUT', '/object/closed/new', { ...service, body: 'x' })).json, { Key: 'closed/new' })
  const { rows } = await database.query('select count(*)::int as number from storage.objects')
  t.strictSame(rows, [{ number: 2 }])
  t.ok(await until(async () => (await kept()).length === 2), 'replaced bytes are removed')
})

t.test('errors of uploads', async (t) => {
  const { ask, kept } = await startWithBuckets(t, { FILE_SIZE_LIMIT: '1000' })
  const post = async (
    path: string,
    body: unknown = 'x',
    headers: Record<string, string> = {},
    as: 'service_role' | 'anon' | null = 'service_role',
  ) => ask('POST', `/object/${path}`, { ...(as === null ? {} : { as }), body, headers })
  const invalidName = 'a'.repeat(1025)
  const cases = [
    ['no bucket', await post('none/a'), faults.noBucket],
    ['no bucket for an invalid name', await post('none/%00'), faults.noBucket],
    ['a bucket name that is none', await post('%C3%BC/a'), faults.bucketName],
    ['without a policy', await post('closed/a', 'x', {}, 'anon'), faults.rowSecurity],
    ['a public bucket without a policy', await post('open/a', 'x', {}, 'anon'), faults.rowSecurity],
    ['an upsert without a policy', await post('closed/a', 'x', { 'X-Upsert': 'true' }, 'anon'), faults.rowSecurity],
    ['without credentials', await post('closed/a', 'x', {}, null), faults.noToken],
    ['control character', await post('closed/a%0Ab'), faults.key('a\nb')],
    ['NUL', await post('closed/a%00b'), faults.key('a\0b')],
    ['backslash', await post('closed/a%5Cb'), faults.key('a\\b')],
    ['percent sign', await post('closed/a%25b'), faults.key('a%b')],
    ['invalid encoding', await post('closed/a%FFb'), faults.key('a%FFb')],
    ['empty', await post('closed/'), faults.key('')],
    ['only slashes', await post('closed//%2F'), faults.key('//')],
    ['only blanks', await post('closed/%20/%C2%A0'), faults.key(' /\u00a0')],
    ['only what is not seen', await post('closed/%E2%80%8B'), faults.key('\u200b')],
    ['over 1,024 bytes', await post(`closed/${invalidName}`), faults.key(invalidName.slice(0, 1024))],
    ['above the limit of the server', await post('closed/a', 'x'.repeat(1001)), faults.tooLarge],
    ['above that of the bucket', await post('small/a', 'x'.repeat(11)), faults.tooLarge],
    ['a form above that of the bucket', await post('small/a', form('x'.repeat(11))), faults.tooLarge],
    [
      'a type that is not allowed',
      await post('images/a', 'x', { 'Content-Type': 'image/gif' }),
      faults.mimeType('image/gif'),
    ],
    [
      'a form with a type that is not allowed',
      await post('images/a', form(new Blob(['x'], { type: 'image/gif' }))),
      faults.mimeType('image/gif'),
    ],
    ['a type without subtype', await post('closed/a', 'x', { 'Content-Type': 'image' }), faults.contentType],
    ['a type with blanks', await post('closed/a', 'x', { 'Content-Type': 'image/p ng' }), faults.contentType],
    ['a placeholder with content', await post('closed/f/.emptyFolderPlaceholder', 'x'), faults.tooLarge],
  ] as const
  for (const [name, { status, json }, wanted] of cases)
    t.strictSame({ status, json }, { status: 400, json: wanted }, name)
  t.strictSame(await kept(), [], 'nothing is kept')
  t.equal((await post('small/a', 'x'.repeat(10))).status, 200, 'exactly the limit')
  t.equal((await post('images/a', 'x', { 'Content-Type': 'text/anything' })).status, 200, 'a wildcard')
  t.equal(
    (await post('images/f/.emptyFolderPlaceholder', '', { 'Content-Type': 'image/gif' })).status,
    200,
    'an empty folder',
  )
  t.equal((await post('closed/empty', '')).status, 200, 'an empty object')
  t.equal((await ask('GET', '/object/closed/empty', service)).text, '')
})

t.test('names cannot leave their bucket', async (t) => {
  const { ask, database, kept } = await startWithBuckets(t)
  // `fetch` removes dots from addresses, unless they are encoded.
  const climbing = ['..%2F..%2Fup', 'a%2F..%2F..%2Fup', '%2e%2e%2fup', 'a%2F%2e%2Fb', '.%2Fdot', 'a%2F..', '%2e%2e%2F']
  for (const name of climbing) {
    const { status, json } = await ask('PUT', `/object/closed/${name}`, { ...service, body: name })
    t.strictSame({ status, json }, { status: 400, json: faults.key(decodeURIComponent(name)) }, name)
  }
  const names = ['..a', 'a%2F...%2Fb..', 'a%2Fb', 'A/B', 'a/b/', 'CON', 'a%3Fb', '.hidden', "quote'%20;--"]
  for (const name of names)
    t.equal((await ask('PUT', `/object/closed/${name}`, { ...service, body: name })).status, 200, name)
  for (const name of names) {
    const { text } = await ask('GET', `/object/closed/${name}`, service)
    t.equal(
      decodeURIComponent(text),
      decodeURIComponent(names.findLast((it) => decodeURIComponent(it) === decodeURIComponent(name)) ?? ''),
      name,
    )
  }
  const { rows } = await database.query('select name from storage.objects order by name collate "C"')
  t.equal(rows.length, new Set(names.map((name) => decodeURIComponent(name))).size)
  const files = await kept()
  t.ok(
    files.every((file) => /(?:^|\/)objects\/(?:[0-9a-f]{2}\/)?[0-9a-f-]+$/.test(file)),
    'no name is part of a path',
  )
})

testWithFolder(t, 'who may read', async (t) => {
  const { ask, database } = await startWithBuckets(t)
  for (const bucket of ['open', 'closed']) await ask('POST', `/object/${bucket}/a`, { ...service, body: bucket })
  await database.query(
    "insert into storage.objects (bucket_id, name, owner_id, version, metadata) values ('closed', 'without-bytes', null, gen_random_uuid(), '{\"size\": 5}')",
  )
  const noBytes = storageFault(404, 'Not found', 'The resource was not found', 'NoSuchKey')
  const cases = [
    ['/object/public/open/a', undefined, 'open'],
    ['/object/open/a', undefined, 'open'],
    ['/object/open/a', alice, 'open'],
    ['/object/authenticated/open/a', alice, 'open'],
    ['/object/authenticated/open/a', undefined, faults.noToken],
    ['/object/public/closed/a', undefined, faults.noBucket],
    ['/object/public/closed/a', 'service_role', faults.noBucket],
    ['/object/closed/a', undefined, faults.noBucket],
    ['/object/closed/a', alice, faults.noObject],
    ['/object/closed/a', 'service_role', 'closed'],
    ['/object/authenticated/closed/a', 'service_role', 'closed'],
    ['/object/public/open/none', undefined, faults.noObject],
    ['/object/open/none', 'service_role', faults.noObject],
    ['/object/closed/none', 'service_role', faults.noObject],
    ['/object/public/none/a', undefined, faults.noBucket],
    ['/object/none/a', 'service_role', faults.noBucket],
    ['/object/info/public/open/none', undefined, faults.noObject],
    ['/object/info/public/closed/a', undefined, faults.noBucket],
    ['/object/info/closed/a', alice, faults.noObject],
    ['/object/info/closed/a', undefined, faults.noBucket],
    ['/object/info/authenticated/closed/a', undefined, faults.noToken],
    ['/object/closed/without-bytes', 'service_role', noBytes],
    ['/object/open/%C3%BC', undefined, faults.noObject],
    ['/object/open/%25', undefined, faults.key('%')],
  ] as const
  for (const [path, as, wanted] of cases) {
    const { status, text, json } = await ask('GET', path, { as })
    const isText = typeof wanted === 'string'
    t.strictSame(
      { status, body: isText ? text : json },
      { status: isText ? 200 : 400, body: wanted },
      `${path} ${as ?? ''}`,
    )
    if (!path.includes('info'))
      t.equal(
        (await ask('HEAD', path, { as })).status,
        isText || path.includes('without-bytes') ? 200 : 400,
        `HEAD ${path}`,
      )
  }
  for (const path of ['info/public/open/a', 'info/open/a', 'info/authenticated/open/a']) {
    const as = path.includes('authenticated') ? alice : undefined
    t.match((await ask('GET', `/object/${path}`, { as })).json, { name: 'a', bucket_id: 'open', size: 4 }, path)
  }
  t.equal(
    (await ask('GET', '/object/open/a', { headers: { Authorization: 'Bearer nonsense' } })).text,
    'open',
    'an invalid token does not matter',
  )
})

t.test('parts, conditions and names to save by', async (t) => {
  const { ask } = await startWithBuckets(t)
  await ask('POST', '/object/open/a', { ...service, body: '0123456789' })
  await ask('POST', '/object/open/empty', { ...service, body: '' })
  const get = (headers: Record<string, string>, path = 'a') => ask('GET', `/object/public/open/${path}`, { headers })
  const ranges: readonly (readonly [string, string, string])[] = [
    ['bytes=0-0', '0', 'bytes 0-0/10'],
    ['bytes=2-4', '234', 'bytes 2-4/10'],
    ['bytes=7-', '789', 'bytes 7-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=-30', '0123456789', 'bytes 0-9/10'],
    ['bytes=8-100', '89', 'bytes 8-9/10'],
    ['Bytes=0-1', '01', 'bytes 0-1/10'],
  ]
  for (const [range, body, shown] of ranges) {
    const { status, text, headers } = await get({ Range: range })
    t.strictSame(
      [status, text, headers.get('content-range'), headers.get('content-length')],
      [206, body, shown, String(body.length)],
      range,
    )
  }
  for (const range of [
    'bytes=10-',
    'bytes=4-2',
    'bytes=0-1,3-4',
    'bytes=-0',
    'bytes=-',
    'bytes=a-b',
    'bytes=99999999999999999999-',
  ]) {
    const { status, json, headers } = await get({ Range: range })
    t.strictSame([status, json, headers.get('content-range')], [416, faults.range, 'bytes */10'], range)
  }
  t.equal((await get({ Range: 'bytes=0-1' }, 'empty')).status, 416)
  // An unknown unit is ignored: https://www.rfc-editor.org/rfc/rfc9110#section-14.2
  for (const range of ['', 'lines=0-1', 'items=0-5', 'pages', 'bytes', 'bytes 0-1', 'bytesx=0-1', '=0-1']) {
    const { status, text, headers } = await get({ Range: range })
    t.strictSame([status, text, headers.get('content-range')], [200, '0123456789', null], range)
  }
  const { headers } = await get({})
  const [eTag, modified] = [headers.get('etag') ?? '', headers.get('last-modified') ?? '']
  const later = new Date(Date.parse(modified) + 5000).toUTCString()
  const earlier = new Date(Date.parse(modified) - 5000).toUTCString()
  const conditions: readonly (readonly [Record<string, string>, number])[] = [
    [{ 'If-None-Match': eTag }, 304],
    [{ 'If-None-Match': `W/${eTag}` }, 304],
    [{ 'If-None-Match': `"x", ${eTag}` }, 304],
    [{ 'If-None-Match': '*' }, 304],
    [{ 'If-None-Match': '"x"' }, 200],
    [{ 'If-Modified-Since': modified }, 304],
    [{ 'If-Modified-Since': later }, 304],
    [{ 'If-Modified-Since': earlier }, 200],
    [{ 'If-Modified-Since': 'nonsense' }, 200],
    [{ 'If-None-Match': '"x"', 'If-Modified-Since': later }, 200],
    [{ 'If-Range': eTag, Range: 'bytes=0-1' }, 206],
    [{ 'If-Range': '"x"', Range: 'bytes=0-1' }, 200],
    [{ 'If-Range': modified, Range: 'bytes=0-1' }, 206],
  ]
  for (const [sent, status] of conditions) {
    const answer = await get(sent)
    t.equal(answer.status, status, JSON.stringify(sent))
    t.equal(answer.headers.get('etag'), eTag)
    if (status === 304) t.equal(answer.text, '')
  }
  t.equal((await get({ 'If-None-Match': '"x"' })).headers.get('cache-control'), 'no-cache, stale-while-revalidate=30')
  const named: readonly (readonly [string, string | null])[] = [
    ['a', null],
    ['a?download', 'attachment;'],
    ['a?download=', 'attachment;'],
    ['a?download=my%20file.txt', "attachment; filename=my%20file.txt; filename*=UTF-8''my%20file.txt"],
    ["a?download=Ann's%20(1)*.txt", "attachment; filename=Ann's%20(1)*.txt; filename*=UTF-8''Ann%27s%20%281%29%2A.txt"],
    [
      'a?download=%C3%BC%22%0D%0AX:y',
      "attachment; filename=%C3%BC%22%0D%0AX%3Ay; filename*=UTF-8''%C3%BC%22%0D%0AX%3Ay",
    ],
  ]
  for (const [path, shown] of named) t.equal((await get({}, path)).headers.get('content-disposition'), shown, path)
})

testWithFolder(t, 'nothing that is uploaded is executed', async (t) => {
  const { ask, database } = await startWithBuckets(t)
  const types: readonly (readonly [string, string, boolean])[] = [
    ['text/html', 'text/plain; charset=utf-8', true],
    ['Text/HTML; charset=utf-8', 'text/plain; charset=utf-8', true],
    ['image/svg+xml', 'image/svg+xml', true],
    ['application/xhtml+xml', 'application/xhtml+xml', true],
    ['text/xml', 'text/xml', true],
    ['application/javascript', 'application/javascript', true],
    ['multipart/x-mixed-replace; boundary=x', 'multipart/x-mixed-replace; boundary=x', true],
    ['image/png', 'image/png', false],
    ['video/mp4', 'video/mp4', false],
    ['application/pdf', 'application/pdf', false],
  ]
  for (const [given, shown, isSandboxed] of types) {
    const body = isSandboxed ? '<script>' : 'harmless'
    await ask('PUT', '/object/open/page', { ...service, body, headers: { 'Content-Type': given } })
    const { headers } = await ask('GET', '/object/public/open/page')
    t.equal(headers.get('content-type'), shown, given)
    t.equal(headers.get('x-content-type-options'), 'nosniff')
    t.equal(headers.get('content-security-policy')?.startsWith('sandbox;') === true, isSandboxed, given)
    t.equal(headers.get('content-disposition'), /html|svg|xml/i.test(given) ? 'attachment' : null, given)
  }
  // The content decides, too, what is an image.
  const picture = { ...service, body: ' <!DOCTYPE html><script>', headers: { 'Content-Type': 'image/png' } }
  const refused = await ask('PUT', '/object/open/page.png', picture)
  t.strictSame(refused.json, {
    statusCode: '415',
    error: 'invalid_mime_type',
    code: 'InvalidMimeType',
    message: 'mime type image/png is not that of the content, which is markup',
  })
  t.equal((await ask('GET', '/object/public/open/page.png')).status, 400)
  // A privileged role may write anything into the row.
  await database.query(
    `update storage.objects set metadata = metadata || '{"mimetype": "text/plain\\r\\nX-Evil: 1", "cacheControl": 7, "eTag": {}, "lastModified": "never"}'`,
  )
  const forged = await ask('GET', '/object/public/open/page')
  t.equal(forged.text, 'harmless')
  t.strictSame([forged.headers.get('x-evil'), forged.headers.get('content-type')], [null, 'application/octet-stream'])
  await database.query("update storage.objects set version = '../../../../etc/passwd'")
  t.match((await ask('GET', '/object/public/open/page')).json, { statusCode: '404' })
})

t.test('a row that names the version of another object has no bytes', async (t) => {
  const { ask, database } = await startWithBuckets(t)
  await ask('POST', '/object/closed/secret', { ...service, body: 'secret' })
  await database.query(
    `insert into storage.objects (bucket_id, name, version, metadata)
     select 'open', 'stolen', version, metadata from storage.objects where name = 'secret'`,
  )
  t.match((await ask('GET', '/object/public/open/stolen')).json, { statusCode: '404' })
})

testWithFolder(t, 'what search engines may do', async (t) => {
  const { ask } = await startWithBuckets(t)
  const put = (rules: string) =>
    ask('PUT', '/object/open/a', { ...service, body: 'x', headers: { 'X-Robots-Tag': rules } })
  await put('noindex, max-snippet: 20')
  t.equal((await ask('GET', '/object/public/open/a')).headers.get('x-robots-tag'), 'noindex, max-snippet: 20')
  t.match((await put('all;')).json, { error: 'invalid_x_robots_tag', code: 'InvalidRequest' })
})

t.test('removing', async (t) => {
  const { ask, kept } = await startWithBuckets(t)
  await ask('POST', '/object/open/a', { ...service, body: 'x' })
  const remove = async (path: string, as?: StorageCallerName): Promise<unknown> =>
    (await ask('DELETE', path, { as })).json
  t.strictSame(await remove('/object/open/a', alice), faults.noObject, 'what policies hide does not exist')
  t.strictSame(await remove('/object/open/a'), faults.noToken)
  t.strictSame(await remove('/object/open/none', 'service_role'), faults.noObject)
  t.strictSame(await remove('/object/none/a', 'service_role'), faults.noObject)
  t.equal((await ask('GET', '/object/public/open/a')).text, 'x')
  t.strictSame(await remove('/object/open/a', 'service_role'), { message: 'Successfully deleted' })
  t.strictSame((await ask('GET', '/object/public/open/a')).json, faults.noObject)
  t.ok(await until(async () => (await kept()).length === 0), 'the bytes are removed')
})

/** The policies of Supabase's documentation: users have folders of their own. */
const ownFolder = `
  create policy "own folder" on storage.objects for all to authenticated
  using (bucket_id = 'closed' and (storage.foldername(name))[1] = (select auth.uid()::text))
  with check (bucket_id = 'closed' and (storage.foldername(name))[1] = (select auth.jwt() ->> 'sub'))`

testWithFolder(t, 'users with folders of their own', async (t) => {
  const { ask, database } = await startWithBuckets(t)
  await database.query(ownFolder)
  const put = async (owner: string, as: StorageCallerName): Promise<unknown> =>
    (await ask('PUT', `/object/closed/${owner}/a.txt`, { as, body: as })).json
  t.match(await put(alice, alice), { Key: `closed/${alice}/a.txt` })
  t.match(await put(bob, bob), { Key: `closed/${bob}/a.txt` })
  t.strictSame(await put(alice, bob), faults.rowSecurity, 'replacing what belongs to another user')
  t.strictSame((await ask('POST', `/object/closed/${alice}/a.txt`, { as: bob, body: 'x' })).json, faults.rowSecurity)
  t.strictSame((await ask('GET', `/object/closed/${alice}/a.txt`, { as: bob })).json, faults.noObject)
  t.strictSame((await ask('GET', `/object/info/closed/${alice}/a.txt`, { as: bob })).json, faults.noObject)
  t.equal((await ask('HEAD', `/object/closed/${alice}/a.txt`, { as: bob })).status, 400)
  t.strictSame((await ask('DELETE', `/object/closed/${alice}/a.txt`, { as: bob })).json, faults.noObject)
  t.equal((await ask('GET', `/object/closed/${alice}/a.txt`, { as: alice })).text, alice)
  const { rows } = await database.query('select owner, owner_id from storage.objects order by name')
  t.strictSame(rows, [
    { owner: alice, owner_id: alice },
    { owner: bob, owner_id: bob },
  ])
})

testWithFolder(t, 'policies see the request', async (t) => {
  const { ask, database } = await startWithBuckets(t)
  await database.query(
    `create policy described on storage.objects for insert to authenticated with check (
       storage.operation() = 'storage.object.upload'
       and current_setting('request.method', true) = 'POST'
       and current_setting('request.path', true) = '/object/closed/a?b=c'
       and current_setting('request.headers', true)::json ->> 'x-client-info' = 'test'
       and metadata ->> 'mimetype' = 'image/png' and (metadata ->> 'contentLength')::int = 3
       and owner_id = auth.uid()::text and auth.role() = 'authenticated'
     )`,
  )
  const headers = { 'X-Client-Info': 'test', 'Content-Type': 'image/png' }
  const send = (path: string, method = 'POST') =>
    ask(method, `/object/closed/${path}`, { as: alice, body: 'abc', headers })
  t.strictSame((await send('a')).json, faults.rowSecurity, 'another path')
  t.strictSame((await send('a?b=c', 'PUT')).json, faults.rowSecurity, 'another operation')
  t.equal((await send('a?b=c')).status, 200, 'insert needs no policy for select')
})

t.test('of concurrent uploads to one name, one wins whole', async (t) => {
  const { ask, kept } = await startWithBuckets(t)
  const race = async (method: string, name: string): Promise<[number, string[]]> => {
    const texts = Array.from({ length: 8 }, (_, index) => String(index).repeat(100_000))
    const answers = await Promise.all(texts.map((body) => ask(method, `/object/open/${name}`, { ...service, body })))
    const won = texts.filter((_, index) => answers[index]?.status === 200)
    for (const { status, json } of answers) if (status !== 200) t.strictSame(json, faults.exists)
    return [won.length, won]
  }
  const check = async (ask: AskStorage, name: string, texts: readonly string[]): Promise<void> => {
    const { text, headers } = await ask('GET', `/object/public/open/${name}`)
    t.ok(texts.includes(text), 'the bytes of one upload')
    t.equal(headers.get('etag'), md5(text))
  }
  const [posted, texts] = await race('POST', 'posted')
  t.equal(posted, 1)
  await check(ask, 'posted', texts)
  const [put, all] = await race('PUT', 'put')
  t.equal(put, 8)
  await check(ask, 'put', all)
  // Uploads that created the row at the same moment may leave bytes to the sweep.
  t.ok(await until(async () => (await kept()).length <= 9))
})
