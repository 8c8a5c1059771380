// Responses with a session or a user are as the document of the API describes them.
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import { startApplication } from '../support/application.ts'
import type { Answer } from '../support/call.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { bearer } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { call } = await startApplication(t, database.authenticatorUri, {
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
})
const { body: document } = await call('GET', '/openapi.json')
type Operation = {
  readonly responses: { readonly 200: { readonly content: { 'application/json': { schema: object } } } }
}
const { paths, components } = document as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: object
}
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false })

t.test('sessions and users', async (t) => {
  const check = (method: string, path: string, { status, body }: Answer): void => {
    t.equal(status, 200)
    const schema = paths[path]?.[method]?.responses[200].content['application/json'].schema ?? {}
    t.not(Object.keys(schema).length, 0, 'it is described')
    t.ok(ajv.validate({ ...schema, components }, body), `${method} ${path}: ${ajv.errorsText()}`)
    t.notOk(ajv.validate({ ...schema, components }, {}), 'which says something')
  }
  const person = { email: 'ann@example.org', password: 'a long password' }
  check('post', '/auth/v1/signup', await call('POST', '/auth/v1/signup', { body: person }))
  check('post', '/auth/v1/signup', await call('POST', '/auth/v1/signup', { body: { data: { name: 'Ann' } } }))
  const signedIn = await call('POST', '/auth/v1/token?grant_type=password', { body: person })
  check('post', '/auth/v1/token', signedIn)
  const { access_token: token, user } = signedIn.body as { access_token: string; user: { id: string } }
  const headers = { Authorization: `Bearer ${token}` }
  check('get', '/auth/v1/user', await call('GET', '/auth/v1/user', { headers }))
  check('put', '/auth/v1/user', await call('PUT', '/auth/v1/user', { headers, body: { data: { name: 'Ann' } } }))
  const admin = { Authorization: await bearer('service_role') }
  check(
    'get',
    '/auth/v1/admin/users/{user_id}',
    await call('GET', `/auth/v1/admin/users/${user.id}`, { headers: admin }),
  )
})
