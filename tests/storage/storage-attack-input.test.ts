// Hostile values in requests to `/storage/v1`: each gets a clear error, or is harmless in responses.
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import t from 'tap'
import { readForm } from '../../server/services/storage/upload-form.ts'
import { listen } from '../support/listening.ts'
import { holdRequest } from '../support/held-request.ts'
import { startStorageService, storageBearer, storageFault, storageFaults as faults } from '../support/storage.ts'
import { exchangeRows } from '../support/storage-rows.ts'
import { until } from '../support/until.ts'

const service = { as: 'service_role' } as const
const { ask, database, application, url } = await startStorageService(t)
await database.query("insert into storage.buckets (id, name, public) values ('b', 'b', true)")
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
const tooDeep = storageFault(400, 'InvalidRequest', 'user_metadata is nested too deeply', 'InvalidRequest')
const withoutNul = storageFault(400, 'InvalidParameter', 'Text must not contain the character NUL', 'InvalidParameter')
const longCache = faults.validation('cacheControl must NOT have more than 1000 characters')

const form = (fields: Readonly<Record<string, string>>): FormData => {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.set(name, value)
  data.set('file', new Blob(['x']))
  return data
}

t.test('metadata', async (t) => {
  const header = (text: string) => ({ 'x-metadata': base64(text) })
  await exchangeRows(t, ask, [
    ['NUL', ['POST', '/object/b/m', 'x', 'service_role', header(String.raw`{"a":"\u0000"}`)], withoutNul],
    ['NUL in a name', ['POST', '/object/b/m', 'x', 'service_role', header(String.raw`{"\u0000":1}`)], withoutNul],
    ['deep', ['POST', '/object/b/m', 'x', 'service_role', header(nested(101))], tooDeep],
    ['deep, in a form', ['POST', '/object/b/m', form({ metadata: nested(100_000) })], tooDeep],
    ['deep, to sign', ['POST', '/object/upload/sign/b/m', undefined, 'service_role', header(nested(4000))], tooDeep],
    ['nothing of it', ['GET', '/object/info/b/m'], faults.noObject],
  ])
  t.equal((await ask('POST', '/object/b/m', { ...service, body: form({ metadata: nested(90) }) })).status, 200)
  t.match((await ask('GET', '/object/info/b/m')).json, { metadata: JSON.parse(nested(90)) as object })
  const metadata = `bucketName ${base64('b')},objectName ${base64('t')},metadata ${base64(nested(4000))}`
  const headers = { 'Tus-Resumable': '1.0.0', 'Upload-Length': '3', 'Upload-Metadata': metadata }
  const answer = await ask('POST', '/upload/resumable', { ...service, headers })
  t.strictSame([answer.status, answer.text], [400, tooDeep.message])
})

t.test('markup that is uploaded as an image, in every way', async (t) => {
  const page = '<!doctype html><script>alert(1)</script>'
  const refused = storageFault(
    415,
    'invalid_mime_type',
    'mime type image/png is not that of the content, which is markup',
    'InvalidMimeType',
  )
  const png = { 'Content-Type': 'image/png' }
  const picture = new FormData()
  picture.set('contentType', 'image/png')
  picture.set('file', new Blob([page], { type: 'text/plain' }))
  const signed = (await ask('POST', '/object/upload/sign/b/page', service)).json as { readonly url: string }
  await exchangeRows(t, ask, [
    ['raw', ['POST', '/object/b/page', page, 'service_role', png], refused],
    ['to replace', ['PUT', '/object/b/page', page, 'service_role', png], refused],
    ['in a form', ['POST', '/object/b/page', picture], refused],
    ['to a signed URL', ['PUT', signed.url, page, null, png], refused],
    ['nothing of it', ['GET', '/object/info/b/page'], faults.noObject],
  ])
  // The client goes while the beginning is awaited.
  const headers = { Authorization: await storageBearer('service_role'), ...png }
  const held = holdRequest('PUT', `${application.url}/storage/v1/object/b/page`, 5000, headers)
  await held.send('<htm')
  held.hangUp()
  t.equal((await held.answer).status, 0)
  t.strictSame((await ask('GET', '/object/info/b/page', service)).json, faults.noObject)
  t.equal((await ask('PUT', '/object/b/page', { ...service, body: 'PNG', headers: png })).status, 200)
})

t.test('no response has headers that clients refuse', async (t) => {
  const long = 'x'.repeat(100_000)
  await ask('PUT', '/object/b/source', { ...service, body: 'source' })
  const copy = (metadata: object) => ({
    ...{ bucketId: 'b', sourceKey: 'source', destinationKey: 'long', copyMetadata: false, metadata },
  })
  await exchangeRows(t, ask, [
    ['cache control', ['PUT', '/object/b/long', form({ cacheControl: long })], longCache],
    ['type', ['PUT', '/object/b/long', form({ contentType: `a/b;${long}` })], faults.contentType],
    ['of a copy', ['POST', '/object/copy', copy({ cacheControl: long })], longCache],
    ['type of a copy', ['POST', '/object/copy', copy({ mimetype: 'text/html\r\nx: y' })], faults.contentType],
    [
      'of a raw upload',
      ['PUT', '/object/b/long', 'x', 'service_role', { 'Cache-Control': 'y'.repeat(1001) }],
      longCache,
    ],
    ['nothing of it', ['GET', '/object/info/b/long'], faults.noObject],
  ])
  await ask('PUT', '/object/b/sql', { ...service, body: 'of SQL' })
  const change = `update storage.objects set metadata = metadata || jsonb_build_object('cacheControl', repeat('z', 100000))
    where name = 'sql'`
  await database.query(change)
  t.equal((await ask('GET', '/object/public/b/sql')).text, 'of SQL', 'rows of SQL can be downloaded, too')
  const lines = form({ cacheControl: '1\r\nX-Injected: y' })
  t.equal((await ask('PUT', '/object/b/lines', { ...service, body: lines })).status, 200)
  const { headers } = await ask('GET', '/object/public/b/lines')
  t.strictSame([headers.get('cache-control'), headers.get('x-injected')], [null, null])
})

t.test('a list of media types is not harmless because its first one is', async (t) => {
  const types = ['image/png;,application/xhtml+xml', 'text/plain; a=b, image/svg+xml', 'text/csv;a="b",text/xml']
  for (const type of types) {
    await ask('PUT', '/object/b/types', { ...service, body: '<x/>', headers: { 'Content-Type': type } })
    const { headers } = await ask('GET', '/object/public/b/types')
    t.match(headers.get('content-security-policy'), /^sandbox;/, type)
  }
})

t.test('ranges', async (t) => {
  const huge = '9'.repeat(40)
  await ask('PUT', '/object/b/range', { ...service, body: '0123456789' })
  const cases = [
    [`bytes=4-${huge}`, 206, '456789'],
    ['bytes=4-18446744073709551615', 206, '456789'],
    [`bytes=-${huge}`, 206, '0123456789'],
    [`bytes=${'9'.repeat(400)}-`, 416, ''],
    [`bytes=0-${'9'.repeat(400)}`, 206, '0123456789'],
    [`bytes=${huge}-`, 416, ''],
    [`bytes=${huge}-${huge}`, 416, ''],
    ['bytes=-0', 416, ''],
    [`bytes=${Array.from({ length: 1000 }, (_, index) => `${index}-`).join(',')}`, 416, ''],
    ['bytes=1-0', 416, ''],
    ['bytes=--1', 416, ''],
    ['bytes=0x0-1', 416, ''],
  ] as const
  for (const [range, status, wanted] of cases) {
    const answer = await ask('GET', '/object/public/b/range', { headers: { Range: range } })
    t.strictSame([answer.status, status === 206 ? answer.text : ''], [status, wanted], range.slice(0, 40))
  }
})

t.test('signed URLs', async (t) => {
  const sign = async (body: object): Promise<string> =>
    ((await ask('POST', '/object/sign/b/range', { ...service, body })).json as { signedURL: string }).signedURL
  const small = await sign({ expiresIn: 60, transform: { width: 10 } })
  t.match(small, /^\/render\/image\/sign\//)
  const invalid = storageFault(400, 'InvalidSignature', 'Invalid signature', 'InvalidSignature')
  for (const method of ['GET', 'HEAD']) {
    const { status, json } = await ask(method, small.replace('/render/image/sign/', '/object/sign/'))
    t.equal(status, 400, 'who has a small image does not have the large one')
    if (method === 'GET') t.strictSame(json, invalid)
  }
  const far = storageFault(400, 'InvalidParameter', 'Invalid Parameter expiresIn', 'InvalidParameter')
  await exchangeRows(t, ask, [['too far', ['POST', '/object/sign/b/range', { expiresIn: 8_700_000_000_000 }], far]])
  const late = await ask('GET', await sign({ expiresIn: 7000 * 365 * 86_400 }))
  t.match(late.headers.get('expires'), /^\w{3}, \d\d \w{3} \d{4} /)
})

t.test('uploads in chunks of one byte', async (t) => {
  const content = 'GIF89a'.padEnd(20_000, '\r\n--x')
  const start = '--form\r\nContent-Disposition: form-data; name=""; filename="f"\r\nContent-Type: image/gif\r\n\r\n'
  const bodies: readonly (readonly [type: string, body: string])[] = [
    ['application/octet-stream', content],
    ['image/gif', content],
    ['multipart/form-data; boundary=form', `${start}${content}\r\n--form--\r\n`],
  ]
  for (const [index, [type, body]] of bodies.entries()) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    const head = [
      `POST /storage/v1/object/b/bytes-${index} HTTP/1.1`,
      `Host: x\r\nAuthorization: ${await storageBearer('service_role')}\r\nContent-Type: ${type}`,
      'Transfer-Encoding: chunked\r\n\r\n',
    ].join('\r\n')
    socket.write(`${head}${Array.from(body, (sign) => `1\r\n${sign}\r\n`).join('')}0\r\n\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    t.match(answer.toString(), /^HTTP\/1.1 200 /, type)
    socket.destroy()
    const { text } = await ask('GET', `/object/b/bytes-${index}`, service)
    t.equal(text, content, type)
  }
})

t.test('a form whose client has disconnected before it is read', async (t) => {
  let outcome: unknown
  const url = await listen(t, (request) => {
    request.on('error', () => undefined)
    request.once('close', () => {
      readForm(request).catch((error: unknown) => (outcome = error))
    })
  })
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const head =
    'POST / HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 100\r\n\r\n'
  socket.write(head, () => socket.destroy())
  t.ok(await until(() => outcome !== undefined), 'the form does not wait for the rest')
  t.match(outcome, { code: 'InvalidRequest' })
})

t.test('the log has no errors of the server', (t) => {
  const failed = application.logged().filter(({ level }) => Number(level) >= 50)
  t.strictSame(failed, [])
  t.end()
})

t.test('a form of many parts, and a body of many values', async (t) => {
  let sent = 0
  function* parts(): Generator<string> {
    for (; sent < 500; sent++) yield '--x\r\n\r\n\r\n'.repeat(2000)
    yield '--x--\r\n'
  }
  const stream = Object.assign(Readable.from(parts(), { objectMode: false }), {
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
    complete: false,
  })
  await t.rejects(readForm(stream as unknown as IncomingMessage), { cause: /too many parts/ })
  t.ok(sent < 20, `${sent} of 500 pieces were read`)
  const list = ['POST', '/object/list/b'] as const
  const values = `[${'{},'.repeat(200_000)}{}]`
  t.match(await ask(...list, { ...service, body: JSON.parse(values) as object }), { status: 413 })
})
