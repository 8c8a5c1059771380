// The table of secrets names every route that takes one, and nothing else.
import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { dto } from '../../../server/http/service-response.ts'
import type { ServiceRoute } from '../../../server/http/service-route.ts'
import { authRoutes } from '../../../server/services/auth/auth-table.ts'
import { defineAuthRoute } from '../../../server/services/auth/dialect.ts'
import { secretFields, secrets, type Secret, type SecretName } from '../../../server/services/secrets.ts'
import { analysisRoutes } from '../../../server/services/analysis/analysis-routes.ts'
import { consoleRoutes } from '../../../server/services/console/console-table.ts'
import type { ConsoleSettings } from '../../../server/services/console/console-settings.ts'
import { storageRoutes } from '../../../server/services/storage/storage-table.ts'
import { tables } from '../../support/service-routes.ts'

type Described = Pick<ServiceRoute, 'method' | 'path' | 'parameters' | 'body' | 'bodies'>

const routes: readonly Described[] = [
  ...authRoutes,
  ...tables.flatMap((table) => table.routes),
  ...analysisRoutes('/api/v1/water-hyacinth'),
  ...storageRoutes.filter(({ hidden }) => hidden !== true),
  // Routes are only described here: their handlers, which need the settings, do not run.
  ...consoleRoutes({ database: {} } as ConsoleSettings).filter(({ hidden }) => hidden !== true),
]
const nameOf = ({ method, path }: { readonly method: string; readonly path: string }): string =>
  `${method.toUpperCase()} ${path.replaceAll('{*', '{')}`
const known = new Set(routes.map(nameOf))

const folder = new URL('../../../schemas/', import.meta.url)
const properties = new Map<string, readonly string[]>()
for (const name of await readdir(folder)) {
  if (!name.endsWith('.json')) continue
  const schema = JSON.parse(await readFile(new URL(name, folder), 'utf8')) as {
    readonly $id?: string
    readonly properties?: object
  }
  properties.set(schema.$id ?? name, Object.keys(schema.properties ?? {}))
}

/** Names that secrets have in requests: those of `secretFields`, and passwords, which some routes set. */
const isSecret = (name: string): boolean =>
  (secretFields as readonly string[]).includes(name) || /password|secret|token|signature|otp|pin|credential/i.test(name)

/** Fields with such a name that no secret is compared with: new passwords and passkeys, what administrators store, and names. */
const notCompared: ReadonlySet<string> = new Set([
  'POST /auth/v1/signup password',
  'PUT /auth/v1/user password',
  'POST /auth/v1/admin/users password',
  'POST /auth/v1/admin/users password_hash',
  'PUT /auth/v1/admin/users/{user_id} password',
  'PUT /auth/v1/admin/users/{user_id} password_hash',
  'POST /auth/v1/admin/generate_link password',
  'POST /auth/signup password',
  'PATCH /auth/me password',
  'POST /auth/v1/passkeys/registration/verify credential',
  // Texts of an OAuth client, which gets them back; how it sends its secret; and the kind of its request.
  'GET /auth/v1/oauth/authorize state',
  'GET /auth/v1/oauth/authorize nonce',
  'POST /auth/v1/oauth/clients/register token_endpoint_auth_method',
  'POST /auth/v1/admin/oauth/clients token_endpoint_auth_method',
  'PUT /auth/v1/admin/oauth/clients/{client_id} token_endpoint_auth_method',
  // The name of a secret, and the state of a call.
  'POST /console/api/webhooks/sql secret',
  'GET /console/api/webhooks/calls state',
])

const fieldsOf = (route: Described): readonly string[] => {
  const reference = route.body && '$ref' in route.body ? String(route.body.$ref) : undefined
  const ofBody = reference === undefined ? [] : properties.get(reference)
  if (!ofBody) throw new Error(`${nameOf(route)}: no schema ${String(reference)}`)
  const ofForms = Object.values(route.bodies ?? {}).flatMap(({ properties }) => Object.keys(properties ?? {}))
  return [...ofBody, ...ofForms, ...(route.parameters ?? []).map(({ name }) => name)]
}

const table: readonly (readonly [SecretName, Secret])[] = Object.entries(secrets) as never
const doors = table.flatMap(([name, { doors: ofSecret }]) =>
  ofSecret.flatMap(({ route, fields }) => fields.map((field) => ({ name, route, field }))),
)

t.test('every field of a route that is a secret is in the table', (t) => {
  const inTable = new Set(doors.map(({ route, field }) => `${route} ${field}`))
  const found = new Set<string>()
  for (const route of routes) {
    for (const field of fieldsOf(route)) if (isSecret(field)) found.add(`${nameOf(route)} ${field}`)
  }
  t.ok(found.size > 20)
  t.strictSame(
    [...found].filter((door) => !inTable.has(door) && !notCompared.has(door)),
    [],
    'a new route that takes a secret needs a line in services/secrets.ts',
  )
  t.strictSame(
    [...notCompared].filter((door) => !found.has(door)),
    [],
    'all exceptions exist',
  )
  t.end()
})

t.test('every door of the table is a route with that field', (t) => {
  const described = new Map(routes.map((route) => [nameOf(route), fieldsOf(route)]))
  for (const { route, field } of doors) {
    if (route === '*') continue
    t.ok(known.has(route), route)
    const fields = described.get(route)
    // The form of POST /callback is not described.
    if (route !== 'POST /auth/v1/callback') t.ok(fields?.includes(field), `${route} ${field}`)
  }
  t.end()
})

t.test('the routes of /auth/v1 name the secrets that the table has them take, and have a limit', (t) => {
  for (const route of authRoutes) {
    const ofTable = new Set(doors.filter((door) => door.route === nameOf(route)).map(({ name }) => name))
    t.strictSame([...route.secrets].sort(), [...ofTable].sort(), nameOf(route))
    if (route.secrets.length > 0) t.not(route.limit, undefined, nameOf(route))
  }
  t.end()
})

t.test(
  'a secret of less than 128 bits has limits; one of few bits counts per value or account and per network',
  (t) => {
    for (const [name, { bits, limits, stored, lifetime }] of table) {
      t.ok(stored !== '' && lifetime !== '', name)
      if (bits === null || bits < 128) t.ok(limits.length > 0, name)
      if (bits !== null && bits >= 64) continue
      const kinds = new Set(limits.map(({ per }) => per))
      t.ok(kinds.has('network'), `${name}: per network`)
      const isOfAccount = kinds.has('account') || kinds.has('factor')
      if (name !== 'refreshToken') t.ok(isOfAccount, `${name}: per account`)
    }
    t.end()
  },
)

t.test('a route of /auth/v1 that takes a secret cannot be written without its name and a limit', (t) => {
  const common = {
    method: 'get',
    path: '/new',
    id: 'new',
    summary: 'A new route',
    caller: 'anyone',
    success: [200, 'Yes.'],
    handler: () => ({ json: {} }),
  } as const
  const queries: readonly Readonly<Record<string, string>>[] = [
    { token: 'A token.' },
    { invite_token: 'Another.', x: 'y' },
    { code: 'z' },
  ]
  for (const query of queries) {
    t.throws(() => defineAuthRoute({ ...common, query }), { message: /route new takes/ })
    t.throws(() => defineAuthRoute({ ...common, query, limit: 'verify' }), /needs the names of its secrets and a limit/)
    t.throws(() => defineAuthRoute({ ...common, query, secrets: ['linkToken'] }), /needs the names/)
    t.doesNotThrow(() => defineAuthRoute({ ...common, query, secrets: ['linkToken'], limit: 'verify' }))
  }
  const body = dto<{ readonly nonce?: string }>('AuthUpdateUserDto')
  // @ts-expect-error the body has a nonce, so the route needs secrets and a limit
  t.ok(defineAuthRoute({ ...common, method: 'post', body, limit: 'otp' }))
  // @ts-expect-error the same without a limit
  t.throws(() => defineAuthRoute({ ...common, method: 'post', body, secrets: ['nonce'] }))
  t.ok(defineAuthRoute({ ...common, method: 'post', body, secrets: ['nonce'], limit: 'otp' }))
  t.end()
})
