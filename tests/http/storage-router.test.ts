// The router of `/storage/v1`: unknown routes, preflight requests, and the schema that its migration creates.
import t from 'tap'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'

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
