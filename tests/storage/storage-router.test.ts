// The router of `/storage/v1`: unknown routes, preflight requests, and the schema that its migration creates.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { version } from '../../server/common/version.ts'
import { askStorage, startStorageService } from '../support/storage.ts'

t.test('unknown routes get an error in the form of storage', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const { url } = await startApplication(t, database.authenticatorUri, { STORAGE_FILE_BACKEND_PATH: t.testdir() })
  const notFound = (route: string) => ({ error: 'Not Found', message: `Route ${route} not found` })
  const ask = askStorage(url)
  for (const path of ['/nothing?x=1', '/iceberg/v1/config', '/upload/resumable/x/y', '']) {
    const { status, json } = await ask('GET', path)
    t.strictSame({ status, json }, { status: 404, json: { ...notFound(`GET:${path}`), statusCode: 404 } }, path)
  }
  for (const path of ['/object', '/bucket/a/b', '/vector/ListVectorBuckets', '/render/image']) {
    const { status, json } = await ask('PATCH', path)
    const body = { statusCode: '404', ...notFound(`PATCH:${path}`), code: 'InvalidRequest' }
    t.strictSame({ status, json }, { status: 404, json: body }, path)
  }
  const preflight = await fetch(`${url}/storage/v1/bucket`, {
    method: 'OPTIONS',
    headers: {
      Origin: 'https://example.org',
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization, x-upsert',
    },
  })
  t.equal(preflight.status, 204)
  t.equal(preflight.headers.get('access-control-allow-headers'), 'authorization, x-upsert')
})

t.test('routes that dashboards and other clients use', async (t) => {
  const { ask, database } = await startStorageService(t)
  const service = { as: 'service_role' } as const
  await ask('POST', '/bucket', { ...service, body: { name: 'b', public: true } })
  await ask('POST', '/object/b/a', { ...service, body: 'x' })
  const status = await ask('GET', '/status')
  t.strictSame([status.status, status.text], [200, ''])
  const { text, headers } = await ask('GET', '/version')
  t.strictSame([text, headers.get('content-type')], [version, 'text/plain; charset=utf-8'])
  t.strictSame((await ask('GET', '/health')).json, { healthy: true })
  t.match((await ask('GET', '/bucket/', service)).json, [{ id: 'b' }], 'with a slash')
  t.match((await ask('POST', '/bucket/', { ...service, body: { name: 'c' } })).json, { name: 'c' })
  for (const path of ['/bucket', '/bucket/b', '/object/info/b/a', '/object/info/public/b/a', '/status', '/version']) {
    const head = await ask('HEAD', path, service)
    const get = await ask('GET', path, service)
    const length = get.headers.get('content-length')
    t.strictSame([head.status, head.text, head.headers.get('content-length')], [200, '', length], path)
  }
  t.equal((await ask('HEAD', '/bucket/none', service)).status, 400)
  for (const [method, path] of [
    ['GET', '/s3'],
    ['PUT', '/s3/b/a'],
    ['POST', '/s3/b?delete'],
  ] as const) {
    const refusal = await ask(method, path, { ...service, ...(method === 'GET' ? {} : { body: 'x'.repeat(100_000) }) })
    t.strictSame([refusal.status, refusal.headers.get('content-type')], [501, 'application/xml; charset=utf-8'], path)
    t.match(refusal.text, /^<\?xml .*<Error><Code>NotImplemented<\/Code><Message>.*\/storage\/v1<\/Message><\/Error>/s)
  }
  await database.query('alter table storage.buckets rename to gone')
  t.strictSame((await ask('GET', '/health')).json, { healthy: false })
})

t.test('the functions of the schema', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const { rows } = await database.query(
    `select storage.foldername('a/b/c.tar.gz') as folders, storage.filename('a/b/c.tar.gz') as file,
       storage.extension('a/b/c.tar.gz') as extension, storage.foldername('c') as none`,
  )
  t.strictSame(rows, [{ folders: ['a', 'b'], file: 'c.tar.gz', extension: 'gz', none: [] }])
})

t.test('a folder that cannot be used is an error at the start', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  await t.rejects(startApplication(t, database.authenticatorUri, { STORAGE_FILE_BACKEND_PATH: '/dev/null/objects' }), {
    message:
      /^The folder of the storage service \/dev\/null\/objects cannot be used \(ENOTDIR.*\)\. Set STORAGE_FILE_BACKEND_PATH/,
  })
})

t.test('with a database of its own and no folder, a server starts without one', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const { url, logged } = await startApplication(t, database.authenticatorUri, { DATA_DIR: '/dev/null/data' })
  const ask = askStorage(url)
  await ask('POST', '/bucket', { as: 'service_role', body: { name: 'b' } })
  const { status, text } = await ask('POST', '/object/b/a', { as: 'service_role', body: 'x' })
  t.equal(status, 500)
  t.notMatch(text, /dev|ENOTDIR/, 'paths of the server are not in responses')
  t.ok(JSON.stringify(logged()).includes('ENOTDIR'), 'the log has the cause')
})
