// Every route of the accounts and the reports is called: each status that it documents can be provoked, and it answers no
// other.
import t from 'tap'
import type { ServiceRoute } from '../../server/http/service-route.ts'
import { describedRoutes } from '../../server/running/service-routes.ts'
import { detailsOf, password, signIn, signUp, type SignedIn } from '../support/account.ts'
import type { Answer, Call } from '../support/call.ts'
import { createMigratedDatabase } from '../support/database.ts'
import { walkRoute, type Provocation } from '../support/documented-answers.ts'
import { startService } from '../support/service.ts'
import { tables } from '../support/service-routes.ts'

const database = await createMigratedDatabase()
t.teardown(database.drop)
const tokens = () => ({ jwtSecret: 's'.repeat(32), jwtAud: null, jwtRoleClaimKey: '.role' })
const { call } = await startService(t, database.authenticatorUri, { tokens })
const withoutSecrets = await startService(t, database.authenticatorUri, { sessionSecrets: [] })
const limited = await startService(t, database.authenticatorUri, { addressLimit: 1 })
const unforeseen = (): Promise<never> => Promise.reject(new Error('an unforeseen error'))
const broken = await startService(t, database.authenticatorUri, {
  database: { ask: unforeseen, askRows: unforeseen, transaction: unforeseen },
  query: unforeseen,
})
const withoutKeys = await startService(t, database.authenticatorUri, {
  tokens: () => ({ ...tokens(), jwtRoleClaimKey: '.other' }),
})

const ann = await signUp(call, 'ann@example.org')
await signUp(call, 'admin@example.org')
await database.query("update auth.users set app_role = 'admin' where email = 'admin@example.org'")
const admin = await signIn(call, 'admin@example.org')

const vehicle = { manufacturer: 'a', model: 'b', year: 2018, mileage: 1, price: 1, lat: 1, lng: 1 }
const unknown = '00000000-0000-4000-8000-000000000000'
const createReport = async (): Promise<string> =>
  detailsOf<{ id: string }>(await ann.call('POST', '/report', { body: vehicle })).id

let users = 0
const newAddress = (): string => `user${users++}@example.org`
const newUser = (): Promise<SignedIn> => signUp(call, newAddress())

/** A request that succeeds. */
type Valid = { readonly path: string; readonly who?: SignedIn; readonly body?: unknown }

/** By the id of the route. */
const valid: Readonly<Record<string, () => Valid | Promise<Valid>>> = {
  signUp: () => ({ path: '/auth/signup', body: { email: newAddress(), firstName: 'A', password } }),
  signIn: () => ({ path: '/auth/signin', body: { email: ann.email, password } }),
  signOut: async () => ({ path: '/auth/signout', who: await newUser() }),
  createToken: () => ({ path: '/auth/token', who: ann }),
  showAccount: () => ({ path: '/auth/me', who: ann }),
  changeAccount: () => ({ path: '/auth/me', who: ann, body: { currentPassword: password, email: ann.email } }),
  deleteAccount: async () => ({ path: '/auth/me', who: await newUser(), body: { password } }),
  listSessions: () => ({ path: '/auth/sessions', who: ann }),
  revokeSessions: async () => ({ path: '/auth/sessions/others', who: await newUser() }),
  listReports: () => ({ path: '/report', who: ann }),
  createReport: () => ({ path: '/report', who: ann, body: vehicle }),
  listPendingReports: () => ({ path: '/report/pending', who: admin }),
  estimateReport: () => ({
    path: '/report/estimate?manufacturer=a&model=b&year=2018&mileage=1&lat=1&lng=1',
    who: ann,
  }),
  showReport: async () => ({ path: `/report/${await createReport()}`, who: ann }),
  changeReport: async () => ({ path: `/report/${await createReport()}`, who: ann, body: { price: 2 } }),
  deleteReport: async () => ({ path: `/report/${await createReport()}`, who: ann }),
  reviewReport: async () => ({
    path: `/report/${await createReport()}/approval`,
    who: admin,
    body: { approved: true },
  }),
}

/** Requests that have the errors of a route alone, by its id and the status. */
const provoked: Readonly<Record<string, Readonly<Record<number, () => Promise<Answer>>>>> = {
  signUp: {
    409: () => call('POST', '/auth/signup', { body: { email: ann.email, firstName: 'A', password } }),
    429: () => limited.call('POST', '/auth/signup', { body: { email: newAddress(), firstName: 'A', password } }),
  },
  signIn: {
    401: () => call('POST', '/auth/signin', { body: { email: ann.email, password: 'wrong' } }),
    429: () => limited.call('POST', '/auth/signin', { body: { email: ann.email, password } }),
  },
  createToken: { 501: () => withoutKeys.call('POST', '/auth/token', { headers: { Cookie: ann.cookie } }) },
  changeAccount: {
    403: () => ann.call('PATCH', '/auth/me', { body: { currentPassword: 'wrong', email: ann.email } }),
    409: () => ann.call('PATCH', '/auth/me', { body: { currentPassword: password, email: admin.email } }),
    429: () =>
      limited.call('PATCH', '/auth/me', {
        body: { currentPassword: password, email: ann.email },
        headers: { Cookie: ann.cookie },
      }),
  },
  deleteAccount: {
    403: () => ann.call('DELETE', '/auth/me', { body: { password: 'wrong' } }),
    429: () => limited.call('DELETE', '/auth/me', { body: { password }, headers: { Cookie: ann.cookie } }),
  },
  revokeSessions: { 404: () => ann.call('DELETE', `/auth/sessions/${unknown}`) },
  createReport: {
    403: async () => {
      await database.query('revoke insert on public.reports from authenticated')
      const answer = await ann.call('POST', '/report', { body: vehicle })
      await database.query('grant insert on public.reports to authenticated')
      return answer
    },
    409: async () => {
      const user = await newUser()
      await database.query('delete from public.profiles where id = $1', [user.id])
      return user.call('POST', '/report', { body: vehicle })
    },
  },
  listPendingReports: { 403: () => ann.call('GET', '/report/pending') },
  showReport: { 404: () => ann.call('GET', `/report/${unknown}`) },
  changeReport: {
    404: () => ann.call('PATCH', `/report/${unknown}`, { body: { price: 1 } }),
    409: async () => {
      const path = `/report/${await createReport()}`
      await admin.call('PATCH', `${path}/approval`, { body: { approved: true } })
      return ann.call('PATCH', path, { body: { price: 1 } })
    },
  },
  deleteReport: { 404: () => ann.call('DELETE', `/report/${unknown}`) },
  reviewReport: {
    403: () => ann.call('PATCH', `/report/${unknown}/approval`, { body: { approved: true } }),
    404: () => admin.call('PATCH', `/report/${unknown}/approval`, { body: { approved: true } }),
  },
}

/** What routes share: what is wrong with a request that would succeed, or with the service. */
function sharedErrors(
  { method, path: template, security, parameters = [], body }: ServiceRoute,
  { path, who, body: right }: Valid,
): readonly Provocation[] {
  const verb = method.toUpperCase()
  const cookie: Record<string, string> = who ? { Cookie: who.cookie } : {}
  const send = (via: Call, headers: Record<string, string>, to = path, content = right): Promise<Answer> =>
    via(verb, to, { ...(content === undefined ? {} : { body: content }), headers: { ...cookie, ...headers } })
  const without = path.split('?', 1)[0] ?? ''
  const requests: readonly (readonly [applies: boolean, ...Provocation])[] = [
    [true, 401, () => send(call, { Authorization: 'Basic x' })],
    [security.includes('session'), 401, () => send(call, { Cookie: 'session=forged' })],
    [method !== 'get', 403, () => send(call, { Origin: 'https://other.example' })],
    [parameters.some((it) => it.in === 'path'), 400, () => send(call, {}, template.replace('{id}', '1'))],
    [parameters.some((it) => it.in === 'query'), 400, () => send(call, {}, `${without}?other=1`)],
    [body !== undefined, 400, () => send(call, {}, path, '{')],
    [body !== undefined, 400, () => send(call, {}, path, {})],
    [body !== undefined, 413, () => send(call, {}, path, 'x'.repeat(10_001))],
    [body !== undefined, 415, () => send(call, { 'Content-Type': 'text/plain' })],
    [true, 500, () => send(broken.call, {})],
    [true, 503, () => send(withoutSecrets.call, {})],
  ]
  return requests.flatMap(([applies, status, send]) => (applies ? [[status, send] as const] : []))
}

/** `operation-routes.test.ts` has the others. */
/** They need /auth/v1, and are tested with it in `auth-two-doors.test.ts`. */
const exchanges: readonly string[] = ['issueTokens', 'addCookie']
const services = describedRoutes(tables).filter(({ id, tag }) => tag !== 'operations' && !exchanges.includes(id))

t.test('each route answers what it documents, and all of it', async (t) => {
  t.strictSame(Object.keys(valid).sort(), services.map(({ id }) => id).sort(), 'there is a request for each')
  // What uses up the limits, for 429.
  const body = { email: newAddress(), firstName: 'A', password }
  t.equal((await limited.call('POST', '/auth/signup', { body })).status, 201)
  t.equal((await limited.call('POST', '/auth/signin', { body: { email: newAddress(), password } })).status, 401)
  for (const route of services) {
    const right = await valid[route.id]?.()
    if (!right) continue
    const success = Number(Object.keys(route.responses).find((status) => status < '300'))
    await walkRoute(t, route, [
      ...sharedErrors(route, right),
      ...Object.entries(provoked[route.id] ?? {}).map(([status, send]) => [Number(status), send] as const),
      [success, () => (right.who?.call ?? call)(route.method.toUpperCase(), right.path, { body: right.body })],
    ])
  }
})

t.test('other methods are 405 with those that are allowed', async (t) => {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const
  for (const path of new Set(services.map(({ path }) => path))) {
    const allowed = services.filter((route) => route.path === path).map(({ method }) => method.toUpperCase())
    for (const method of methods.filter((it) => !allowed.includes(it))) {
      const { status, headers } = await call(method, path.replace('{id}', unknown))
      t.equal(status, 405, `${method} ${path}`)
      const withHead = allowed.flatMap((it) => (it === 'GET' ? ['GET', 'HEAD'] : [it]))
      t.equal(headers.get('allow'), withHead.join(', '), `${method} ${path}`)
    }
  }
})
