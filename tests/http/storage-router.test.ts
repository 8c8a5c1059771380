// The router of `/storage/v1`: unknown routes, preflight requests, and the schema that its migration creates.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { askStorage } from '../support/storage.ts'

t.test('unknown routes get an error in the form of storage', async (t) => {
  const database = await createMigratedDatabase()
  t.teardown(database.drop)
  const { url } = await startApplication(t, database.authenticatorUri, { STORAGE_FILE_BACKEND_PATH: t.testdir() })
  const answer = await fetch(`${url}/storage/v1/nothing?x=1`)
  t.equal(answer.status, 404)
  t.strictSame(await answer.json(), {
    statusCode: '404',
    error: 'Not Found',
    message: 'Route GET:/nothing?x=1 not found',
    code: 'InvalidRequest',
  })
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
