// Texts that PostgreSQL cannot store, or not in a column of limited length, in every text of every request that the OpenAPI
// document describes: the client's fault is never an error of the server.
import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import { detailsOf, signUp } from '../support/account.ts'
import { startApplication } from '../support/application.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { signToken } from '../support/token.ts'

const database = await createMigratedDatabase()
t.teardown(() => database.drop())
const { url, call } = await startApplication(t, database.authenticatorUri, {
  SESSION_SECRETS: 's'.repeat(32),
  STORAGE_ENABLED: 'true',
  GOTRUE_MAILER_AUTOCONFIRM: 'true',
  GOTRUE_EXTERNAL_ANONYMOUS_USERS_ENABLED: 'true',
  GOTRUE_EXTERNAL_PHONE_ENABLED: 'true',
  GOTRUE_SECURITY_MANUAL_LINKING_ENABLED: 'true',
  GOTRUE_MFA_PHONE_ENROLL_ENABLED: 'true',
  GOTRUE_SMS_AUTOCONFIRM: 'true',
  GOTRUE_RATE_LIMIT_EMAIL_SENT: '100000',
  GOTRUE_RATE_LIMIT_SMS_SENT: '100000',
  AUTH_ACCOUNT_LIMIT: '100000',
  AUTH_ACCOUNT_TOTAL_LIMIT: '100000',
  AUTH_ADDRESS_LIMIT: '100000',
})

type Schema = {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
}
type Parameter = { readonly name: string; readonly in: string }
type Operation = {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly security?: readonly object[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}
const document = (await call('GET', '/openapi.json')).body as Document
const resolved = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : resolved(document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {})

/** Random, so that Postgres cannot compress it. */
const long = (characters: number): string => randomBytes(characters / 2).toString('hex')
const texts: readonly (readonly [name: string, text: string])[] = [
  ['NUL', 'a\0b'],
  ['a lone high surrogate', 'a\ud800'],
  ['a lone low surrogate', '\udc00b'],
  ['10000 characters', long(10_000)],
]
/** Percent-encoded, where `encodeURIComponent` fails for surrogates. */
const encoded = (text: string): string =>
  [...text].map((sign) => (/\p{Cs}/u.test(sign) ? '%ED%A0%80' : encodeURIComponent(sign))).join('')

/** Values with which requests get far, by the names of members. */
const plausible = (name: string, operation: string): unknown => {
  const id = randomUUID()
  const values: Readonly<Record<string, unknown>> = {
    ...{ email: `${id}@example.org`, new_email: `new-${id}@example.org`, password: 'correct horse battery' },
    ...{ currentPassword: 'correct horse battery', firstName: 'Ann', factor_type: 'totp', provider: 'google' },
    ...{ code_challenge: 'c'.repeat(43), code_challenge_method: 's256', aud: 'authenticated', role: 'authenticated' },
    ...{ data: { a: 'b' }, user_metadata: { a: 'b' }, app_metadata: { a: 'b' }, name: `n${id}`, bucketId: 'files' },
    ...{
      id: operation.startsWith('storage') ? `b${id}` : id,
      prefix: '',
      prefixes: ['x'],
      paths: ['x'],
      expiresIn: 60,
    },
    type: { authResend: 'signup', authGenerateLink: 'magiclink' }[operation] ?? 'email',
    ...{ price: 1, make: 'toyota', model: 'corolla', lng: 0, lat: 0, mileage: 1, year: 2000 },
  }
  return values[name]
}

type Sent = {
  readonly label: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

/** The requests of an operation that have a hostile text in one place each. */
function* requestsOf(path: string, operation: Operation): Generator<Sent> {
  const { operationId: id, parameters = [] } = operation
  const ids = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => name)
  const filled = (own?: string, text = ''): string =>
    ids.reduce(
      (at, name) => at.replace(`{${name}}`, name === own ? text : name === 'bucket' ? 'files' : randomUUID()),
      path,
    )
  const grants =
    path.endsWith('/token') && path.includes('/v1') ? ['password', 'refresh_token', 'pkce', 'id_token'] : ['']
  const content = operation.requestBody?.content['application/json']
  const { properties = {} } = content ? resolved(content.schema) : {}
  const names = Object.keys(properties)
  // Hashing a password takes long. An anonymous user needs none, and an administrator's account does not, either.
  const withoutPassword = id === 'authSignUp' || id.startsWith('authAdmin') ? ['email', 'password', 'phone'] : []
  const base = (): Readonly<Record<string, unknown>> =>
    Object.fromEntries(
      names
        .filter((name) => !withoutPassword.includes(name))
        .map((name): [string, unknown] => [name, plausible(name, id)])
        .filter(([, value]) => value !== undefined),
    )
  const json = content === undefined ? {} : { body: base() }
  for (const [kind, text] of texts) {
    for (const name of ids) yield { label: `${name} in the path: ${kind}`, path: filled(name, encoded(text)), ...json }
    for (const parameter of parameters.filter(({ in: place }) => place === 'query')) {
      yield { label: `${parameter.name}: ${kind}`, path: `${filled()}?${parameter.name}=${encoded(text)}`, ...json }
    }
    if (/^[\w]+$/.test(text)) {
      for (const name of [
        'X-JWT-AUD',
        'User-Agent',
        'apikey',
        ...parameters.filter((it) => it.in === 'header').map((it) => it.name),
      ]) {
        yield { label: `header ${name}: ${kind}`, path: filled(), ...json, headers: { [name]: text.slice(0, 5000) } }
      }
    }
    for (const grant of grants) {
      const at = grant === '' ? filled() : `${filled()}?grant_type=${grant}`
      for (const name of names) {
        const member = plausible(name, id)
        const hostile = Array.isArray(member)
          ? [text]
          : typeof member === 'object'
            ? { a: text, b: [{ c: text }] }
            : text
        yield { label: `${grant} ${name}: ${kind}`, path: at, body: { ...base(), [name]: hostile } }
        if (typeof member === 'object' && !Array.isArray(member)) {
          yield { label: `${grant} name in ${name}: ${kind}`, path: at, body: { ...base(), [name]: { [text]: 1 } } }
        }
      }
      if (content) yield { label: `${grant} a name: ${kind}`, path: at, body: { ...base(), [text]: 'x' } }
    }
  }
}

let accounts = 0
/** Credentials of an account of its own, so that an operation may end it. */
async function credentialsFor(path: string, operation: Operation): Promise<Record<string, string>> {
  if (path.startsWith('/storage/') || /^\/auth\/v1\/(?:admin|invite)/.test(path)) {
    return { Authorization: `Bearer ${await signToken({ role: 'service_role' })}` }
  }
  if ((operation.security ?? []).length === 0) return {}
  const { cookie } = await signUp(call, `texts${++accounts}@example.org`)
  if (!path.startsWith('/auth/v1/')) return { Cookie: cookie }
  const me = detailsOf<{ readonly id: string }>(await call('GET', '/auth/me', { headers: { Cookie: cookie } }))
  return { Authorization: `Bearer ${await signToken({ role: 'authenticated', aud: 'authenticated', sub: me.id })}` }
}

await call('POST', '/storage/v1/bucket', {
  body: { id: 'files', name: 'files' },
  headers: { Authorization: `Bearer ${await signToken({ role: 'service_role' })}` },
})

const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
)

for (const service of ['/auth/v1', '/auth', '/report', '/storage/v1']) {
  t.test(`${service}: no text of a request is an error of the server`, async (t) => {
    const own = operations
      .filter(({ path }) => path.startsWith(`${service}/`) || path === service)
      .filter(({ path }) => service !== '/auth' || !path.startsWith('/auth/v1/'))
    t.ok(own.length > 2)
    let sent = 0
    for (const { path, method, operation } of own) {
      const credentials = await credentialsFor(path, operation)
      for (const { label, path: target, body, headers } of requestsOf(path, operation)) {
        const hasBody = body !== undefined && method !== 'GET' && method !== 'HEAD'
        const response = await fetch(url + target, {
          method,
          redirect: 'manual',
          headers: { ...credentials, ...(hasBody ? { 'Content-Type': 'application/json' } : {}), ...headers },
          ...(hasBody ? { body: JSON.stringify(body) } : {}),
        })
        const text = await response.text()
        sent++
        const isFault = response.status >= 500 || /"statusCode": ?"5\d\d"/.test(text)
        if (isFault) t.fail(`${method} ${path} ${label} -> ${response.status} ${text.slice(0, 200)}`)
      }
    }
    t.ok(sent > 50, `${sent} requests`)
  })
}
